from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from krt_operator.api.status import Status
from krt_operator.api.times import format_time, from_micros, to_micros

MOMENT = datetime(2026, 11, 21, 4, 3, 19, 123456, tzinfo=UTC)


def test_format_time_has_six_decimals_in_utc() -> None:
    assert format_time(MOMENT) == "2026-11-21T04:03:19.123456Z"
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=2)))
    assert format_time(elsewhere) == "2026-11-21T04:03:19.123456Z"
    assert format_time(MOMENT.replace(microsecond=0)) == "2026-11-21T04:03:19.000000Z"


@given(st.integers(min_value=0, max_value=4_102_444_800_000_000))
def test_micros_round_trip_is_exact(micros: int) -> None:
    assert to_micros(from_micros(micros)) == micros


def test_time_without_zone_is_refused() -> None:
    with pytest.raises(ValidationError, match="no time zone"):
        Status.model_validate({"startTime": "2026-11-21T04:03:19"})
