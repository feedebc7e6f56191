"""ZooKeeper's four-letter words: a request of four bytes over TCP or TLS, answered in text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.kafka_connection import open_socket
from krt_contract.members import ZOOKEEPER_PORT

if TYPE_CHECKING:
    import ssl

TIMEOUT_SECONDS: Final = 2.0
"""A server of a healthy ensemble answers within milliseconds; a frozen one never does."""

MAX_ANSWER: Final = 65_536
"""Bytes read of an answer; `srvr` is below 500, `mntr` below 8,000."""

LEADING_MODES: Final = frozenset({"leader", "standalone"})
"""Modes of a server that leads the ensemble, or is all of it."""


def send_four_letter_word(address: str, word: str, context: ssl.SSLContext | None = None) -> str:
    """Send a four-letter word and return the whole answer.

    Args:
        address: host name or address of the server, with `:port` where it is not 2181.
        word: `srvr`, `ruok` or `mntr`, the words that the members' whitelist allows.
        context: of TLS; None for a server in plaintext.

    Raises:
        TimeoutError: the server did not answer within `TIMEOUT_SECONDS`.
        OSError: nothing listens at the address, the connection broke, or a certificate is refused.
    """
    host, _, port = address.partition(":")
    endpoint = f"{host}:{port or ZOOKEEPER_PORT}"
    with open_socket(endpoint, TIMEOUT_SECONDS, context) as connection:
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
