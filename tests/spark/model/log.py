"""A replica's log: records and transaction markers, one offset each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Record:
    """What a producer sent; ``seq`` counts within the incarnation, over all partitions."""

    producer: str
    incarnation: str
    seq: int
    key: str
    partition: int
    transaction: int | None = None


@dataclass(slots=True, eq=False)
class Entry:
    """One offset of a log. Replicas share the object, as they hold the same bytes.

    Attributes:
        epoch: leader epoch it was appended in.
        record: None for a marker, and for a hole that a defect tore.
        pid, pepoch, number: identity of an idempotent or transactional producer towards brokers,
            and its own numbering within the partition; pid is "" for others.
        marker: ``committed`` or ``aborted``: ends the transaction of ``pid``.
        whole: whether the bytes are what was sent.
    """

    offset: int
    epoch: int
    at: int
    record: Record | None = None
    pid: str = ""
    pepoch: int = 0
    number: int = 0
    marker: str | None = None
    whole: bool = True


class Log:
    """Entries at offsets 0 upwards."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    @property
    def end(self) -> int:
        """The next offset."""
        return len(self.entries)

    def truncate(self, end: int) -> None:
        """Drop everything from ``end`` on."""
        del self.entries[end:]

    def common(self, other: Log) -> int:
        """Return the offset at which two logs part, as leader epochs tell it."""
        pairs = zip(self.entries, other.entries, strict=False)
        parted = (mine.offset for mine, theirs in pairs if mine.epoch != theirs.epoch)
        return next(parted, min(self.end, other.end))

    def epoch_end(self, epoch: int) -> int:
        """Return where entries of ``epoch`` and earlier end (OffsetForLeaderEpoch)."""
        later = (entry.offset for entry in self.entries if entry.epoch > epoch)
        return next(later, self.end)

    def last_of(self, pid: str) -> Entry | None:
        """Return the last entry of an idempotent producer."""
        mine = (entry for entry in reversed(self.entries) if entry.pid == pid)
        return next((entry for entry in mine if entry.record is not None), None)

    def fence(self, pid: str) -> int:
        """Return the highest producer epoch of ``pid`` seen, markers included; -1 for none."""
        return max((entry.pepoch for entry in self.entries if entry.pid == pid), default=-1)

    def find(self, pid: str, pepoch: int, number: int) -> Entry | None:
        """Return the entry an idempotent producer numbered so."""
        for entry in reversed(self.entries):
            if entry.record and (entry.pid, entry.pepoch, entry.number) == (pid, pepoch, number):
                return entry
        return None

    def state(self, entry: Entry) -> str:
        """Return how a record lies there: plain, committed, aborted or open."""
        if entry.record is None or entry.record.transaction is None:
            return "plain"
        for later in self.entries[entry.offset + 1 :]:
            if later.pid == entry.pid and later.marker:
                return later.marker
        return "open"

    def stable(self, high: int) -> int:
        """Return the offset below which every transaction is decided, by what lies below high."""
        decided: set[str] = set()
        end = high
        for entry in reversed(self.entries[:high]):
            if entry.marker:
                decided.add(entry.pid)
            elif entry.record and entry.record.transaction is not None:
                end = end if entry.pid in decided else entry.offset
        return end
