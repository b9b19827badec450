"""Lab hosts for tests, molecule and the demonstration: see README.md."""

from __future__ import annotations

from .errors import CommandError, LabError, TopologyError
from .host import LabHost
from .lab import Lab, say_to_stderr, take_down

__all__ = ["CommandError", "Lab", "LabError", "LabHost", "TopologyError", "say_to_stderr", "take_down"]
