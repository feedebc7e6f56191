"""The port `four_letter` on a real ZooKeeper: an unavailable server is a transient error."""

from __future__ import annotations

from krt_contract.zookeeper import send_four_letter_word
from krt_operator.errors import TransientError


def four_letter(host: str, word: str) -> str:
    """Send a four-letter word to a ZooKeeper server and return the whole answer.

    Args:
        host: name or address of the server, with `:port` where it is not 2181.
        word: `srvr`, `ruok` or `mntr`.

    Raises:
        TransientError: the server did not answer in time; the message names it.
    """
    try:
        return send_four_letter_word(host, word)
    except OSError as error:
        raise TransientError(f"ZooKeeper at {host} did not answer {word}: {error}") from error
