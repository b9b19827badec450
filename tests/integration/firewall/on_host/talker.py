"""Keeps a connection open, and for each line that comes in tells whether a word is sent back over it.

The line ``time N`` has N words sent, each when the last has come back, and tells how many seconds that took.

python3 talker.py ADDRESS PORT
"""

from __future__ import annotations

import socket
import sys
import time

PATIENCE = 2.0


def rounds(connection: socket.socket, number: int) -> float:
    """The seconds for so many words there and back."""
    started = time.monotonic()
    for _round in range(number):
        connection.sendall(b".")
        connection.recv(1)
    return time.monotonic() - started


def main() -> None:
    """Connect, then ask and tell until standard input ends."""
    address, port = sys.argv[1], int(sys.argv[2])
    with socket.create_connection((address, port), PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, line in enumerate(sys.stdin):
            if line.startswith("time "):
                print(rounds(connection, int(line.split()[1])), flush=True)
                continue
            word = f"{number}\n".encode()
            try:
                connection.sendall(word)
                # What was lost before and comes late answers an earlier question.
                answer = b""
                while not answer.endswith(word):
                    more = connection.recv(200)
                    if not more:
                        break
                    answer += more
                print("answered" if answer.endswith(word) else "closed", flush=True)
            except OSError:
                print("silent", flush=True)


if __name__ == "__main__":
    main()
