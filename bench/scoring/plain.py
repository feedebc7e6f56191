"""What Kafka's system tests ask of a run, in plain Python: was all that was acked consumed?

Written from the published rule of ``validate_delivery``: read the JSON lines of producers and
consumers, take the difference of the two sets of values as missing, and what was consumed more
often than once as duplicates, which an idempotent producer must not have caused.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.scoring.lines import ACKED, CONSUMED


def values(path: Path, event: str) -> list[str]:
    """Return the values of every line of an event, in order."""
    found = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            if data["name"] == event:
                found.append(data["value"])
    return found


def validate(folder: Path) -> dict[str, int | bool]:
    """Return the verdict and what it rests on."""
    acked = values(folder / ACKED, "producer_send_success")
    consumed = values(folder / CONSUMED, "record_data")
    once = set(consumed)
    missing = set(acked) - once
    duplicates = len(consumed) - len(once)
    return {
        "acked": len(acked),
        "consumed": len(consumed),
        "missing": len(missing),
        "duplicates": duplicates,
        "success": not missing and not duplicates,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(validate(Path(sys.argv[1]))) + "\n")
