"""The policy as the kernel has it, and as the next boot will."""

from __future__ import annotations

from tests.integration.firewall.docker_host import DockerHost

STATE = "/var/lib/baremetal.fabric/docker_firewall"


def seen(dock: DockerHost) -> str:
    """What the kernel has of our table, without what counts."""
    return dock.run("nft", "--stateless", "list", "table", "inet", "docker_firewall", check=False)


def loaded_at_boot(dock: DockerHost) -> str:
    """What a boot would load, in a network namespace that is thrown away."""
    script = f"nft -f {STATE}/table.nft && nft --stateless list table inet docker_firewall"
    return dock.run("unshare", "--net", "sh", "-c", script)


def without_handles(text: str) -> list[str]:
    """The lines of a listing in an order of their own: nft lists elements as the kernel hands them out."""
    return sorted("".join(sorted(line.replace(",", " "))) for line in text.splitlines())
