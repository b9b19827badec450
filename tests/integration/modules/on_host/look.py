"""Looks at the host, and prints what it sees as JSON.

python3 look.py tree /etc/haproxy /etc/toy: every file and directory, down to the byte and the nanosecond.
python3 look.py content /etc/haproxy: the same without times.
python3 look.py processes haproxy.service: PIDs of a unit with the time at which each was started.
python3 look.py get 127.0.0.1 80 /set: the body of an answer, as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from http.client import HTTPConnection
from pathlib import Path


def _described(path: Path, times: bool) -> list[object]:
    status = path.lstat()
    what: list[object] = [oct(status.st_mode), status.st_uid, status.st_gid]
    if stat.S_ISLNK(status.st_mode):
        return [*what, os.readlink(path)]
    if stat.S_ISREG(status.st_mode):
        what.append(hashlib.sha256(path.read_bytes()).hexdigest())
    return [*what, status.st_mtime_ns] if times else what


def tree(folders: list[str], times: bool = True) -> dict[str, list[object]]:
    """Everything below folders, by path; what is not there is left out."""
    found: dict[str, list[object]] = {}
    for folder in map(Path, folders):
        for path in sorted([folder, *folder.rglob("*")]):
            if os.path.lexists(path):
                found[str(path)] = _described(path, times)
    return found


def processes(units: list[str]) -> dict[str, str]:
    """The processes of units, by PID, with field 22 of proc_pid_stat(5): when they were started."""
    found: dict[str, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            group = (folder / "cgroup").read_text().strip()
            started = (folder / "stat").read_text().rpartition(")")[2].split()[19]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if any(f"/{unit}" in group for unit in units):
            found[folder.name] = started
    return found


def get(host: str, port: str, path: str) -> str:
    """The body of an answer."""
    connection = HTTPConnection(host, int(port), timeout=5)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().read().decode().strip()
    finally:
        connection.close()


def main() -> None:
    """Look once."""
    what, *rest = sys.argv[1:]
    if what == "get":
        print(get(*rest))
    else:
        print(json.dumps(processes(rest) if what == "processes" else tree(rest, times=what == "tree")))


if __name__ == "__main__":
    main()
