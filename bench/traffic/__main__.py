"""Records a second of our producer, ledger on, beside those of two producers of Kafka's own.

ProducerPerformance (kafka-producer-perf-test) sends one value again and again and keeps no record
of it. VerifiableProducer, which Kafka's system tests use, sends a counter of a few bytes (its size
cannot be set) and writes a JSON line for each acknowledgement. All write to the same broker, in
turn, with the same acks, batch.size, linger.ms and number of requests in flight.

Ours is the traffic image's command, set to send as fast as it can (recordsPerSecond 0): each send
has its unique payload with a checksum, its delivery report and its row in the ledger. Its rate is
what was acknowledged, over first send to last acknowledgement. The others send as many as ours did
last. A round that is not counted comes first. In the others the order changes, so that three
producers have had each order after six rounds: which one runs before has an effect.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.contract.traffic.local_kafka import LocalKafka, jars, missing

from bench.rounds import order
from bench.traffic.tools import (
    PARTITIONS,
    TOPIC,
    Cost,
    Load,
    run_ours,
    run_performance,
    run_verifiable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OURS, BESIDE = "ours", "ours, other checkout"
PERFORMANCE, VERIFIABLE = "ProducerPerformance", "VerifiableProducer"
IN_FLIGHT = "5"
KEPT_BYTES = 256 << 20
"""Retention of each partition of the topic, so that rounds do not fill the disk."""


Runner = Callable[[int, Path], Cost]
"""Runs a producer: takes how many records it is to send (ours: for how long, by its options), and
a folder for what it writes."""


def runners(kafka: LocalKafka, load: Load, options: argparse.Namespace) -> dict[str, Runner]:
    """Return the producers that take part, ours first."""

    def ours(folder: Path, checkout: Path | None = None) -> Cost:
        return run_ours(kafka, load, options.seconds, folder, checkout)

    found: dict[str, Runner] = {OURS: lambda _, folder: ours(folder / "ours")}
    if options.beside is not None:
        found[BESIDE] = lambda _, folder: ours(folder / "beside", options.beside)
    found[PERFORMANCE] = partial(run_performance, kafka, load)
    found[VERIFIABLE] = partial(run_verifiable, kafka, load)
    return found


def run_round(
    producers: Mapping[str, Runner], names: Sequence[str], records: int, folder: Path
) -> dict[str, Cost]:
    """Return the cost of each producer, run one after the other.

    Args:
        producers: those that take part, ours among them.
        names: their order.
        records: how many the others send until ours has run.
        folder: for what they write; it is made.
    """
    folder.mkdir()
    costs: dict[str, Cost] = {}
    for name in names:
        costs[name] = producers[name](costs[OURS].records if OURS in costs else records, folder)
    return {name: costs[name] for name in producers}


def run_rounds(
    producers: Mapping[str, Runner], rounds: int, root: Path
) -> Iterator[dict[str, Cost]]:
    """Yield the costs of each round after one that does not count, in which ours runs first.

    Args:
        producers: those that take part, ours first.
        rounds: how many are counted.
        root: a folder for each round is made in it.
    """
    names = list(producers)
    costs = run_round(producers, names, 0, root / "uncounted")
    for number in range(rounds):
        records = costs[OURS].records
        costs = run_round(producers, order(names, number), records, root / f"round-{number}")
        yield costs


def spread(values: Sequence[float], form: str) -> str:
    """Return minimum, median and maximum."""
    return " / ".join(format(value, form) for value in (min(values), median(values), max(values)))


def table(rounds: Sequence[dict[str, Cost]]) -> list[str]:
    """Return the lines of a table with one row for each producer: min / median / max of the rounds.

    A ratio compares two producers of the same round.
    """
    head = (
        f"{len(rounds)} rounds, min / median / max",
        "records/s",
        "µs CPU a record",
        "highest peak MiB",
        "ours / it, records/s",
        "ours / it, CPU",
    )
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in rounds[0]:
        costs = [one[name] for one in rounds]
        cells = [
            spread([cost.rate for cost in costs], ",.0f"),
            spread([cost.cpu for cost in costs], ".1f"),
            f"{max(cost.peak for cost in costs):.0f}",
            spread([one[OURS].rate / one[name].rate for one in rounds], ".2f"),
            spread([one[OURS].cpu / one[name].cpu for one in rounds], ".2f"),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="length of our rounds")
    parser.add_argument("--acks", default="all", choices=["all", "1"])
    parser.add_argument("--size", type=int, default=200, help="bytes of a value")
    parser.add_argument("--batch", type=int, default=65536, help="batch.size")
    parser.add_argument("--linger", type=int, default=5, help="linger.ms")
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    parser.add_argument(
        "--beside",
        type=Path,
        help="another checkout of the repository, whose producer takes part in each round",
    )
    options = parser.parse_args()
    if (reason := missing()) is not None:
        raise SystemExit(f"no broker can be started: {reason}")
    settings = {
        "linger.ms": str(options.linger),
        "batch.size": str(options.batch),
        "max.in.flight.requests.per.connection": IN_FLIGHT,
    }
    load = Load(options.acks, options.size, settings)
    print(f"acks={load.acks} size={load.size} (VerifiableProducer: a counter) {settings}")
    rounds: list[dict[str, Cost]] = []
    with tempfile.TemporaryDirectory(prefix="krt-bench-") as name:
        kafka = LocalKafka(Path(name) / "kafka", jars(), heap="1g")
        try:
            kafka.start()
            kafka.create_topic(TOPIC, PARTITIONS, **{"retention.bytes": str(KEPT_BYTES)})
            producers = runners(kafka, load, options)
            for costs in run_rounds(producers, options.rounds, Path(name)):
                rounds.append(costs)
                print(
                    f"round {len(rounds)}: "
                    + ", ".join(f"{who} {cost.rate:,.0f}/s" for who, cost in costs.items()),
                    flush=True,
                )
        finally:
            kafka.stop()
    print("\n".join(table(rounds)))
    if options.json:
        numbers = [{who: asdict(cost) for who, cost in one.items()} for one in rounds]
        options.json.write_text(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main()
