"""Durations read and shown."""

from __future__ import annotations

import pytest

from krt_scoring import durations

S = 1_000_000


@pytest.mark.parametrize(
    ("micros", "text"),
    [(7, "7 µs"), (12_400, "12.4 ms"), (7_320_000, "7.32 s"), (125 * S, "2 m 05 s")],
)
def test_show_uses_the_largest_unit(micros: int, text: str) -> None:
    assert durations.show(micros) == text
