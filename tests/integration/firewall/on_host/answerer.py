"""Answers on ports, TCP and UDP, both families, with its name and the address that it is asked from.

python3 answerer.py NAME tcp:443 udp:53 echo:7

A connection to an echo port stays open, and every word is sent back.
"""

from __future__ import annotations

import selectors
import signal
import socket
import sys
import types


def listen(protocol: str, port: int) -> socket.socket:
    """A socket for both families, or for IPv4 where there is no other."""
    kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
    try:
        server = socket.socket(socket.AF_INET6, kind)
    except OSError:
        server = socket.socket(socket.AF_INET, kind)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if server.family == socket.AF_INET6:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("" if server.family == socket.AF_INET else "::", port))
    if kind == socket.SOCK_STREAM:
        server.listen(4096)
    server.setblocking(False)
    return server


def answer(server: socket.socket, name: str) -> None:
    """Answer all that are waiting."""
    while True:
        try:
            if server.type == socket.SOCK_DGRAM:
                _data, peer = server.recvfrom(100)
                server.sendto(f"{name} {peer[0]}\n".encode(), peer)
            else:
                client, peer = server.accept()
                with client:
                    client.send(f"{name} {peer[0]}\n".encode())
        except BlockingIOError:
            return
        except OSError:
            continue  # one that has given up already


def welcome(server: socket.socket, selector: selectors.BaseSelector) -> None:
    """Take a connection whose words are sent back."""
    client, _peer = server.accept()
    selector.register(client, selectors.EVENT_READ, echo)


def echo(client: socket.socket, selector: selectors.BaseSelector) -> None:
    """Send back what came, or see that nothing comes any more."""
    try:
        words = client.recv(200)
        client.sendall(words)
    except OSError:
        words = b""
    if not words:
        selector.unregister(client)
        client.close()


def leave(_number: int, _frame: types.FrameType | None) -> None:
    """End at once: the first process of a container does not heed SIGTERM unless it says so."""
    sys.exit(0)


def main() -> None:
    """Serve until killed."""
    signal.signal(signal.SIGTERM, leave)
    name, *ports = sys.argv[1:]
    with selectors.DefaultSelector() as selector:
        for text in ports:
            protocol, port = text.split(":")
            server = listen(protocol, int(port))
            selector.register(server, selectors.EVENT_READ, welcome if protocol == "echo" else None)
        while True:
            for key, _events in selector.select():
                if isinstance(key.fileobj, socket.socket) and key.data is not None:
                    key.data(key.fileobj, selector)
                elif isinstance(key.fileobj, socket.socket):
                    answer(key.fileobj, name)


if __name__ == "__main__":
    main()
