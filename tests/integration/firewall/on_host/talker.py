"""Keeps a connection open, and for each line that comes in tells whether a word is sent back over it.

python3 talker.py ADDRESS PORT
"""

from __future__ import annotations

import socket
import sys

PATIENCE = 2.0


def main() -> None:
    """Connect, then ask and tell until standard input ends."""
    address, port = sys.argv[1], int(sys.argv[2])
    with socket.create_connection((address, port), PATIENCE) as connection:
        for number, _line in enumerate(sys.stdin):
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
