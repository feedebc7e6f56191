"""Compares evidence in the embedded object store with evidence in a folder, on this machine.

Puts and flushes of a ledger until they are durable, and the scoring of a generated history. Store,
folder and clients share the machine and its disk; a network comes on top. With --sync-ms, every
sync of folder and store takes that much longer, as on a slower disk: strace delays the system call.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import pyarrow.parquet as pq
from tests.contract.store.server import KEY, SECRET, Server, program

from bench.scoring.__main__ import MILLION, cache, history
from bench.store import puts, scoring
from krt_cli import sample
from krt_contract.bundle import Bundle
from krt_contract.stores.settings import ACCESS_KEY, SECRET_KEY


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["puts", "scoring"], help="both if not given")
    parser.add_argument("--turns", type=int, default=300, help="of each put and flush (300)")
    parser.add_argument("--sync-ms", type=float, help="milliseconds added to each sync of a put")
    parser.add_argument("--millions", type=float, default=1, help="million sends to score (1)")
    parser.add_argument("--rounds", type=int, default=3, help="of each way to score (3)")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    if options.sync_ms is not None:
        put_with_slow_syncs(options.sync_ms, options.turns)
    os.environ |= {ACCESS_KEY: KEY, SECRET_KEY: SECRET}
    # In the cache, which is on a disk: a temporary folder may be in memory.
    with tempfile.TemporaryDirectory(dir=cache(), prefix="store-") as name:
        server = Server(Path(name) / "objects", program())
        server.start()
        try:
            if options.what != "scoring":
                # Rows of a real run: the times of generated ones take next to no bytes.
                sample.unpack(Path(name) / "sample")
                ledger = pq.read_table(Bundle(Path(name) / "sample").table("produce"))
                puts.measure(Path(name), server.store(), ledger, options.turns)
            if options.what != "puts":
                folder, _ = history(int(options.millions * MILLION))
                variables = server.settings().variables()
                scoring.compare(folder, server.store(), variables, options.rounds, options.cores)
        finally:
            server.kill()


def put_with_slow_syncs(milliseconds: float, turns: int) -> NoReturn:
    """Replace this process by one under strace that measures puts alone.

    Raises:
        SystemExit: there is no strace.
    """
    if not (strace := shutil.which("strace")):
        sys.exit("--sync-ms needs strace, which is not on PATH; apt-get install strace")
    calls = "fsync,fdatasync"
    delay = f"inject={calls}:delay_exit={milliseconds * 1000:.0f}"
    traced = ("-f", "--seccomp-bpf", "-qq", "-o", os.devnull, "-e", f"trace={calls}", "-e", delay)
    own = (sys.executable, "-m", "bench.store", "puts", "--turns", str(turns))
    os.execv(strace, [strace, *traced, *own])  # noqa: S606 - its arguments are made here


if __name__ == "__main__":
    main()
