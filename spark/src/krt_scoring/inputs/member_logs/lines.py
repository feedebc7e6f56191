"""Lines of the members' logs as the recorder wrote them: one file a pod, Kubernetes' time first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def lines(logs: Path, word: str) -> Iterator[str]:
    """Yield every line that contains a word.

    Args:
        logs: folder of the logs; need not be there.
        word: what to look for.
    """
    for path in sorted(logs.glob("*.log")) if logs.is_dir() else ():
        with path.open(encoding="utf-8", errors="replace") as text:
            yield from (line for line in text if word in line)


def written_at(line: str) -> int | None:
    """Return Kubernetes' timestamp of a line in UTC µs; None where there is none."""
    seconds, _, fraction = line.partition(" ")[0].rstrip("Z").partition(".")
    try:
        moment = datetime.fromisoformat(seconds).replace(tzinfo=UTC)
        return int(moment.timestamp()) * 1_000_000 + int(fraction[:6].ljust(6, "0"))
    except ValueError:
        return None
