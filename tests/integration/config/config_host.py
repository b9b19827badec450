"""The host whose daemons have their configuration guarded."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.integration.config.daemons import DAEMONS, LOOK, Daemon, Options
from tests.integration.modules.module_host import ModuleHost
from tests.integration.modules.payload import FOLDER
from tests.integration.modules.result import Result

MODULE = "guarded_config"
STATE = "/var/lib/baremetal.fabric"
#: What the packages' configuration was before any test.
PRISTINE = "/var/lib/fabric-proof/pristine"
CONFIGURED = tuple(f"/etc/{daemon.name}" for daemon in DAEMONS)
#: Room for what a test mounts, links to or makes besides.
ELSEWHERE = "/srv/elsewhere"

TOY_UNIT = f"""\
[Unit]
Description=A daemon that misbehaves when it is asked to
[Service]
Type=exec
ExecStart=python3 {FOLDER}/on_host/toy.py --serve /etc/toy/toy.conf
ExecReload=kill -HUP $MAINPID
[Install]
WantedBy=multi-user.target
"""

_UNITS = " ".join(daemon.unit for daemon in DAEMONS)
_START_OVER = f"""\
systemctl stop {_UNITS}
systemctl reset-failed
for place in $(findmnt --list --noheadings --output=TARGET | grep -E '^(/etc|{ELSEWHERE})/' | sort -r); do
    umount "$place"
done
rm -rf {" ".join(CONFIGURED)} {ELSEWHERE} {STATE}
cp -a {PRISTINE}/. /etc/
mkdir -p {ELSEWHERE}
"""


def sent(options: Options) -> Options:
    """Options as the action plugin hands them to the module: contents encoded."""
    if "files" not in options:
        return options
    files = [{**each, "content": _encoded(each["content"])} if "content" in each else each for each in options["files"]]
    return {**options, "files": files}


def _encoded(content: str) -> str:
    return "zlib+base64:" + base64.b64encode(zlib.compress(content.encode())).decode()


@dataclass
class ConfigHost(ModuleHost):
    """The host. Every test begins with the daemons as they are after their installation, stopped."""

    #: What the last run started, as :mod:`on_host.module` tells it.
    started: list[str] = field(default_factory=list)
    #: All that runs have printed since the test began.
    said: list[str] = field(default_factory=list)

    programs: ClassVar[tuple[Path, ...]] = (Path(__file__).parent / "on_host",)
    telling: ClassVar[tuple[str, ...]] = (
        f"find {STATE} {' '.join(CONFIGURED)} -not -type d -newer {PRISTINE}/toy -ls",
        f"head -c 3000 {STATE}/config/*/state.json",
        f"systemctl --no-pager --lines=0 status {_UNITS} | grep -vE 'Docs|Memory|CPU|Tasks'",
        "findmnt --list",
        "ss -lntp",
        "birdc show protocols all",
        "ip -brief address; ip route",
        "journalctl --no-pager --lines=60",
        "ps -eo pid,ppid,lstart,stat,args | grep -v '\\['",
    )

    # Setting up

    def prepare(self) -> None:
        """Bring what the tests need to a host that was just booted."""
        self.install()
        self.host.put(TOY_UNIT.encode(), "/etc/systemd/system/toy.service")
        # It would listen where HAProxy is to.
        self.run("rm", "-f", "/etc/nginx/sites-enabled/default")
        self.run("mkdir", "-p", "/etc/toy", PRISTINE)
        self.run("cp", "-a", *CONFIGURED, PRISTINE)
        self.run("systemctl", "daemon-reload")

    def start_over(self) -> None:
        """Make it a host on which the daemons were just installed."""
        self.history.clear()
        self.said.clear()
        self.last = None
        self.sh(_START_OVER)

    def has(self, daemon: Daemon, which: str = "old", **options: Any) -> None:
        """Put a set in place, which starts its daemon; a second run finds nothing to do."""
        self.done(**daemon.set(which, **options))
        self.at_rest(**daemon.set(which, **options))

    # Runs

    def ask(self, order: str, timeout: float) -> dict[str, Any]:
        """Have the host carry out an order, and keep what it started and said."""
        answer = super().ask(order, timeout)
        self.started = answer["started"]
        self.said += [answer["stdout"], answer["stderr"]]
        return answer

    def attempt(self, check: bool = False, **options: Any) -> Result:
        """Run the module, whatever comes of it."""
        ending = {key: options.pop(key) for key in ("cut", "orphan", "timeout") if key in options}
        return self.module(MODULE, sent(options), check=check, **ending)

    def done(self, **options: Any) -> Result:
        """Run the module; it must do its work."""
        result = self.attempt(**options)
        assert not result.failed, f"{result.message}\n{result.values.get('output')}"
        return result

    def refused(self, **options: Any) -> Result:
        """Run the module; it must fail."""
        result = self.attempt(**options)
        assert result.failed, f"it did: {result.titles}"
        return result

    def at_rest(self, **options: Any) -> Result:
        """A run changes nothing, plans nothing, starts nothing."""
        again = self.done(**options)
        assert (again.changed, again.titles, self.started) == (False, [], [])
        return again

    def cut_everywhere(self, order: Options) -> dict[str, Any]:
        """Have runs killed at every moment; see :mod:`on_host.cutter`."""
        argv = ["env", f"PYTHONPATH={FOLDER}", "python3", "-m", "on_host.cutter"]
        runs = {which: sent(order[which]) for which in ("before", "during", "after")}
        done = self.host.run(argv, stdin=json.dumps({"module": MODULE, **order, **runs}), timeout=3600)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    # Looking

    def tree(self, *folders: str) -> dict[str, list[Any]]:
        """Every file and directory below folders, with all that tells whether somebody touched it."""
        found: dict[str, list[Any]] = json.loads(self.run(*LOOK, "tree", *folders))
        return found

    def content(self, *folders: str) -> dict[str, list[Any]]:
        """As :meth:`tree`, without the times of changes."""
        found: dict[str, list[Any]] = json.loads(self.run(*LOOK, "content", *folders))
        return found

    def processes(self, *units: str) -> dict[str, str]:
        """The processes of units by PID, with the time at which each was started."""
        found: dict[str, str] = json.loads(self.run(*LOOK, "processes", *units))
        return found

    def mounts(self) -> str:
        """All mounts of the host, in order."""
        return self.read("/proc/1/mountinfo")

    def serves(self, daemon: Daemon) -> str:
        """Which set a daemon serves."""
        return self.run(*daemon.look, check=False).strip()

    def says(self, path: str) -> str:
        """The text of a file, whole."""
        return self.host.get(path).decode()

    def status(self, path: str) -> tuple[str, str, str]:
        """Owner, group and mode of a file."""
        owner, group, mode = self.run("stat", "--format=%U %G %a", path).split()
        return owner, group, mode

    def leftovers(self) -> list[str]:
        """Files that a run laid aside and did not take away."""
        return self.run("find", *CONFIGURED, ELSEWHERE, "-name", ".*").split()
