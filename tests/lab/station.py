"""netns hosts: a network namespace and nothing else. Programs of the machine run in it, as clients and servers do."""

from __future__ import annotations

from collections.abc import Sequence

from . import addresses, processes
from .network import namespaces
from .state import LabState
from .topology import Host


class Station:
    """One netns host."""

    def __init__(self, state: LabState, host: Host) -> None:
        self.lab = state.name
        self.name = addresses.namespace(state.name, host.name)

    @property
    def running(self) -> bool:
        """Whether the namespace exists."""
        return self.name in namespaces(self.lab)

    def argv(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs ``argv`` in it."""
        return ["ip", "netns", "exec", self.name, *argv]

    def power_off(self) -> None:
        """End what runs in it."""
        processes.end(processes.inside_namespace(self.name))
