"""Sequence numbers that a broker refused, read from its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.timeline import Event
from krt_scoring.inputs.member_logs.refused_sequences import with_refused_sequences
from krt_scoring.inputs.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

# As the leader of a run wrote it, on 2026-11-22; the exception stands in a line of its own.
ERROR = (
    "2026-11-22T09:06:21.621978000Z [2026-11-22 09:06:21,621] ERROR [ReplicaManager broker=2] "
    "Error processing append operation on partition foo-1 (kafka.server.ReplicaManager)"
)
REFUSED = (
    "2026-11-22T09:06:21.621981853Z org.apache.kafka.common.errors.OutOfOrderSequenceException: "
    "Out of order sequence number for producer 7 at offset 1033 in partition foo-1: 1035 "
    "(incoming seq. number), 1032 (current end sequence number)"
)
AT = 1_795_338_381_621_981


def logged(folder: Path, *lines: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    (folder / "t-kafka-2-0-uid.log").write_text(text, encoding="utf-8")


def test_with_refused_sequences_adds_a_refusal_at_the_time_of_its_line(tmp_path: Path) -> None:
    logged(tmp_path, ERROR, REFUSED)
    before, after = (Event(at, 0, "phase", "entered", "") for at in (AT - 1, AT + 1))
    detail = {"producer": 7, "incoming": 1035, "current": 1032}
    refused = Event(AT, 0, "partition", "sequence-refused", "foo-1", detail)
    assert with_refused_sequences(Timeline((before, after)), tmp_path).events == (
        before,
        refused,
        after,
    )


def test_with_refused_sequences_other_lines_add_nothing(tmp_path: Path) -> None:
    torn = REFUSED.partition("incoming")[0]
    untimed = REFUSED.partition(" ")[2]
    logged(tmp_path, ERROR, torn, untimed)
    assert not with_refused_sequences(Timeline(()), tmp_path).events


def test_with_refused_sequences_without_logs_adds_nothing(tmp_path: Path) -> None:
    assert not with_refused_sequences(Timeline(()), tmp_path / "logs").events
