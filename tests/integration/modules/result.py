"""What one run of a module came to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """What a module returned, and how its process ended."""

    values: Values
    status: int
    stderr: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether the run was cut off."""
        return self.status == -9

    @property
    def failed(self) -> bool:
        """Whether the module said that it failed."""
        return bool(self.values.get("failed"))

    @property
    def changed(self) -> bool:
        """Whether the module said that it changed something, or would."""
        return bool(self.values["changed"])

    @property
    def titles(self) -> list[str]:
        """The titles of the plan's steps."""
        return [step["title"] for step in self.values["plan"]]

    @property
    def message(self) -> str:
        """Why it failed."""
        return str(self.values.get("msg", ""))

    @property
    def outcome(self) -> str:
        """In few words."""
        if self.killed:
            return "killed"
        return self.message or f"{len(self.values.get('plan', []))} steps"

    def drawn(self, side: str) -> str:
        """What the diff shows ``before`` or ``after``, of all files when it has several."""
        diff = self.values.get("diff") or {}
        parts = diff if isinstance(diff, list) else [diff]
        return "".join(f"{part.get(f'{side}_header', '')}\n{part.get(side, '')}".lstrip("\n") for part in parts)

    def described(self) -> str:
        """For a failure's message."""
        telling = {key: value for key, value in self.values.items() if key not in ("diff", "plan", "invocation")}
        return "\n".join(
            (
                f"status {self.status} after {self.seconds:.1f} s",
                *(f"{key}: {json.dumps(value)}" for key, value in telling.items()),
                "plan:",
                *(f"  {title}" for title in (self.titles if "plan" in self.values else [])),
                f"before:\n{self.drawn('before')}",
                f"after:\n{self.drawn('after')}",
                self.stderr[-3000:],
            )
        )
