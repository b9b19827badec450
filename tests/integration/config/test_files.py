"""What becomes of files: owners, modes, links, directories, and file systems that do not take them."""

from __future__ import annotations

import pytest

from tests.integration.config.config_host import ELSEWHERE, ConfigHost
from tests.integration.config.daemons import TOY_DAEMON, Options, file, toy_files
from tests.integration.config.stage import every_release, every_release_newest_always

PART = "/etc/toy/parts/part.conf"


def toy(says: str, *lines: str, parts: tuple[tuple[str, str], ...] = (), **options: object) -> Options:
    """The arguments for a set of the toy that says this."""
    return {**TOY_DAEMON.set(says), "files": toy_files(says, *lines, parts=parts), **options}


@pytest.mark.proof(area="config", line=4, title="Files have the owner, group and mode that they are declared with")
@every_release
def test_owners_and_modes_are_as_declared_also_after_a_rollback(edge: ConfigHost) -> None:
    uid = edge.run("id", "-u", "bird").strip()

    def owned(says: str, owner: str, mode: object, *lines: str) -> Options:
        files = [
            {**toy_files(says, *lines)[0], "mode": "0644"},
            file("/etc/toy/secret", "secret\n", owner=owner, group="haproxy", mode=mode),
        ]
        return {**TOY_DAEMON.set(says), "files": files}

    edge.done(**owned("old", "bird", "0640"))
    assert edge.status("/etc/toy/toy.conf") == ("root", "root", "644")
    assert edge.status("/etc/toy/secret") == ("bird", "haproxy", "640")
    edge.at_rest(**owned("old", uid, "640"))
    # Only the mode, only the owner: that is a change, too, and goes through the same guards.
    for owner, mode, wanted in (("bird", "0600", "600"), ("haproxy", "0600", "600"), ("bird", "4750", "4750")):
        assert edge.done(**owned("old", owner, mode)).changed
        assert edge.status("/etc/toy/secret") == (owner, "haproxy", wanted)
        edge.at_rest(**owned("old", owner, mode))
    edge.refused(**owned("new", "nobody", "0644", "on_reload keep"))
    assert edge.status("/etc/toy/secret") == ("bird", "haproxy", "4750")
    # Changed by hand: put right.
    edge.run("chown", "root:root", "/etc/toy/secret")
    result = edge.done(**owned("old", "bird", "4750"))
    assert result.values["drift"] == ["/etc/toy/secret"]
    assert edge.status("/etc/toy/secret") == ("bird", "haproxy", "4750")
    unknown = edge.refused(**owned("old", "nobody-at-all", "0644"))
    assert "nobody-at-all" in unknown.message


@pytest.mark.proof(area="config", line=4, title="Links stay, and the files that they lead to are replaced")
@every_release
def test_links_to_files_and_directories_stay(edge: ConfigHost) -> None:
    edge.sh(
        f"mkdir -p {ELSEWHERE}/parts {ELSEWHERE}/conf; echo 'says before' > {ELSEWHERE}/conf/real.conf\n"
        f"ln -s ../../srv/elsewhere/conf/real.conf /etc/toy/toy.conf; ln -s {ELSEWHERE}/parts /etc/toy/parts"
    )
    links = {path: what for path, what in edge.content("/etc/toy").items() if what[0].startswith("0o12")}
    assert len(links) == 2

    def live() -> str:
        found = {path: what for path, what in edge.content("/etc/toy").items() if what[0].startswith("0o12")}
        assert found == links
        return edge.says(f"{ELSEWHERE}/conf/real.conf")

    edge.done(**toy("old", parts=((PART, "# a part\n"),)))
    assert "says old" in live()
    assert edge.says(f"{ELSEWHERE}/parts/part.conf") == "# a part\n"
    assert edge.serves(TOY_DAEMON) == "old"
    edge.refused(**toy("new", "on_reload keep"))
    assert "says old" in live()
    edge.at_rest(**toy("old", parts=((PART, "# a part\n"),)))
    edge.refused(**toy("new", "on_check hang", validate_timeout=1))
    edge.done(**toy("new"))
    assert "says new" in live()
    assert edge.content(f"{ELSEWHERE}/parts/part.conf") == {}
    assert edge.leftovers() == []


@pytest.mark.proof(area="config", line=4, title="Directories are made for files, and go with the last that needed them")
@every_release_newest_always
def test_directories_come_and_go_with_their_files(edge: ConfigHost) -> None:
    edge.sh("mkdir /etc/toy/mine; chmod 750 /etc/toy/mine")
    deep = (("/etc/toy/made/deep/er/part.conf", "# made\n"), ("/etc/toy/mine/part.conf", "# mine\n"))
    empty = edge.content("/etc/toy")
    edge.done(**toy("old", parts=deep))
    assert edge.content("/etc/toy/made/deep/er/part.conf")
    with_all = edge.content("/etc/toy")
    # A removal that does not stand brings back directories, too.
    edge.refused(**toy("new", "on_reload keep"))
    assert edge.content("/etc/toy") == with_all
    edge.done(**toy("new"))
    left = edge.content("/etc/toy")
    assert {path for path in left if path != "/etc/toy/toy.conf"} == set(empty)
    assert left["/etc/toy/mine"] == empty["/etc/toy/mine"]
    # And a new set that does not stand leaves none.
    edge.refused(**toy("old", "on_reload keep", parts=deep))
    assert edge.content("/etc/toy") == left
    # Where somebody else has put a file, the directory stays.
    edge.done(**toy("old", parts=deep))
    edge.run("touch", "/etc/toy/made/deep/theirs")
    edge.done(**toy("new"))
    assert set(edge.content("/etc/toy/made")) == {"/etc/toy/made", "/etc/toy/made/deep", "/etc/toy/made/deep/theirs"}


@pytest.mark.proof(area="config", line=4, title="A disk that is full while files are staged: the old set stays")
@every_release_newest_always
def test_a_full_disk_leaves_the_old_set(edge: ConfigHost) -> None:
    edge.sh("mkdir /etc/toy/parts; mount -t tmpfs -o size=64k small /etc/toy/parts")
    edge.has(TOY_DAEMON)
    before = edge.content("/etc/toy")
    processes = edge.processes(TOY_DAEMON.unit)
    for size in (70_000, 1_000_000):
        big = ((PART, "# " + "x" * size + "\n"),)
        result = edge.refused(**toy("new", parts=big))
        assert "No space left on device" in result.message, result.message
        assert "/etc/toy/parts" in result.message
        assert edge.content("/etc/toy") == before
        assert edge.leftovers() == []
        assert edge.serves(TOY_DAEMON) == "old"
        edge.at_rest(**TOY_DAEMON.set("old"))
    assert edge.processes(TOY_DAEMON.unit) == processes
    edge.done(**toy("new", parts=((PART, "# small\n"),)))
    assert edge.serves(TOY_DAEMON) == "new"


@pytest.mark.proof(area="config", line=4, title="A full disk where sets are kept: the old set stays")
@every_release
def test_a_full_disk_of_the_kept_sets_leaves_the_old_set(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    before = edge.content("/etc/toy")
    state = "/var/lib/baremetal.fabric"
    edge.sh(
        f"cp -a {state} /srv/elsewhere/state; mount -t tmpfs -o size=128k,mode=755 small {state}\n"
        f"cp -a /srv/elsewhere/state/. {state}/"
    )
    try:
        result = edge.refused(**toy("new", parts=((PART, "# " + "x" * 1_000_000 + "\n"),)))
        assert "No space left on device" in result.message, result.message
        assert edge.content("/etc/toy") == before
        assert edge.leftovers() == []
        edge.at_rest(**TOY_DAEMON.set("old"))
    finally:
        edge.run("umount", state)


@pytest.mark.proof(area="config", line=4, title="A target that is read-only: one clear sentence, nothing changed")
@every_release
def test_a_read_only_target_is_told(edge: ConfigHost) -> None:
    edge.sh("mkdir /etc/toy/parts; mount --bind /etc/toy/parts /etc/toy/parts")
    edge.has(TOY_DAEMON)
    edge.run("mount", "-o", "remount,bind,ro", "/etc/toy/parts")
    before = edge.content("/etc/toy")
    for files in (toy("new", parts=((PART, "# other\n"),)), toy("new"), toy("new", parts=((f"{PART}.conf", "# a\n"),))):
        result = edge.refused(**files)
        assert "Read-only file system" in result.message, result.message
        assert "/etc/toy/parts" in result.message
        assert edge.content("/etc/toy") == before
        assert edge.leftovers() == []
        assert edge.serves(TOY_DAEMON) == "old"
    edge.run("mount", "-o", "remount,bind,rw", "/etc/toy/parts")
    edge.at_rest(**TOY_DAEMON.set("old"))
    edge.done(**toy("new"))


@pytest.mark.proof(area="config", line=4, title="What is in the way, or belongs to another set, is left alone")
@every_release
def test_what_belongs_to_others_is_refused(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    before = edge.content("/etc/toy", "/var/lib/baremetal.fabric")
    edge.run("mkdir", "-p", f"{ELSEWHERE}/directory")
    for path, word in (("/etc/toy/toy.conf", "toy"), (f"{ELSEWHERE}/directory", "directory")):
        for check in (False, True):
            result = edge.refused(name="other", files=[file(path, "x\n")], check=check)
            assert path in result.message
            assert word in result.message
            assert not result.changed
    assert edge.content("/etc/toy", "/var/lib/baremetal.fabric") == before
