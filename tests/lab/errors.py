"""What the lab tells a person when it cannot do what was asked."""

from __future__ import annotations


class LabError(Exception):
    """One sentence: what was found, what was expected, what to do."""


class TopologyError(LabError):
    """The topology file asks for something that the lab cannot build."""


class CommandError(LabError):
    """A command ended with an unexpected return code; carries what it printed."""

    def __init__(self, argv: list[str], returncode: int, stdout: str, stderr: str) -> None:
        self.argv = argv
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr
        said = "\n".join(text.strip() for text in (stdout, stderr) if text.strip())
        super().__init__(f"{' '.join(argv)} ended with {returncode}:\n{said[-4000:]}")
