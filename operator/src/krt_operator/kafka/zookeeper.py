"""ZooKeeper's four-letter words, asked over TCP."""

from __future__ import annotations

import socket
from typing import Final

from krt_contract.members import ZOOKEEPER_PORT
from krt_operator.errors import TransientError

TIMEOUT_SECONDS: Final = 2.0
"""A server of a healthy ensemble answers within milliseconds; a frozen one never does."""
MAX_ANSWER: Final = 65_536
"""Bytes read of an answer; `srvr` is below 500, `mntr` below 8,000."""


def four_letter(host: str, word: str) -> str:
    """Send a four-letter word and return the whole answer.

    Args:
        host: name or address of the server, with `:port` where it is not 2181.
        word: `srvr`, `ruok` or `mntr`, those the members' whitelist admits.

    Raises:
        TransientError: nobody answered in time; the message names the server.
    """
    name, _, port = host.partition(":")
    address = (name, int(port) if port else ZOOKEEPER_PORT)
    try:
        with socket.create_connection(address, timeout=TIMEOUT_SECONDS) as connection:
            connection.sendall(word.encode("ascii"))
            answer = bytearray()
            while len(answer) < MAX_ANSWER and (part := connection.recv(4096)):
                answer += part
    except OSError as error:
        raise TransientError(f"ZooKeeper at {host} did not answer {word}: {error}") from error
    return answer.decode("utf-8", errors="replace")


def mode(srvr: str) -> str | None:
    """Return `leader`, `follower` or `standalone` from the answer to `srvr`.

    None where the server is up but serves nobody, which is how it answers without a quorum.
    """
    for line in srvr.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Mode":
            return value.strip()
    return None
