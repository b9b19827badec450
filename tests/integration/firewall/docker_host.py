"""The Docker host: its daemon, containers and networks, and the other tools that change its rules."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.integration.firewall.clients import PATIENCE, Target, order
from tests.integration.firewall.engines import CONTAINER_PREFIX, Setting
from tests.integration.modules.module_host import ModuleHost
from tests.integration.modules.payload import FOLDER

IMAGE = "fabric-proof:local"
TABLE = ("inet", "docker_firewall")
#: docker0, as ``docker network`` calls it.
BRIDGE = "bridge"


@dataclass(frozen=True)
class Service:
    """A container that answers with its name on ``listens`` (``tcp:443``), published as ``docker run -p`` has it."""

    name: str
    listens: tuple[str, ...] = ("tcp:443",)
    publish: tuple[str, ...] = ()
    network: str = BRIDGE
    options: tuple[str, ...] = ()


def container_image() -> bytes:
    """A root directory without a single file: programs and their libraries come from the host's /usr."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as archive:
        for name in ("dev", "etc", "opt", "proc", "sys", "tmp", "usr"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name in ("bin", "lib", "lib64", "sbin"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(entry)
    return memory.getvalue()


@dataclass
class DockerHost(ModuleHost):
    """The host. What a test leaves behind goes with :meth:`start_over`."""

    setting: Setting | None = None
    services: dict[str, Service] = field(default_factory=dict)

    programs: ClassVar[tuple[Path, ...]] = (Path(__file__).parent / "on_host",)
    telling: ClassVar[tuple[str, ...]] = (
        "nft list ruleset",
        "ip -brief address",
        "docker ps --all; docker network ls",
        "cat /etc/docker/daemon.json",
        "ss -lntup",
        "conntrack -L 2>/dev/null | head -40",
        "systemctl --failed --no-legend; systemctl list-units --no-legend '*docker*' 'nftables*' 'firewalld*'",
        "journalctl --no-pager --lines=60 --unit=docker --unit=docker-firewall --unit=docker-firewall-watch",
    )

    # Docker

    def start_over(self, setting: Setting) -> None:
        """Make it a newly installed host with dockerd in this setting, enabled and running."""
        self.setting = setting
        self.services.clear()
        self.history.clear()
        self.last = None
        self.host.reinstall()
        self.install()
        # What their installation saved of the machine that built the image.
        self.run("rm", "-f", "/etc/iptables/rules.v4", "/etc/iptables/rules.v6")
        self.host.put(setting.engine.daemon(setting.userland_proxy).encode(), "/etc/docker/daemon.json")
        self.run("systemctl", "enable", "--quiet", "--now", "docker.service")
        version = self.docker("version", "--format", "{{.Server.Version}}")
        assert version.startswith(setting.engine.version), f"dockerd {version} instead of {setting.engine.version}*"
        self.host.put(container_image(), f"{FOLDER}.image.tar")
        self.docker("import", f"{FOLDER}.image.tar", IMAGE)

    def docker(self, *argv: str, check: bool = True) -> str:
        """Run a command of the CLI; returns what it printed, without the last line's end."""
        return self.run("docker", *argv, check=check).strip()

    def stop_docker(self) -> None:
        """Stop dockerd and its socket; containers stop with it."""
        self.run("systemctl", "stop", "docker.service", "docker.socket")

    def start_docker(self) -> None:
        """Start dockerd; containers come back by themselves."""
        self.run("systemctl", "start", "docker.service")

    def restart_docker(self) -> None:
        """Restart dockerd and wait until all services answer again."""
        # Else systemd refuses the fourth start within a minute (StartLimitBurst of docker.service).
        self.run("systemctl", "reset-failed", "docker.service")
        self.run("systemctl", "restart", "docker.service")
        self.await_services()

    def reboot(self, wait: bool = True) -> None:
        """Shut down and boot; ``wait`` until dockerd runs and all services answer."""
        self.host.reboot()
        if wait:
            self.await_services()

    # Containers

    def run_services(self, *services: Service) -> None:
        """Run containers and wait until they answer."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(self._run, services))
        self.await_services(*(service.name for service in services))

    def _run(self, service: Service) -> None:
        argv = ["run", "--detach", f"--name={service.name}", f"--network={service.network}", "--restart=always"]
        argv += ["--volume=/usr:/usr:ro", f"--volume={FOLDER}:{FOLDER}:ro"]
        argv += [f"--publish={port}" for port in service.publish]
        program = ["/usr/bin/python3", f"{FOLDER}/on_host/answerer.py", service.name, *service.listens]
        self.docker(*argv, *service.options, IMAGE, *program)
        self.services[service.name] = service

    def remove_services(self, *names: str) -> None:
        """Remove containers."""
        self.docker("rm", "--force", *names)
        for name in names:
            del self.services[name]

    def recreate(self, name: str) -> None:
        """Remove a container and run it again, as a deployment does; its address may change."""
        service = self.services[name]
        self.remove_services(name)
        self.run_services(service)

    def addresses(self, name: str) -> dict[int, str]:
        """The container's addresses by family; an engine without IPv6 gives it none of that."""
        networks = json.loads(self.docker("inspect", "--format={{json .NetworkSettings.Networks}}", name))
        found: dict[int, str] = {}
        for network in networks.values():
            for family, key in ((4, "IPAddress"), (6, "GlobalIPv6Address")):
                if network[key]:
                    found.setdefault(family, network[key])
        return found

    def await_services(self, *names: str, seconds: float = 180.0) -> None:
        """Wait until containers (all, when none is named) answer the host on each of their addresses and ports."""
        deadline = time.monotonic() + seconds
        waiting = list(names or self.services)
        while True:
            targets = []
            for name in waiting:
                for address in self.addresses(name).values():
                    for text in self.services[name].listens:
                        protocol, port = text.split(":")
                        if protocol != "echo":  # which says nothing by itself
                            targets.append(Target(address, int(port), protocol))
            if targets and None not in self.ask_from_host(targets, 1.0):
                return
            assert time.monotonic() < deadline, f"{', '.join(waiting)} do not answer on {targets}"
            time.sleep(0.2)

    def ask_from_host(
        self, targets: Sequence[Target], seconds: float = PATIENCE, again: float = 0.0
    ) -> list[str | None]:
        """What each answers the host itself; all are asked at the same time."""
        program = ("python3", f"{FOLDER}/on_host/probe.py")
        answers: list[str | None] = json.loads(self.run(*program, stdin=order(targets, seconds, again)))
        return answers

    def ask_from(
        self, container: str, targets: Sequence[Target], seconds: float = PATIENCE, again: float = 0.0
    ) -> list[str | None]:
        """What each answers a container; all are asked at the same time."""
        program = ("python3", f"{FOLDER}/on_host/probe.py")
        asked = self.run("docker", "exec", "--interactive", container, *program, stdin=order(targets, seconds, again))
        answers: list[str | None] = json.loads(asked)
        return answers

    # Networks

    def create_network(self, name: str, number: int = 1) -> str:
        """Create a network; returns its bridge. Networks with IPv6 need different numbers, from 1 to 15."""
        assert self.setting is not None, "dockerd is not set up yet"
        ipv6 = ["--ipv6", f"--subnet={CONTAINER_PREFIX.format(number)}"] if self.setting.engine.ipv6 else []
        return f"br-{self.docker('network', 'create', *ipv6, name)[:12]}"

    def remove_network(self, name: str) -> None:
        """Remove a network."""
        self.docker("network", "rm", name)

    def bridges(self) -> list[str]:
        """The interfaces of Docker's bridge networks, sorted."""
        names = self.docker("network", "ls", "--filter=driver=bridge", "--format={{.Name}}").split()
        networks: list[dict[str, Any]] = json.loads(self.docker("network", "inspect", *names))
        key = "com.docker.network.bridge.name"
        return sorted(each["Options"].get(key) or f"br-{each['Id'][:12]}" for each in networks)

    # Rules

    def load(self, text: str, check: bool = True) -> str:
        """Have ``nft -f`` load a text; returns what it complained of."""
        done = self.host.run(["nft", "-f", "-"], stdin=text, check=check)
        return done.stderr

    def table(self) -> dict[str, Any] | None:
        """Our table as ``nft -j`` lists it, or None."""
        done = self.host.run(["nft", "-j", "list", "table", *TABLE], check=False)
        listed: dict[str, Any] | None = json.loads(done.stdout) if done.returncode == 0 else None
        return listed

    def rules_of_others(self) -> str:
        """Every table but ours, as text without counters and handles, in the order of their names."""
        tables = [line.split()[1:3] for line in self.run("nft", "list", "tables").splitlines()]
        return "\n".join(
            self.run("nft", "--stateless", "list", "table", family, name)
            for family, name in sorted(tables)
            if (family, name) != TABLE
        )

    def flush_nat(self) -> None:
        """Take Docker's address translation away: docker-proxy then serves both families."""
        for program in ("iptables", "ip6tables"):
            self.run(program, "--wait", "--table=nat", "--flush", "DOCKER", check=False)

    # Other tools

    def restart_nftables(self) -> None:
        """Restart nftables.service, whose configuration begins with ``flush ruleset``."""
        self.run("systemctl", "restart", "nftables.service")

    def start_firewalld(self) -> None:
        """Start firewalld, letting all in that is not Docker's: its own zone for links is ``trusted``."""
        self.run("firewall-offline-cmd", "--set-default-zone=trusted")
        self.run("systemctl", "start", "firewalld.service")
        # It has its name on the bus, and so counts as started, before it has loaded its rules.
        self.until(("nft", "list", "table", "inet", "firewalld"), 60)
        self.until(("firewall-cmd", "--quiet", "--state"), 60)

    def reload_firewalld(self) -> None:
        """Have firewalld load its configuration anew, and wait until dockerd has put its own rules back."""
        self.run("firewall-cmd", "--reload")
        if any(service.publish for service in self.services.values()):
            self.until(("sh", "-c", "iptables --wait --table=nat --list-rules DOCKER | grep -q dport"), 60)

    def stop_firewalld(self) -> None:
        """Stop firewalld."""
        self.run("systemctl", "stop", "firewalld.service")

    def save_rules(self) -> None:
        """Have netfilter-persistent save the rules of iptables."""
        self.run("netfilter-persistent", "save")

    def restore_rules(self) -> None:
        """Have netfilter-persistent load what it saved."""
        self.run("systemctl", "restart", "netfilter-persistent.service")
