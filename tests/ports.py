"""Ports of this machine for servers that a test starts."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

LOWEST = 10_000
"""Below are the well-known ports and those that people give to programs of their own."""

_RESERVED: list[IO[str]] = []
"""Open for as long as this process lives: each holds the lock of a port."""


def ephemeral_ports() -> range:
    """Return the ports that the kernel gives to connections that go out (ip(7))."""
    lowest, highest = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    return range(int(lowest), int(highest) + 1)


def free_port() -> int:
    """Reserve a port on which nothing listens, until this process ends.

    It is not one of the ephemeral ports where there are others: between this call and the server's
    bind, a connection of anybody could have got such a port as its own, and a client that asks
    again and again whether the server is there could even connect to itself. No other process of
    the tests gets the port either.

    Raises:
        RuntimeError: no port is left.
    """
    ephemeral = ephemeral_ports()
    ports = list(range(LOWEST, 65_536))
    random.shuffle(ports)
    # Where the kernel may give all of them away, one of these has to do.
    for port in sorted(ports, key=ephemeral.__contains__):
        if _reserve(port):
            return port
    raise RuntimeError(f"every port from {LOWEST} on is taken")


def _reserve(port: int) -> bool:
    folder = Path(tempfile.gettempdir()) / f"krt-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    lock = (folder / str(port)).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        lock.close()
        return False
    _RESERVED.append(lock)
    return True
