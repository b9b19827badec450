"""Writes numbered records with fsync, over and over, and keeps account of what was acknowledged.

``writer.py write DIRECTORY ACCOUNT`` runs until it is killed. Record N goes to slot N modulo the number of slots: into
a new file, fsync, renamed over the old one, fsync of the directory; then N is written to ACCOUNT, which lies on another
disk, with fsync. ``writer.py check DIRECTORY ACCOUNT`` drops what the kernel has cached and holds every slot against
the account: it must have the newest acknowledged record of its own, or one that was being written; whole in any case.
Prints one line of JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path

SLOTS = 48
RECORD_BYTES = 64 * 1024
#: Leaves the emulated processor to those whose work is being watched.
PAUSE_SECONDS = 0.05


def record(number: int) -> bytes:
    """A record that no other number has, and that tells when a byte of it is wrong."""
    seed = hashlib.sha256(str(number).encode()).digest()
    body = (seed * (RECORD_BYTES // len(seed)))[: RECORD_BYTES - 128]
    head = f"{number} {hashlib.sha256(body).hexdigest()}\n".encode().ljust(128, b" ")
    return head + body


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write(directory: Path, account: Path) -> None:
    """Write records from the one after the last acknowledged."""
    number = int(account.read_text()) if account.exists() else 0
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    while True:
        number += 1
        fresh = directory / "fresh"
        _write_through(fresh, record(number))
        fresh.rename(directory / f"slot-{number % SLOTS:02d}")
        os.fsync(descriptor)
        staged = account.with_name("account.new")
        _write_through(staged, str(number).encode())
        staged.rename(account)
        time.sleep(PAUSE_SECONDS)


def check(directory: Path, account: Path) -> dict[str, object]:
    """Return how many records were acknowledged, and what is wrong with those that should be there."""
    acknowledged = int(account.read_text())
    Path("/proc/sys/vm/drop_caches").write_text("3\n")
    wrong = []
    for slot in range(SLOTS):
        newest = acknowledged - (acknowledged - slot) % SLOTS
        if newest < 1:
            continue
        path = directory / f"slot-{slot:02d}"
        data = path.read_bytes() if path.exists() else b""
        # The one after the last may be on the disk and not yet in the account.
        under_way = acknowledged + 1 if (acknowledged + 1) % SLOTS == slot else newest
        if data not in (record(newest), record(under_way)):
            wrong.append(f"slot {slot}: expected record {newest}, found {data[:80]!r} of {len(data)} bytes")
    return {"acknowledged": acknowledged, "wrong": wrong}


def main() -> None:
    """Do what the command line says."""
    verb, directory, account = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if verb == "write":
        write(directory, account)
    print(json.dumps(check(directory, account)))


if __name__ == "__main__":
    main()
