"""Leadership of the tested partitions under each fault, as two numbers with two names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.metrics.live_leaders import total_of, without_live_leader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.metrics.partition_states import States


def rows(
    states: States, timeline: Timeline, windows: Sequence[FaultWindow], end: int
) -> list[dict[str, Any]]:
    """Return a row for each injected fault, from its injection to the recovery from it.

    Each has ``fault``; ``offlinePartitions``, those that Kafka had without a leader because no
    replica was eligible, with ``atLeast`` where a state that may have been such a one was not
    recorded; and ``withoutLiveLeader``: ``partitions``, ``longest``, ``total``.

    Args:
        states: the partitions' states.
        timeline: the run's events.
        windows: the faults.
        end: when the run ended, UTC µs: for faults never recovered from.
    """
    found = []
    for window in windows:
        start = window.injected_at
        if start is None or not states.known:
            continue
        until = end if window.recovered_at is None else window.recovered_at
        offline = states.offline(start, until)
        row: dict[str, Any] = {"fault": window.name, "offlinePartitions": len(offline)}
        if states.hidden(start, until) - offline:
            row["atLeast"] = True
        spells = without_live_leader(states, timeline, start, until)
        row["withoutLiveLeader"] = total_of(spells.values()).as_dict()
        found.append(row)
    return found
