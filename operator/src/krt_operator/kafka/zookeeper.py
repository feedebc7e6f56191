"""The port `four_letter` on a real ZooKeeper: an unavailable server is a transient error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.zookeeper import send_four_letter_word
from krt_operator.errors import TransientError

if TYPE_CHECKING:
    from krt_contract.kafka_login import Login


def four_letter(host: str, word: str, login: Login) -> str:
    """Send a four-letter word to a ZooKeeper server and return the whole answer.

    Args:
        host: name or address of the server, with `:port` where it is not 2181.
        word: `srvr`, `ruok` or `mntr`.
        login: has the certificate that the server wants, where it does. It knows no user.

    Raises:
        TransientError: the server did not answer in time; the message names it.
    """
    try:
        return send_four_letter_word(host, word, login.ssl_context())
    except OSError as error:
        raise TransientError(f"ZooKeeper at {host} did not answer {word}: {error}") from error
