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

BLOCK = 1000
"""Values in a row that are built from one another: those that differ in the last three digits."""

LOW_DIGITS = 3

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
        self._high, self._prefix, self._rest, self._crc = 0, b"", b"", 0
        self._lows: list[tuple[bytes, int]] = []

    def encode(self, seq: int) -> bytes:
        """Return the value of record ``seq``."""
        # Of a thousand values in a row, three digits and the checksum differ.
        high, low = divmod(seq, BLOCK)
        if not high:
            return self._build(b"%d" % seq)
        if high != self._high:
            self._begin(high)
        text, difference = self._lows[low]
        return b"%s%s%s;%08x" % (self._prefix, text, self._rest, self._crc ^ difference)

    def _build(self, digits: bytes) -> bytes:
        tail = digits + self._pad(len(digits))
        return b"%s%s;%08x" % (self._head, tail, zlib.crc32(tail, self._head_crc))

    def _begin(self, high: int) -> None:
        """Keep what the values of a block share."""
        digits = b"%d" % high
        rest = self._pad(len(digits) + LOW_DIGITS)
        if rest != self._rest:
            self._rest, self._lows = rest, _differences(rest)
        self._high, self._prefix = high, self._head + digits
        self._crc = zlib.crc32(b"000" + rest, zlib.crc32(digits, self._head_crc))

    def _pad(self, digits: int) -> bytes:
        """Return the separator and the padding behind a seq of so many digits."""
        rest = self._size - len(self._head) - digits - len(SEPARATOR) * 2 - CRC_LENGTH
        return b";" + b"x" * max(0, rest)


def _differences(rest: bytes) -> list[tuple[bytes, int]]:
    """Return the last digits of each value of a block, and what they make of the first's checksum.

    A checksum is linear: texts of one length that differ in the same places by the same bits have
    checksums that differ (by exclusive or) by the same, whatever else is in them. And what several
    digits change is what each of them changes, put together.

    Args:
        rest: what follows the digits, up to the checksum's separator.
    """
    first = zlib.crc32(b"000" + rest)
    hundreds, tens, ones = (
        [zlib.crc32(b"%03d" % (digit * place) + rest) ^ first for digit in range(10)]
        for place in (100, 10, 1)
    )
    return [
        (b"%03d" % low, hundreds[low // 100] ^ tens[low // 10 % 10] ^ ones[low % 10])
        for low in range(BLOCK)
    ]


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
