from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.traffic.timelines import T0, T0_MICROS, recorded

from krt_traffic.recorder.timeline import Timeline, micros

if TYPE_CHECKING:
    from pathlib import Path


def test_timeline_after_an_earlier_recorder_begins_with_a_gap(tmp_path: Path) -> None:
    first = Timeline(tmp_path, "r1")
    first.write("recorder", "started", "recorder", at=T0_MICROS)
    Timeline(tmp_path, "r2")
    gap = recorded(tmp_path)[-1]
    assert gap["event"] == "gap"
    assert gap["detail"]["from"] == T0_MICROS


def test_gap_below_a_second_is_not_recorded(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path, "r1")
    timeline.gap("pods", 0, 1_000_000)
    assert timeline.counts == {"events": 0, "gaps": 0}


def test_micros_of_a_time_of_the_api_keeps_its_fraction() -> None:
    assert micros(T0) == T0_MICROS
    assert micros("2026-11-21T04:03:19.123456Z") == T0_MICROS + 123_456
