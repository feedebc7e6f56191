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
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MAGIC = "krt1"
"""First field of every value; what lacks it is foreign to every run of ours."""

SEPARATOR = ";"
CRC_LENGTH = 8
"""Hex digits of the checksum."""

CRC_BYTES = CRC_LENGTH // 2

LOW_DIGITS = 3
"""Last digits of a seq in which the values of a block differ: 1000 values, where they fit."""

BLOCK_BYTES = 1 << 20
"""Most bytes of a block; large values have blocks of 100, 10 or 1. An encoder keeps two of them."""

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
        low_digits = LOW_DIGITS
        while low_digits and len(self.encode(0)) * 10**low_digits > BLOCK_BYTES:
            low_digits -= 1
        self._low_digits = low_digits
        self._template: _Template | None = None
        self._high, self._block = -1, list[bytes]()

    def encode(self, seq: int) -> bytes:
        """Return the value of record ``seq``."""
        tail = b"%d" % seq
        tail += self._pad(len(tail))
        return b"%s%s;%08x" % (self._head, tail, zlib.crc32(tail, self._head_crc))

    def values(self, first: int, count: int) -> list[bytes]:
        """Return the values of ``count`` records from record ``first`` on.

        They are what ``encode`` returns, for less where many are asked for in turn.
        """
        found: list[bytes] = []
        while count > 0:
            high, low = divmod(first, 10**self._low_digits)
            if high != self._high:
                self._high, self._block = high, self._build(high)
            part = self._block[low : low + count]
            found += part
            first += len(part)
            count -= len(part)
        return found

    def _build(self, high: int) -> list[bytes]:
        """Return all values whose seqs begin with the digits of ``high``."""
        count = 10**self._low_digits
        if not high or count == 1:  # seqs of unequal length, or nothing to share
            return [self.encode(seq) for seq in range(high * count, (high + 1) * count)]
        digits = b"%d" % high
        if self._template is None or self._template.digits != len(digits):
            padding = self._pad(len(digits) + self._low_digits)
            self._template = _Template(self._head, len(digits), self._low_digits, padding)
        return self._template.fill(digits)

    def _pad(self, digits: int) -> bytes:
        """Return the separator and the padding behind a seq of so many digits."""
        rest = self._size - len(self._head) - digits - len(SEPARATOR) * 2 - CRC_LENGTH
        return b";" + b"x" * max(0, rest)


class _Template:
    """The values of a block in one run of bytes: only its shared digits and checksums change.

    A checksum is linear: texts of one length that differ in the same places by the same bits have
    checksums that differ (by exclusive or) by the same, whatever else is in them. So what the last
    digits make of the first value's checksum is the same in each block.

    Args:
        head: what precedes the seq.
        digits: how many digits of the seq the values of a block share.
        low_digits: how many follow, in which they differ.
        padding: what follows the seq, up to the checksum's separator.

    Attributes:
        digits: as above.
    """

    def __init__(self, head: bytes, digits: int, low_digits: int, padding: bytes) -> None:
        self.digits = digits
        self._at, self._count = len(head), 10**low_digits
        self._tail, self._head_crc = b"0" * low_digits + padding, zlib.crc32(head)
        shared = head + b"0" * digits
        tails = [b"%0*d" % (low_digits, low) + padding for low in range(self._count)]
        first = zlib.crc32(tails[0])
        self._differences = _joined(zlib.crc32(tail) ^ first for tail in tails)
        values = b"".join(shared + tail + b";%08x" % 0 for tail in tails)
        self._bytes, self._size = bytearray(values), len(values) // self._count
        self._cuts = [slice(at, at + self._size) for at in range(0, len(values), self._size)]

    def fill(self, digits: bytes) -> list[bytes]:
        """Return the values whose seqs begin with these digits."""
        values, size = self._bytes, self._size
        for at, digit in enumerate(digits, self._at):
            values[at::size] = bytes((digit,)) * self._count
        first = zlib.crc32(self._tail, zlib.crc32(digits, self._head_crc))
        checksums = self._differences ^ _joined([first] * self._count)
        text = checksums.to_bytes(CRC_BYTES * self._count, "big").hex().encode("ascii")
        for index in range(CRC_LENGTH):
            values[size - CRC_LENGTH + index :: size] = text[index::CRC_LENGTH]
        block = bytes(values)
        return [block[cut] for cut in self._cuts]


def _joined(checksums: Iterable[int]) -> int:
    """Return checksums as the digits of one number, which changes all of them in one step."""
    return int.from_bytes(b"".join(crc.to_bytes(CRC_BYTES, "big") for crc in checksums), "big")


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
