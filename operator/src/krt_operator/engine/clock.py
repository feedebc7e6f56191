"""The one source of time."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Now, aware, UTC."""
        return datetime.now(tz=UTC)
