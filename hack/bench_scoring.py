"""Scores generated histories on local Spark and prints speed, memory and growth."""

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
from dataclasses import dataclass
from pathlib import Path

from hack import bench_history

POLL_S = 0.2
"""Seconds between looks at the processes' memory; their own high-water marks are read."""

KIB_PER_MIB = 1024


@dataclass(frozen=True)
class Result:
    """One scored history; ``records`` counts sends and deliveries."""

    sends: int
    seconds: float
    peak_mib: int
    verdict: str

    @property
    def rate(self) -> float:
        """Sends and deliveries scored in a second."""
        return 2 * self.sends / self.seconds


def cache() -> Path:
    """Return the folder of generated histories, outside the clone, by their generator's text."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    root = Path(os.environ.get("KRT_CACHE") or f"{home}/krt")
    text = Path(bench_history.__file__).read_bytes()
    return root / f"bench-scoring-{hashlib.sha256(text).hexdigest()[:12]}"


def history(sends: int) -> Path:
    """Return the bundle with that many sends, generated where it is not there yet."""
    final = cache() / str(sends)
    if not final.exists():
        started = time.monotonic()
        partial = final.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        bench_history.generate(partial, sends)
        partial.rename(final)
        took = time.monotonic() - started
        sys.stdout.write(f"generated {sends:,} sends in {took:.0f} s: {final}\n")
    return final / bench_history.BUNDLE


def high_water(pid: int) -> dict[int, int]:
    """Return pid → peak resident KiB of a process and its descendants."""
    found: dict[int, int] = {}
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError, StopIteration):
            status = Path(f"/proc/{one}/status").read_text(encoding="utf-8").splitlines()
            found[one] = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
            for task in Path(f"/proc/{one}/task").iterdir():
                children = (task / "children").read_text(encoding="utf-8")
                waiting += [int(child) for child in children.split()]
    return found


def score(sends: int, cores: int, memory: str | None) -> Result:
    """Score one history in a process of its own, from its files to the verdict."""
    bundle = history(sends)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scorecard.json"
        command = [sys.executable, "-m", "krt_scoring.cli", str(bundle), "--out", str(out)]
        command += ["--cores", str(cores), *(["--driver-memory", memory] if memory else [])]
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 (our own words)
        peaks: dict[int, int] = {}
        while process.poll() is None:
            for pid, peak in high_water(process.pid).items():
                peaks[pid] = max(peak, peaks.get(pid, 0))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
        seconds = time.monotonic() - started
        if process.returncode:
            sys.exit(f"krt-score ended with {process.returncode} on {sends:,} sends")
        verdict = json.loads(out.read_text(encoding="utf-8"))["verdict"]
    return Result(sends, seconds, sum(peaks.values()) // KIB_PER_MIB, verdict)


def main() -> None:
    """Score each size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--driver-memory", help="heap of the Spark process (by size if not given)")
    options = parser.parse_args()
    sizes = [int(millions * 1_000_000) for millions in options.millions]
    for sends in sizes:
        history(sends)
    head = ("sends", "seconds", "records/s", "peak MiB", "time per record, first = 1", "verdict")
    sys.stdout.write("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|\n")
    first: Result | None = None
    for sends in sizes:
        found = score(sends, options.cores, options.driver_memory)
        first = first or found
        growth = first.rate / found.rate
        row = (
            f"{sends:,}",
            f"{found.seconds:.1f}",
            f"{found.rate:,.0f}",
            f"{found.peak_mib:,}",
            f"{growth:.2f}",
            found.verdict,
        )
        sys.stdout.write("| " + " | ".join(row) + " |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
