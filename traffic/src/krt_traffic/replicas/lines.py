"""The lines of DumpLogSegments (Kafka 3.9 and 4.4, ``--print-data-log``), one at a time.

A batch is a line ``baseOffset: …``, followed by a line ``| offset: …`` for each of its records,
followed by the further lines of the record's own text. A text can look like anything, so a line
counts as what it looks like only where it fits: a batch when the complete line matches, a record
when its offset may come next.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from krt_contract.payload import (
    MAGIC,
    SEPARATOR,
    Payload,
    decode,
)

_BATCH = re.compile(
    r"baseOffset: (?P<base>\d+) lastOffset: (?P<last>\d+) count: (?P<count>\d+) .*"
    r"partitionLeaderEpoch: (?P<epoch>-?\d+) isTransactional: (?:true|false) "
    r"isControl: (?P<control>true|false) .*size: (?P<size>\d+) magic: 2 compresscodec: \w+ "
    r"crc: (?P<crc>\d+) isvalid: (?P<valid>true|false)"
)
_RECORD = "| offset: "
_PAYLOAD = f" payload: {MAGIC}{SEPARATOR}"
_MARKER = re.compile(r" endTxnMarker: (COMMIT|ABORT) coordinatorEpoch: ")
_TRAILING = re.compile(r"Found \d+ invalid bytes at the end of \S+")


@dataclass(frozen=True, slots=True)
class Batch:
    """The header of a batch.

    Attributes:
        base, last: first and last offset.
        count: records in it.
        epoch: leader epoch under which it was appended.
        control: whether it is a transaction's marker.
        size: bytes.
        crc: the checksum it carries.
        valid: whether that matches its bytes.
    """

    base: int
    last: int
    count: int
    epoch: int
    control: bool
    size: int
    crc: int
    valid: bool


@dataclass(frozen=True, slots=True)
class Record:
    """The part of a record that is kept.

    Attributes:
        offset: its offset.
        payload: identity in a value of the run's producers; None for others and damaged ones.
        marker: ``commit`` or ``abort`` where it ends a transaction, else None.
    """

    offset: int
    payload: Payload | None
    marker: str | None


def batch(line: str) -> Batch | None:
    """Return the batch whose header a line is, None where it is no header."""
    found = _BATCH.fullmatch(line)
    if found is None:
        return None
    return Batch(
        base=int(found["base"]),
        last=int(found["last"]),
        count=int(found["count"]),
        epoch=int(found["epoch"]),
        control=found["control"] == "true",
        size=int(found["size"]),
        crc=int(found["crc"]),
        valid=found["valid"] == "true",
    )


def record(line: str, *, control: bool) -> Record | None:
    """Return the record that a line prints, None where it prints none.

    Args:
        line: as printed.
        control: whether its batch is a transaction's marker.
    """
    if not line.startswith(_RECORD):
        return None
    offset, _, rest = line[len(_RECORD) :].partition(" ")
    if not (offset.isdigit() and rest):
        return None
    if control:
        marker = _MARKER.search(rest)
        return Record(int(offset), None, marker[1].lower() if marker else None)
    return Record(int(offset), _payload(rest), None)


def _payload(rest: str) -> Payload | None:
    at = rest.find(_PAYLOAD)
    if at < 0:
        return None
    # A value that is not ASCII was damaged on its way, or is not of the run's producers.
    value = rest[at + len(" payload: ") :].encode("ascii", "replace")
    found = decode(value)
    return found if found is not None and found.checksum_ok else None


def trailing(line: str) -> str | None:
    """Return the tool's line about bytes that are no batch, None for any other line."""
    return line if _TRAILING.fullmatch(line) else None
