from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krt_operator.api.durations import (
    MAX_LENGTH,
    MIN_LENGTH,
    PATTERN,
    Duration,
)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0s", 0),
        ("500ms", 500_000),
        ("20s", 20_000_000),
        ("1m30s", 90_000_000),
        ("1h", 3_600_000_000),
        ("1h2m3s4ms", 3_723_004_000),
        ("90m", 5_400_000_000),
    ],
)
def test_duration_text_is_parsed(text: str, micros: int) -> None:
    assert Duration.parse(text).micros == micros


@pytest.mark.parametrize("text", ["", "5", "s", "-5s", "1.5s", "5 s", "5S", "1s1m", "1us", "٣s"])
def test_duration_with_wrong_text_names_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 20s"):
        Duration.parse(text)


@given(st.integers(min_value=0, max_value=999 * 3_600_000))
def test_duration_written_reads_back_and_matches_the_schema(millis: int) -> None:
    duration = Duration(millis * 1000)
    text = str(duration)
    assert Duration.parse(text) == duration
    assert MIN_LENGTH <= len(text) <= MAX_LENGTH
    assert re.match(PATTERN, text)
