"""How far the metadata log was read: what is committed, and what may still be taken back.

After an election a leader does not know its high watermark and sends records all the same; a leader
that is deposed may have sent some that never become part of the log. Records at or above the high
watermark are therefore held back, and dropped whenever the leader may be another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krt_traffic.errors import RecordingError
from krt_traffic.recorder.metadata_log.decode import records_in
from krt_traffic.recorder.metadata_log.fetch import Answer, Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_contract.metadata_log.record import LogRecord

START = Position(0, 0)
FIRST_EPOCH = 1
"""The lowest quorum epoch that a record is written in."""


@dataclass(slots=True)
class Progress:
    """The place in the log, moved by each answer.

    Attributes:
        committed: where the next committed record lies.
    """

    committed: Position = START
    _pending: list[LogRecord] = field(default_factory=list)

    @classmethod
    def after(cls, records: Sequence[LogRecord]) -> Progress:
        """Return the progress of a recorder whose predecessor stored these records."""
        return cls(_behind(records[-1]) if records else START)

    @property
    def position(self) -> Position:
        """Where the next fetch begins: after all that was sent, committed or not."""
        return _behind(self._pending[-1]) if self._pending else self.committed

    def drop_pending(self) -> None:
        """Forget what was not committed: it may not be in the next leader's log."""
        self._pending.clear()

    def take(self, answer: Answer) -> list[LogRecord]:
        """Take an answer without an error; return the records that are committed by now, in order.

        Raises:
            RecordingError: the log does not continue what was read of it.
            ValueError: a batch is damaged.
        """
        if answer.snapshot or answer.diverging:
            self._restart(answer)
            return []
        end = self.position.offset
        self._pending += [item for item in records_in(answer.records) if item.offset >= end]
        ready = [item for item in self._pending if item.offset < answer.high_watermark]
        if ready:
            del self._pending[: len(ready)]
            self.committed = _behind(ready[-1])
        return ready

    def reached(self, answer: Answer) -> bool:
        """Whether all that was committed when a leader gave this answer has been taken."""
        return 0 <= answer.high_watermark <= self.committed.offset

    def _restart(self, answer: Answer) -> None:
        if self._pending:
            self._pending.clear()
        elif self.committed == START and answer.snapshot:
            # Once there is a snapshot, a leader answers offset 0 with it (KAFKA-15078). All but
            # the first record, which is the first leader's election, is in the log behind it.
            self.committed = Position(1, FIRST_EPOCH)
        elif (
            self.committed.offset == 1
            and answer.diverging
            and self.committed.last_epoch < answer.leader_epoch
        ):
            # The epoch of the record that was skipped is not known, so it is found by trying.
            self.committed = Position(1, self.committed.last_epoch + 1)
        else:
            raise RecordingError(
                f"the controllers do not have the metadata log from offset "
                f"{self.committed.offset} on, of which the evidence has what comes before. Keep "
                "the log longer (metadata.max.retention.bytes, metadata.max.retention.ms), and "
                "run the test again"
            )


def _behind(record: LogRecord) -> Position:
    return Position(record.offset + 1, record.epoch)
