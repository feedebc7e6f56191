"""The value of every record we send: who sent it, which one it is, and whether it is whole.

Layout, ASCII, fields parted by ``;``::

    krt1;<run uid>;<producer>;<producer incarnation>;<seq>;<padding>;<crc32>

``crc32`` is eight lower-case hex digits over every byte before its own separator, the same
polynomial as Python's ``zlib.crc32`` and Spark's ``crc32``, so that Spark checks a value with
built-in functions alone. Text keeps it readable in any console consumer.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import NamedTuple

MAGIC = "krt1"
"""First field of every value; what lacks it is foreign to every run of ours."""

SEPARATOR = ";"
CRC_LENGTH = 8
"""Hex digits of the checksum."""

FIELDS = 7
"""Fields of a value: magic, run uid, producer, incarnation, seq, padding, checksum."""


class Payload(NamedTuple):
    """What a value says of itself.

    Attributes:
        run_uid: uid of the KafkaResilienceTest the record belongs to.
        producer: ``<name>-<replica>``.
        producer_incarnation: uid of the pod that sent it.
        seq: dense from 0 within the incarnation.
        checksum_ok: whether the bytes are those that were sent.
    """

    run_uid: str
    producer: str
    producer_incarnation: str
    seq: int
    checksum_ok: bool


class Encoder:
    """Builds the values of one incarnation.

    Args:
        run_uid: uid of the test.
        producer: producer identity; must not hold the separator.
        incarnation: pod uid.
        size: wanted length in bytes; a value is never shorter than its fields need.
    """

    def __init__(self, run_uid: str, producer: str, incarnation: str, size: int) -> None:
        for part in (run_uid, producer, incarnation):
            if SEPARATOR in part:
                raise ValueError(f"{part!r} holds {SEPARATOR!r}, which parts the payload's fields")
        self._head = f"{MAGIC};{run_uid};{producer};{incarnation};".encode("ascii")
        self._head_crc = zlib.crc32(self._head)
        self._size = size
        self._paddings: dict[int, bytes] = {}

    def encode(self, seq: int) -> bytes:
        """Return the value of record ``seq``."""
        # Only the digits differ from one value to the next: what is around them is kept, and the
        # checksum goes on from that of the head.
        digits = b"%d" % seq
        padding = self._paddings.get(len(digits)) or self._pad(len(digits))
        tail = digits + padding
        return b"%s%s;%08x" % (self._head, tail, zlib.crc32(tail, self._head_crc))

    def _pad(self, digits: int) -> bytes:
        """Return the separator and the padding behind a seq of so many digits; keep them."""
        rest = self._size - len(self._head) - digits - len(SEPARATOR) * 2 - CRC_LENGTH
        padding = self._paddings[digits] = b";" + b"x" * max(0, rest)
        return padding


def decode(value: bytes | None) -> Payload | None:
    """Return what ``value`` says of itself, or None where it is no value of ours.

    A value of ours with damaged bytes is returned with ``checksum_ok`` false as long as its
    identity can still be read.
    """
    if value is None or not value.startswith(b"krt1;"):
        return None
    parts = value.split(b";")
    if len(parts) != FIELDS:
        return None
    _, run_uid, producer, incarnation, seq, _, crc = parts
    if not seq.isdigit():
        return None
    names = _names(run_uid, producer, incarnation)
    if names is None:
        return None
    checksum_ok = crc == b"%08x" % zlib.crc32(value[: -(CRC_LENGTH + 1)])
    return Payload(*names, int(seq), checksum_ok)


@lru_cache(maxsize=1024)
def _names(*parts: bytes) -> tuple[str, str, str] | None:
    """Return the names as text; once for all records of a producer, which share them."""
    if not all(part.isascii() for part in parts):
        return None
    run_uid, producer, incarnation = (part.decode("ascii") for part in parts)
    return run_uid, producer, incarnation
