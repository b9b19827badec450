"""Asks many at the same time and tells what they answered, in bounded time.

JSON comes in: ``{"seconds": 2.0, "again": 0.0, "targets": [{"address": "::1", "port": 8443, "protocol": "tcp"}]}``. A
list of answers goes out, null where none came: because of a drop, a refusal, or a connection closed without a word. Who
did not answer is asked once more, and given ``again`` seconds: a busy machine is silent for a while, a drop for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from typing import Any

ATTEMPTS = 3  # of UDP, which may lose one; TCP repeats by itself


async def ask(target: dict[str, Any]) -> str:
    """What the target answers."""
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in target["address"] else socket.AF_INET
    kind = socket.SOCK_STREAM if target["protocol"] == "tcp" else socket.SOCK_DGRAM
    with socket.socket(family, kind) as client:
        client.setblocking(False)
        await loop.sock_connect(client, (target["address"], target["port"]))
        if kind == socket.SOCK_STREAM:
            return (await loop.sock_recv(client, 200)).decode()
        for _attempt in range(ATTEMPTS - 1):
            with contextlib.suppress(asyncio.TimeoutError):
                await loop.sock_sendall(client, b"?")
                return (await asyncio.wait_for(loop.sock_recv(client, 200), 0.4)).decode()
        await loop.sock_sendall(client, b"?")
        return (await loop.sock_recv(client, 200)).decode()


async def ask_all(targets: list[dict[str, Any]], seconds: float) -> list[str | None]:
    """What each answers within so many seconds."""

    async def bounded(target: dict[str, Any]) -> str | None:
        try:
            return (await asyncio.wait_for(ask(target), seconds)).strip() or None
        except (TimeoutError, OSError):
            return None

    return list(await asyncio.gather(*(bounded(target) for target in targets)))


def main() -> None:
    """Read, ask, print."""
    order = json.load(sys.stdin)
    targets = order["targets"]
    answers = asyncio.run(ask_all(targets, order["seconds"]))
    silent = [number for number, answer in enumerate(answers) if answer is None]
    if order["again"] and silent:
        late = asyncio.run(ask_all([targets[number] for number in silent], order["again"]))
        for number, answer in zip(silent, late, strict=True):
            answers[number] = answer
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
