from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krt_contract.durations import (
    MAX_LENGTH,
    MIN_LENGTH,
    PATTERN,
    Duration,
)
from krt_contract.errors import ContractError


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0s", 0),
        ("2h", 7_200_000_000),
        ("500ms", 500_000),
        ("20s", 20_000_000),
        ("1m30s", 90_000_000),
        ("1h", 3_600_000_000),
        ("1h2m3s4ms", 3_723_004_000),
        ("90m", 5_400_000_000),
    ],
)
def test_parse_of_each_unit_gives_microseconds(text: str, micros: int) -> None:
    assert Duration.parse(text).micros == micros


@pytest.mark.parametrize(
    "text", ["", "5", "s", "-5s", "1.5s", "5 s", "5S", "1s1m", "1us", "٣s", "1s\n", 20, None]
)
def test_parse_of_another_text_names_the_remedy(text: object) -> None:
    with pytest.raises(ContractError, match="write it like 20s"):
        Duration.parse(text)


@given(st.integers(min_value=0, max_value=999 * 3_600_000))
def test_text_of_any_duration_is_read_back_and_fits_the_schema(millis: int) -> None:
    duration = Duration(millis * 1000)
    text = str(duration)
    assert Duration.parse(text) == duration
    assert MIN_LENGTH <= len(text) <= MAX_LENGTH
    assert re.match(PATTERN, text)
