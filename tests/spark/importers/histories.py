"""What the two tools print of a small correct history, to be changed before it is written.

Two producers with a value prefix each send to two partitions by turns; a member of group g reads
both, then gives partition 1 to a second member.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

T0 = 1_800_000_000_000
RECORDS = 120
PRODUCERS = ("1", "2")
POLL = 7
FIRST, SECOND = "consumer-g-1", "consumer-g-2"

Event = dict[str, Any]
Files = dict[str, list[Event]]


def position(partition: int, **more: Any) -> Event:
    return {"topic": "foo", "partition": partition, **more}


def correct() -> Files:
    """Return file stem → events of a history without a blemish."""
    files: Files = {}
    logs: dict[int, list[Event]] = defaultdict(list)
    for producer in PRODUCERS:
        files[f"producer-{producer}"] = [{"timestamp": T0, "name": "startup_complete"}]
    for index in range(RECORDS):
        for producer in PRODUCERS:
            log = logs[index % 2]
            record = {"key": None, "value": f"{producer}.{index}", "offset": len(log)}
            log.append(record)
            sent = {"timestamp": T0 + 10 + index, "name": "producer_send_success"}
            files[f"producer-{producer}"].append({**sent, **position(index % 2, **record)})
    for producer in PRODUCERS:
        end = T0 + 10 + RECORDS
        files[f"producer-{producer}"] += [
            {"timestamp": end, "name": "shutdown_complete"},
            {
                "timestamp": end,
                "name": "tool_data",
                "sent": RECORDS,
                "acked": RECORDS,
                "target_throughput": 1000,
                "avg_throughput": 987.5,
            },
        ]
    half = RECORDS // 2
    one, two = Member(T0 + 5), Member(T0 + 400)
    one.assigned(0, 1)
    one.read(logs, {0: (0, half), 1: (0, half)})
    one.revoked(0, 1)
    one.at = T0 + 401
    one.assigned(0)
    two.assigned(1)
    one.read(logs, {0: (half, RECORDS)})
    two.read(logs, {1: (half, RECORDS)})
    for stem, member in ((FIRST, one), (SECOND, two)):
        member.revoked(0 if member is one else 1)
        member.tell("shutdown_complete")
        files[stem] = member.events
    return files


class Member:
    """Prints what a VerifiableConsumer prints."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.events: list[Event] = []
        self.tell("startup_complete")

    def tell(self, name: str, **more: Any) -> None:
        self.at += 1
        self.events.append({"timestamp": self.at, "name": name, **more})

    def assigned(self, *partitions: int) -> None:
        self.tell("partitions_assigned", partitions=[position(p) for p in partitions])

    def revoked(self, *partitions: int) -> None:
        self.tell("partitions_revoked", partitions=[position(p) for p in partitions])

    def read(self, logs: dict[int, list[Event]], spans: dict[int, tuple[int, int]]) -> None:
        for partition, (low, high) in spans.items():
            for start in range(low, high, POLL):
                part = logs[partition][start : min(start + POLL, high)]
                for record in part:
                    self.tell("record_data", **position(partition, **record))
                end = part[-1]["offset"]
                summary = position(
                    partition, count=len(part), minOffset=part[0]["offset"], maxOffset=end
                )
                self.tell("records_consumed", count=len(part), partitions=[summary])
                commit = position(partition, offset=end + 1)
                self.tell("offsets_committed", offsets=[commit], success=True)


def drop_delivery(files: Files, value: str) -> None:
    """Take a record out of every delivery of it, and out of the sums of its polls."""
    for stem in (FIRST, SECOND):
        kept: list[Event] = []
        dropped = 0
        for event in files[stem]:
            if event["name"] == "record_data" and event["value"] == value:
                dropped += 1
                continue
            if event["name"] == "records_consumed" and dropped:
                (summary,) = event["partitions"]
                event["partitions"] = [{**summary, "count": summary["count"] - dropped}]
                event["count"] -= dropped
                dropped = 0
            kept.append(event)
        files[stem] = kept


def end_early(files: Files, polls: int = 1) -> None:
    """Take the last polls of every consumer away, as if it had been stopped before them."""
    for stem in (FIRST, SECOND):
        events = files[stem]
        ends = [n for n, event in enumerate(events) if event["name"] == "offsets_committed"]
        files[stem] = events[: ends[-1 - polls] + 1] + events[ends[-1] + 1 :]


def write(folder: Path, files: Files, settings: dict[str, Any] | None = None) -> Path:
    """Write the files as the tools do, a line an event."""
    folder.mkdir(parents=True, exist_ok=True)
    for stem, events in files.items():
        text = "".join(json.dumps(event) + "\n" for event in events)
        (folder / f"{stem}.jsonl").write_text(text)
    if settings is not None:
        (folder / "history.json").write_text(json.dumps(settings))
    return folder
