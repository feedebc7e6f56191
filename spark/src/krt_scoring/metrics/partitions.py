"""Describe-topic tables: each tested partition before, at the worst of, and after each fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.history.elections import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_scoring.history.elections import State
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.partition_states import States

MAX_ROWS = 512
"""Rows in all: 64 partitions under 8 faults. Later faults are left out beyond it."""


def tables(states: States, windows: Sequence[FaultWindow], end: int) -> list[dict[str, Any]]:
    """Return a row for each injected fault and tested partition.

    Each has ``fault``, ``topic``, ``partition``, ``replicas`` (at the injection, the preferred
    leader first) and, as far as they were seen, ``before``, ``worst`` and ``after`` with ``at``,
    ``leader`` (-1: none) and ``isr``. The worst is leaderless rather than led, then has the
    smallest ISR, then is the first such state of the time between injection and recovery.

    Args:
        states: the partitions' states.
        windows: the faults.
        end: when the run ended, UTC µs: for faults never recovered from.
    """
    rows = []
    for window in windows:
        start = window.injected_at
        if start is None:
            continue
        until = end if window.recovered_at is None else window.recovered_at
        for (topic, partition), seen in states.during(start, until).items():
            row: dict[str, Any] = {
                "fault": window.name,
                "topic": topic,
                "partition": partition,
                "replicas": list(states.replicas_at((topic, partition), start)),
            }
            if seen:
                if seen[0].at <= start:
                    row["before"] = _as_dict(seen[0])
                row["worst"] = _as_dict(min(seen, key=_soundness))
                row["after"] = _as_dict(seen[-1])
            rows.append(row)
    return rows[:MAX_ROWS]


def _soundness(state: State) -> tuple[bool, int, int]:
    return state.leader != NO_LEADER, len(state.isr), state.at


def _as_dict(state: State) -> dict[str, Any]:
    return {"at": state.at, "leader": state.leader, "isr": list(state.isr)}
