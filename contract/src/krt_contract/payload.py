"""The value of every record we send: who sent it, which one it is, and whether it is whole.

Layout, ASCII, fields parted by ``;``::

    krt1;<run uid>;<producer>;<producer incarnation>;<seq>;<padding>;<crc32>

``crc32`` is eight lower-case hex digits over every byte before its own separator, the same
polynomial as Python's ``zlib.crc32`` and Spark's ``crc32``, so that Spark checks a value with
built-in functions alone. Text keeps it readable in any console consumer.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

MAGIC = "krt1"
"""First field of every value; what lacks it is foreign to every run of ours."""

SEPARATOR = ";"
CRC_LENGTH = 8
"""Hex digits of the checksum."""

FIELDS = 7
"""Fields of a value: magic, run uid, producer, incarnation, seq, padding, checksum."""


@dataclass(frozen=True, slots=True)
class Payload:
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
        self._size = size

    def encode(self, seq: int) -> bytes:
        """Return the value of record ``seq``."""
        body = b"%s%d;" % (self._head, seq)
        padding = max(0, self._size - len(body) - 1 - CRC_LENGTH)
        body += b"x" * padding
        return b"%s;%08x" % (body, zlib.crc32(body))


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
    body = value[: -(CRC_LENGTH + 1)]
    try:
        checksum_ok = len(crc) == CRC_LENGTH and int(crc, 16) == zlib.crc32(body)
        return Payload(
            run_uid.decode("ascii"),
            producer.decode("ascii"),
            incarnation.decode("ascii"),
            int(seq),
            checksum_ok,
        )
    except ValueError:
        identity = (run_uid, producer, incarnation)
        if any(not part.isascii() for part in identity):
            return None
        names = [part.decode("ascii") for part in identity]
        return Payload(names[0], names[1], names[2], int(seq), checksum_ok=False)
