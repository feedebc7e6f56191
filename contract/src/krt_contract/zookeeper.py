"""ZooKeeper's four-letter words: a request of four bytes over TCP, answered in text."""

from __future__ import annotations

import socket
from typing import Final

from krt_contract.members import ZOOKEEPER_PORT

TIMEOUT_SECONDS: Final = 2.0
"""A server of a healthy ensemble answers within milliseconds; a frozen one never does."""

MAX_ANSWER: Final = 65_536
"""Bytes read of an answer; `srvr` is below 500, `mntr` below 8,000."""

LEADING_MODES: Final = frozenset({"leader", "standalone"})
"""Modes of a server that leads the ensemble, or is all of it."""


def send_four_letter_word(address: str, word: str) -> str:
    """Send a four-letter word and return the whole answer.

    Args:
        address: host name or address of the server, with `:port` where it is not 2181.
        word: `srvr`, `ruok` or `mntr`, the words that the members' whitelist allows.

    Raises:
        TimeoutError: the server did not answer within `TIMEOUT_SECONDS`.
        OSError: nothing listens at the address, or the connection broke.
    """
    host, _, port = address.partition(":")
    endpoint = (host, int(port) if port else ZOOKEEPER_PORT)
    with socket.create_connection(endpoint, timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall(word.encode("ascii"))
        answer = bytearray()
        while len(answer) < MAX_ANSWER and (part := connection.recv(4096)):
            answer += part
    return answer.decode("utf-8", errors="replace")


def parse_mode(answer: str) -> str | None:
    """Return `leader`, `follower` or `standalone` from the answer to `srvr`.

    None where the server runs but serves no requests, which is how it answers without a quorum.
    """
    for line in answer.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Mode":
            return value.strip()
    return None
