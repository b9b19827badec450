"""Runs modules of the collection, each in a fresh process, for whoever connects.

    python3 -m on_host.stand raid_pool

It imports everything that this module needs once and forks for each run, which saves the seconds that an emulated host
needs for Python's imports. One line of JSON comes in, one goes out; both are those of :mod:`on_host.module`.
"""

from __future__ import annotations

import importlib
import json
import socketserver
import sys

from .module import MODULES, carry_out

PORT = 7001


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        line = self.rfile.readline()
        if line.strip():
            self.wfile.write(json.dumps(carry_out(json.loads(line))).encode() + b"\n")


class _Stand(socketserver.ForkingTCPServer):
    allow_reuse_address = True


def main() -> None:
    """Serve until killed."""
    importlib.import_module(f"{MODULES}.{sys.argv[1]}")
    with _Stand(("127.0.0.1", PORT), _Handler) as stand:
        stand.serve_forever(poll_interval=3600)


if __name__ == "__main__":
    main()
