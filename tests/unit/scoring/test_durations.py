"""Durations read and shown."""

from __future__ import annotations

import pytest

from krt_scoring import durations

S = 1_000_000


@pytest.mark.parametrize(
    ("text", "micros"),
    [("15s", 15 * S), ("500ms", 500_000), ("2m", 120 * S), ("1m30s", 90 * S), ("0s", 0)],
)
def test_parse_reads_durations_of_kubernetes(text: str, micros: int) -> None:
    assert durations.parse(text) == micros


@pytest.mark.parametrize("text", ["", "15", "s", "1 s", "-1s", "1.5s"])
def test_parse_of_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        durations.parse(text)


@pytest.mark.parametrize(
    ("micros", "text"),
    [(7, "7 µs"), (12_400, "12.4 ms"), (7_320_000, "7.32 s"), (125 * S, "2 m 05 s")],
)
def test_show_uses_the_largest_unit(micros: int, text: str) -> None:
    assert durations.show(micros) == text
