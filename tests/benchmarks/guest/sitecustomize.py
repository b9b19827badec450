"""Python imports this at its start, from PYTHONPATH: it notes what a module's process waits for and starts.

WATCH_WAITS names a file for the seconds that the module spent waiting for md: from the first look that found it at work
to the last, as the script counts its own. WATCH_STARTS names one for the commands
that it started; an audit hook finds them, which is slow, so that run is not timed.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from types import FrameType

_sleep = time.sleep
_waits: list[tuple[FrameType, float, float]] = []
_starts: list[str] = []


def _timed_sleep(seconds: float, /) -> None:
    since = time.monotonic()
    _sleep(seconds)
    caller = sys._getframe(1)
    if caller.f_code.co_filename.endswith("await_array.py"):
        if _waits and _waits[-1][0] is caller:  # the same wait goes on
            since = _waits.pop()[1]
        _waits.append((caller, since, time.monotonic()))


def _note_start(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        _starts.append(repr(arguments[1]))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if "WATCH_WAITS" in os.environ:
    setattr(time, "sleep", _timed_sleep)  # noqa: B010
    atexit.register(lambda: _write(os.environ["WATCH_WAITS"], str(sum(end - start for _caller, start, end in _waits))))
if "WATCH_STARTS" in os.environ:
    sys.addaudithook(_note_start)
    atexit.register(lambda: _write(os.environ["WATCH_STARTS"], "\n".join(_starts)))
