"""Contents that are secret: in no output, in no journal, and in no file that others can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.config.config_host import ConfigHost
from tests.integration.config.daemons import BIRD, TOY_DAEMON, Options, file, toy_files
from tests.integration.config.playing import play
from tests.integration.config.stage import Stage, every_release, every_release_newest_always

#: Long enough to be nothing else, and not what a masking of similar words would hide.
SECRETS = ("q7hwx2vn0secretone", "m3kfz8yt5secrettwo", "b9rdu6lc4secretthree")
SECRET_PATH = "/etc/toy/secret/token.conf"
#: Everything of the host but what the kernel makes up.
EVERYWHERE = "/etc /var /run /tmp /root /srv /dev/shm /usr/local /opt"


def with_secret(says: str, secret: str, *lines: str, mode: str = "0640", **options: object) -> Options:
    """A set of the toy with a secret file."""
    text = f"# {secret}\n# and a second line of {secret}\n" + "".join(f"{line}\n" for line in lines)
    token = file(SECRET_PATH, text, group="haproxy", mode=mode, no_log=True)
    main = toy_files(says, f"needs {SECRET_PATH}", "include /etc/toy/secret")
    return {**TOY_DAEMON.set(says), "files": [*main, token], **options}


def found_by(edge: ConfigHost, *argv: str) -> list[str]:
    """Files with a secret that a program may read."""
    words = " ".join(f"-e {secret}" for secret in SECRETS)
    return edge.sh(f"{' '.join(argv)} grep -rlsaF {words} {EVERYWHERE} || true").split()


def nobody_knows(edge: ConfigHost) -> None:
    """No output of a run, no journal and no file that others can read has a secret."""
    said = "".join(edge.said)
    journal = edge.run("journalctl", "--no-pager", "--output=export", "--all")
    for secret in SECRETS:
        assert secret not in said, next(line for line in said.splitlines() if secret in line)
        assert secret not in journal, next(line for line in journal.splitlines() if secret in line)
    for who in ("nobody", "bird"):
        assert found_by(edge, "setpriv", f"--reuid={who}", "--regid=nogroup", "--clear-groups") == []
    # Whom the live file is for finds that, and after a kill what is beside it, which is as it will be or was.
    folder = SECRET_PATH.rpartition("/")[0]
    for path in found_by(edge, "setpriv", "--reuid=nobody", "--regid=haproxy", "--clear-groups"):
        assert path.rpartition("/")[0] == folder


@pytest.mark.proof(
    area="config", line=4, title="Secret contents are in no output, no journal, no file that others read"
)
@every_release_newest_always
def test_secrets_are_told_to_nobody(edge: ConfigHost) -> None:
    one, two, three = SECRETS
    edge.done(**with_secret("old", one))
    assert edge.says(SECRET_PATH).startswith(f"# {one}\n")
    assert found_by(edge), "evidence that what is there is found"
    edge.attempt(**with_secret("new", two), check=True)
    edge.done(**with_secret("new", two))
    # A checker that prints the line which it does not like.
    refused = edge.refused(**with_secret("new", two, f"what is {three}"))
    assert "what is this?" in refused.values.get("output", "") + refused.message
    nobody_knows(edge)
    failing = with_secret("new", three)
    failing["files"][0]["content"] += "on_reload keep\nsays more\n"
    edge.refused(**{**failing, "verify": [{"command": ["sh", "-c", f"cat {SECRET_PATH}; exit 1"]}]})
    nobody_knows(edge)
    edge.sh(f"echo '# {three}' >> {SECRET_PATH}")
    assert edge.done(**with_secret("new", two)).values["drift"] == [SECRET_PATH]
    edge.done(**with_secret("new", two, mode="0600"))
    edge.done(name="toy", state="previous")
    edge.done(**{**TOY_DAEMON.set("old"), "files": toy_files("old")})
    nobody_knows(edge)
    edge.done(name="toy", state="previous")
    assert edge.says(SECRET_PATH).startswith(f"# {two}\n")
    nobody_knows(edge)


@pytest.mark.proof(area="config", line=4, title="Killed at every moment, no secret lies open")
@every_release
def test_a_killed_run_leaves_no_secret_open(edge: ConfigHost) -> None:
    calls = ("link", "mkdir", "rename", "rmdir", "symlink", "unlink", "chmod", "chown", "fchmod", "fchown")
    edge.done(**with_secret("old", SECRETS[0], verify_hold=0))
    edge.run("rm", "-f", "/var/lib/fabric-proof/cuts")
    cut = {"seen": "/var/lib/fabric-proof/cuts", "calls": calls, "anywhere": True, "alike": True}
    kills = 0
    while edge.attempt(**with_secret("new", SECRETS[1], verify_hold=0), cut=cut).killed:
        kills += 1
        assert kills < 200
        nobody_knows(edge)
    assert kills > 20
    nobody_knows(edge)
    assert edge.serves(TOY_DAEMON).startswith("new")


@pytest.mark.proof(area="config", line=4, title="Through Ansible: contents in the diff, secret ones nowhere")
@every_release_newest_always
def test_a_playbook_shows_what_is_not_secret(stage: Stage, tmp_path: Path) -> None:
    edge = stage.edge
    edge.has(BIRD)
    one, two, three = SECRETS
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "token").write_text(f"# {one}\n")
    options = with_secret("old", two)
    options["files"][1] = {**options["files"][1], "content": None, "src": "token"}
    del options["files"][1]["content"]
    said = []
    result, output = play(stage, tmp_path, options, "--diff", "-vvv")
    said += [output, str(result)]
    assert not result.get("failed"), output
    assert "says old" in str([each["after"] for each in result["diff"]])
    assert edge.says(SECRET_PATH) == f"# {one}\n"
    edge.sh(f"echo '# a person was here' >> /etc/toy/toy.conf; echo '# {three}' >> {SECRET_PATH}")
    for extra in (["--check"], []):
        result, output = play(stage, tmp_path, options, "--diff", "-vvv", *extra)
        said += [output, str(result)]
        assert not result.get("failed"), output
        assert result["changed"]
        assert sorted(result["drift"]) == sorted(["/etc/toy/toy.conf", SECRET_PATH])
        assert "# a person was here" in str(result["diff"])
    result, output = play(stage, tmp_path, options, "--diff", "-vvv")
    said += [output, str(result)]
    assert not result["changed"]
    for text in said:
        for secret in SECRETS:
            # The playbook itself is read by Ansible; what it prints is not the declaration.
            assert secret not in text, next(line for line in text.splitlines() if secret in line)[:2000]
    nobody_knows(edge)
