"""Scores generated histories on local Spark, beside the plain-Python comparison of the same.

What a history holds is known by count (``history.Planted``), and the scorecard must count
the same, so that nothing is gained by not looking.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.processes import peak_kib
from bench.scoring import lines, tables
from bench.scoring.history import BUNDLE, Planted
from krt_contract.bundle import Bundle
from krt_scoring.engine.session import PLAIN_ENV, Shortcut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

POLL_S = 0.2
"""Seconds between looks at the processes; their own high-water marks and clocks are read."""

KIB_PER_MIB = 1024
TICK = os.sysconf("SC_CLK_TCK")
USER, SYSTEM = 11, 12
"""Places of the processor times behind the name in /proc/PID/stat."""

MILLION = 1_000_000
LINES = "lines"

READERS = ("__main__.py", "cluster.py", "plain.py", "series.py", "shortcuts.py")
"""Modules that only read a history: a change of them makes no other one."""


@dataclass(frozen=True)
class Cost:
    """What a process and its descendants took.

    Attributes:
        seconds: from start to end.
        cpu: processor seconds, all cores.
        peak_mib: sum of their peak resident memories.
        output: what it printed.
    """

    seconds: float
    cpu: float
    peak_mib: int
    output: str


@dataclass
class _Watched:
    """High-water marks of processes, by pid: KiB resident, ticks of processor time."""

    memory: dict[int, int] = field(default_factory=dict)
    ticks: dict[int, int] = field(default_factory=dict)

    def record(self, pid: int) -> None:
        """Record what a process and its descendants have taken so far."""
        with contextlib.suppress(OSError):
            self.memory[pid] = max(peak_kib(pid), self.memory.get(pid, 0))
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            self.ticks[pid] = int(stat[USER]) + int(stat[SYSTEM])
            for task in Path(f"/proc/{pid}/task").iterdir():
                for child in (task / "children").read_text(encoding="utf-8").split():
                    self.record(int(child))


def measure(command: list[str]) -> Cost:
    """Run a command to its end.

    Raises:
        SystemExit: it failed.
    """
    watched = _Watched()
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out)  # noqa: S603 - our own command
        while process.poll() is None:
            watched.record(process.pid)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
        seconds = time.monotonic() - started
        if process.returncode:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        out.seek(0)
        text = out.read()
    cpu = sum(watched.ticks.values()) / TICK
    return Cost(seconds, cpu, sum(watched.memory.values()) // KIB_PER_MIB, text)


def cache() -> Path:
    """Return the folder of generated histories, outside the clone, by their generator's text.

    It is made where it is not there.
    """
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    root = Path(os.environ.get("KRT_CACHE") or f"{home}/krt")
    modules = sorted(
        path for path in Path(__file__).parent.glob("*.py") if path.name not in READERS
    )
    text = b"".join(path.read_bytes() for path in modules)
    folder = root / f"bench-scoring-{hashlib.sha256(text).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def history(sends: int) -> tuple[Path, float]:
    """Return the folder of a history, and the seconds it took where it was not there yet."""
    started = time.monotonic()

    def make(partial: Path) -> None:
        tables.generate(partial, sends)
        lines.write(Bundle(partial / BUNDLE), partial / LINES)

    return cached(str(sends), make), time.monotonic() - started


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder of the cache, made where it is not there."""
    final = cache() / name
    if not final.exists():
        partial = final.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        make(partial)
        partial.rename(final)
    return final


def score(folder: Path, cores: int, driver_memory: str | None = None) -> tuple[Cost, bytes]:
    """Score a history in a process of its own, from its files to the scorecard.

    Args:
        folder: of the history.
        cores: worker threads.
        driver_memory: heap of the Spark process; None: by size.

    Returns:
        What it took, and the scorecard as it was written.
    """
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "scorecard.json"
        command = [sys.executable, "-m", "krt_scoring.cli", str(folder / BUNDLE)]
        command += ["--out", str(out), "--cores", str(cores)]
        command += ["--driver-memory", driver_memory] if driver_memory else []
        return measure(command), out.read_bytes()


def plain(folder: Path) -> tuple[Cost, dict[str, Any]]:
    """Run the plain comparison in a process of its own, from its files to its verdict."""
    cost = measure([sys.executable, "-m", "bench.scoring.plain", str(folder / LINES)])
    return cost, json.loads(cost.output)


def differences(sends: int, card: dict[str, Any], compared: dict[str, Any] | None) -> list[str]:
    """Return where a scorecard, or the plain comparison, is not what was planted."""
    planted = Planted(sends)
    anomalies = {name: item["count"] for name, item in card["anomalies"].items() if item["count"]}
    outcomes = {name: card["ledger"][name] for name in planted.outcomes}
    reasons = [reason["code"] for reason in card["inconclusiveReasons"]]
    pairs: list[tuple[str, Any, Any]] = [
        ("anomalies", planted.expected, anomalies),
        ("ledger", planted.outcomes, outcomes),
        ("verdict", "Failed", card["verdict"]),
        ("inconclusiveReasons", [], reasons),
    ]
    if compared is not None:
        missing = planted.lost + planted.unseen
        pairs.append(("plain comparison", missing, compared["missing"]))
    return [f"{name}: {found}, planted: {known}" for name, known, found in pairs if known != found]


def medians(costs: Sequence[Cost]) -> tuple[str, str, str]:
    """Return the cells of several runs of one thing: median times, and the greatest memory."""
    return (
        f"{median(cost.seconds for cost in costs):.1f}",
        f"{median(cost.cpu for cost in costs):.1f}",
        str(max(cost.peak_mib for cost in costs)),
    )


def write_head(columns: Sequence[str]) -> None:
    """Write the first two lines of a Markdown table."""
    write_row(columns)
    sys.stdout.write("|---" * len(columns) + "|\n")


def write_row(cells: Sequence[str]) -> None:
    """Write a line of a Markdown table at once: the next one may take minutes."""
    sys.stdout.write("| " + " | ".join(cells) + " |\n")
    sys.stdout.flush()


HEAD = (
    "sends",
    "deliveries",
    "generate s",
    "score s",
    "CPU s",
    "records/s",
    "peak MiB",
    "time per record, first = 1",
    "plain s",
    "plain peak MiB",
    "score / plain",
)


def main() -> None:
    """Score each size and print the table; exit 1 where a scorecard is not what was planted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "millions", type=float, nargs="*", default=[1, 3, 10], help="million sends (1 3 10)"
    )
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--driver-memory", help="heap of the Spark process (by size if not given)")
    parser.add_argument("--no-plain", action="store_true", help="leave the plain comparison out")
    options = parser.parse_args()
    # Each scoring costs the same, whether this machine has an archive of classes or not.
    os.environ.setdefault(PLAIN_ENV, Shortcut.CLASS_DATA)
    write_head(HEAD)
    first, wrong = 0.0, False
    for millions in options.millions:
        sends = int(millions * MILLION)
        folder, generated = history(sends)
        cost, written = score(folder, options.cores, options.driver_memory)
        card = json.loads(written)
        compared = None
        beside = ("", "", "")
        if not options.no_plain:
            other, compared = plain(folder)
            ratio = f"{cost.seconds / other.seconds:.2f}"
            beside = (f"{other.seconds:.1f}", str(other.peak_mib), ratio)
        records = card["ledger"]["attempted"] + card["ledger"]["deliveries"]
        first = first or cost.seconds / records
        row = (
            f"{card['ledger']['attempted']:,}",
            f"{card['ledger']['deliveries']:,}",
            f"{generated:.1f}",
            f"{cost.seconds:.1f}",
            f"{cost.cpu:.1f}",
            f"{records / cost.seconds:,.0f}",
            str(cost.peak_mib),
            f"{cost.seconds / records / first:.2f}",
            *beside,
        )
        write_row(row)
        for line in differences(sends, card, compared):
            wrong = True
            sys.stderr.write(f"{sends:,} sends: {line}\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
