"""Points in time: RFC 3339 with six decimals in objects, UTC microseconds in evidence."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, PlainSerializer, WithJsonSchema

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_time(at: datetime) -> str:
    """Return `2026-11-21T04:03:19.123456Z`."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def to_micros(at: datetime) -> int:
    """Return UTC microseconds since the epoch."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """Return the time of UTC microseconds since the epoch."""
    return _EPOCH + timedelta(microseconds=micros)


def _aware(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} has no time zone; times in objects end in Z")
    return at.astimezone(UTC)


Time = Annotated[
    datetime,
    AfterValidator(_aware),
    PlainSerializer(format_time, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": 32}),
]
"""A time in a Kubernetes object, UTC."""
