"""A bundle in which much went wrong: more of most anomalies than a scorecard has examples of.

A bundle of a correct Kafka, spoilt stretch by stretch, each ``SPOILT`` times. Its clocks are so
coarse that many things happen at one instant, so that times alone put nothing in order.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.spark.job import bundles
from tests.spark.job.bundles import GROUP, SECOND, T0, Rows, Scenario, event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPOILT = 40
"""Above the 32 examples an anomaly has at most."""

WHERE = 1
"""The partition that is spoilt; another one keeps its stall."""

TICK = 20_000
"""µs by which clocks step: ten sends and what becomes of them."""

CLOCKS = ("done_at", "done_mono", "delivered_at", "delivered_mono", "processed_at")

LATE = 1_000_000
"""Added to the count of what a member did after everything else."""

Row = dict[str, Any]


class _Spoiling:
    """The tables of a bundle while they are spoilt; offsets are those of the partition."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.tables = rows, rows.tables
        here = {name: self._here(name) for name in ("produce", "log", "consume")}
        self.sent, self.held, self.got = here["produce"], here["log"], here["consume"]
        self.end = len(self.held)

    def _here(self, table: str) -> dict[int, Row]:
        return {row["offset"]: row for row in self.tables[table] if row["partition"] == WHERE}

    def drop(self, table: str, rows: list[Row]) -> None:
        gone = {id(row) for row in rows}
        self.tables[table] = [row for row in self.tables[table] if id(row) not in gone]

    def stretch(self, number: int, step: int = 1) -> range:
        """Return the offsets of a stretch; stretches are 200 apart."""
        return range(200 * number, 200 * number + SPOILT * step, step)

    def spoil(self) -> None:
        self.drop("log", [self.held[offset] for offset in self.stretch(0)])
        self.drop("consume", [self.got[offset] for offset in self.stretch(1, 2)])
        for number, offset in enumerate(self.stretch(2)):
            copy = self.held[offset] | {"offset": self.end + number}
            self.tables["log"].append(copy)
        for offset in self.stretch(3):
            self.sent[offset]["offset"] += 1_000
        for offset in self.stretch(4):
            self.held[offset]["checksum_ok"] = False
        for offset in self.stretch(5):
            self.sent[offset] |= {"outcome": "failed", "offset": None, "error": "_QUEUE_FULL"}
        for number, offset in enumerate(self.stretch(6)):
            again = self.got[offset] | {"event_seq": LATE + number, "poll": LATE + number}
            self.tables["consume"].append(again)
        for number, offset in enumerate(self.stretch(7, 2)):
            one, other = self.got[offset], self.got[offset + 1]
            one["event_seq"], other["event_seq"] = other["event_seq"], one["event_seq"]
            # Half of the pairs in one poll.
            one["poll"], other["poll"] = other["poll"], (one if number % 2 else other)["poll"]
        for offset in self.stretch(8, 4):
            self.swap_sends(offset, offset + 2)
        self.commit_ahead()
        self.rewind()

    def swap_sends(self, one: int, other: int) -> None:
        """Let two sends of a producer lie in the log the other way round."""
        who = ("producer", "producer_incarnation", "seq")
        for rows in (self.held, self.got):
            first = {name: rows[one][name] for name in who}
            rows[one] |= {name: rows[other][name] for name in who}
            rows[other] |= first
        sent = self.sent[one], self.sent[other]
        sent[0]["offset"], sent[1]["offset"] = other, one

    def commit_ahead(self) -> None:
        """Commit above what was never handed out."""
        self.tables["consumer_events"] += [
            bundles.member_event(
                2 * LATE + number, T0 + 13 * SECOND, "committed", WHERE, 1_000 + number
            )
            for number in range(SPOILT)
        ]

    def rewind(self) -> None:
        """Let a member begin, again and again, below what was committed."""
        who = {"consumer": "c-1", "incarnation": "uid-c-1", "group": GROUP, "generation": None}
        for number in range(SPOILT):
            at = T0 + 14 * SECOND + number * TICK
            for position, name in enumerate(("assigned", "revoked")):
                told = bundles.member_event(2 * number + position, at, name, WHERE, 900)
                self.tables["consumer_events"].append(told | who)

    def settle(self) -> None:
        """Count anew what counts itself, and step the clocks."""
        member = [
            row
            for table in ("consume", "consumer_events")
            for row in self.tables[table]
            if row["consumer"] == "c-0"
        ]
        last = {"drained": 3 * LATE, "closed": 4 * LATE}
        member.sort(key=lambda row: row["event_seq"] + last.get(row.get("event", ""), 0))
        for number, row in enumerate(member):
            row["event_seq"] = number
        for row in self.tables["produce"] + self.tables["consume"]:
            for name in CLOCKS:
                if name in row:
                    row[name] = -(-row[name] // TICK) * TICK
        for close in self.tables["producer_summary"]:
            sends = self.tables["produce"]
            own = [row["outcome"] for row in sends if row["producer"] == close["producer"]]
            close |= {name: own.count(name) for name in ("acked", "failed")}
        for bound in self.tables["log_end_offsets"]:
            held = [r for r in self.tables["log"] if r["partition"] == bound["partition"]]
            end = max(row["offset"] for row in held) + 1
            bound |= {"high_watermark": end, "last_stable": end, "read_to": end}
            bound["rows_read"] = len(held)

    def shrink(self) -> Iterator[Any]:
        """Tell of an ISR that was too small while sends were acked."""
        for at, isr, version in ((2, [1], 1), (4, [0, 1, 2], 2)):
            state = {"leader": WHERE, "leader_epoch": 0, "isr": isr, "controller_epoch": 1}
            mtime = T0 + at * SECOND
            yield event(
                at * SECOND, "partition", "state", "foo-1", **state, version=version, mtime=mtime
            )


def rows() -> Rows:
    """Return the rows of the bundle."""
    made = bundles.simulate(Scenario())
    spoiling = _Spoiling(made)
    spoiling.spoil()
    spoiling.settle()
    # The second reader was a pod of the run too.
    pod = bundles.event(-SECOND, "pod", "added", "t-uid-c-1", uid="uid-c-1", component="consumer")
    return Rows(made.tables, [*made.events, pod, *spoiling.shrink()])


def write(root: Path, *, turned: bool = False) -> Path:
    """Write the bundle; turned, in other pieces, each in another order, under other names."""
    made = rows()
    if turned:
        chance = random.Random(11)  # noqa: S311 (order, not secrecy)
        for table in made.tables.values():
            chance.shuffle(table)
        chance.shuffle(made.events)
    bundle = bundles.write(root, made, bundles.plan(Scenario(readers=2)), files=5 if turned else 1)
    if turned:
        files = sorted(bundle.rglob("*.parquet"))
        chance.shuffle(files)
        for number, path in enumerate(files):
            path.rename(path.with_name(f"{number}.parquet"))
    return bundle
