"""The one source of time, and its two forms in objects and evidence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Now, aware, UTC."""
        return datetime.now(tz=UTC)


def micros(at: datetime) -> int:
    """Microseconds since the epoch, the form of evidence."""
    return (at - EPOCH) // timedelta(microseconds=1)


def from_micros(at: int) -> datetime:
    """The inverse of `micros`."""
    return EPOCH + timedelta(microseconds=at)


def rfc3339(at: datetime) -> str:
    """RFC 3339 with six decimals and Z, the form of Kubernetes objects."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> datetime:
    """The inverse of `rfc3339`; also reads what Kubernetes writes without decimals."""
    return datetime.fromisoformat(text)
