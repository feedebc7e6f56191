"""The sequence numbers that brokers refused, from their logs.

No ledger has them: librdkafka raises its epoch and goes on
(docs/decisions/0017-a-refused-sequence-renumbers-too.md). The leader that refused logs it (Kafka
3.9: ReplicaManager, level ERROR, with the exception's own text).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from krt_contract.timeline import Event, EventName, Source
from krt_scoring.inputs.member_logs.lines import lines, written_at

if TYPE_CHECKING:
    from pathlib import Path

    from krt_scoring.inputs.timeline import Timeline

SOURCE, EVENT = Source.PARTITION, EventName.SEQUENCE_REFUSED
"""Source and event of what is added; the subject is the partition, as Kafka writes it."""

_REFUSED = re.compile(
    r"OutOfOrderSequenceException: Out of order sequence number for producer (?P<producer>\d+) "
    r"at offset \d+ in partition (?P<subject>\S+): (?P<incoming>\d+) \(incoming seq\. number\), "
    r"(?P<current>-?\d+) \(current end sequence number\)"
)


def with_refused_sequences(timeline: Timeline, logs: Path) -> Timeline:
    """Return a timeline with every refusal of a sequence number that a log has.

    Args:
        timeline: the events of a run.
        logs: folder of the members' logs, as the recorder wrote them; need not be there.
    """
    added = []
    for line in lines(logs, "OutOfOrderSequenceException"):
        match, at = _REFUSED.search(line), written_at(line)
        if match and at is not None:
            numbers = {name: int(match[name]) for name in ("producer", "incoming", "current")}
            added.append(Event(at, 0, SOURCE, EVENT, match["subject"], numbers))
    return timeline.joined(added) if added else timeline
