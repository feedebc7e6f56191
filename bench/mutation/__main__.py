"""Alters each condition of the rules, one by one, and prints which alterations no test notices.

Mutants that `equivalent.toml` lists, since no history can show them, are judged too: one of them
that a test notices is listed wrongly.

What was judged is kept in build/mutation, so an interrupted run goes on where it stopped: a mutant
that a case noticed stays noticed as long as the rules and that case are the same, one that no test
noticed is judged again once the tests have changed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.side_by_side import side_by_side

from bench.mutation import equivalents
from bench.mutation.imports import SOURCES, digest_of_files, scorer_digest
from bench.mutation.judging import Bench
from bench.mutation.mutants import mutants
from bench.mutation.suites import TABLES, UNIT
from bench.scoring.__main__ import write_head, write_row
from krt_scoring.engine import jvm, session

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from pyspark.sql import SparkSession

    from bench.mutation.judging import Judgement
    from bench.mutation.mutants import Mutant

RULES = ("anomalies", "allowances")
NOT_RULES = frozenset(
    {
        *("__init__", "context", "detection", "driver_findings", "example_history", "registry"),
        *("results", "schema", "surviving_replicas"),
    }
)
"""Modules beside the rules: what is shown of a finding, how it is counted, and lists."""

TESTS = (TABLES / "anomalies", TABLES / "allowances", UNIT)
STORE = Path("build/mutation/judged.jsonl")
MEMORY = "4g"
"""Heap of the session: with 1 GiB, half of the time went into collecting what the cached histories
leave no room for."""
HEAD = ("module", "mutants", "equivalent", "noticed", "share")


@dataclass
class Tally:
    """What became of the mutants of a module.

    Attributes:
        noticed: how many a test noticed.
        equivalent: how many are listed as such.
        wrong: those of them that a test noticed.
        missed: those that no test noticed.
        left: how many there was no time for.
    """

    noticed: int = 0
    equivalent: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    left: int = 0

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Mutants, equivalent ones, noticed ones, and the share of these among the others."""
        others = self.noticed + len(self.missed)
        share = f"{self.noticed / others:.1%}" if others else "-"
        return str(others + self.equivalent), str(self.equivalent), str(self.noticed), share


def rule_modules(names: list[str]) -> list[Path]:
    """Return the modules of the rules that are named, or all.

    Raises:
        SystemExit: there is no module of a name.
    """
    found = {
        path.stem: path
        for package in RULES
        for path in sorted((SOURCES / "krt_scoring" / package).glob("*.py"))
        if path.stem not in NOT_RULES
    }
    unknown = [name for name in names if name not in found]
    if unknown:
        sys.exit(f"no module of rules is called {', '.join(unknown)}; there are {', '.join(found)}")
    return [found[name] for name in names or found]


def digest(*folders: Path) -> str:
    """Return a digest of the code and the cases that folders contain."""
    files = (path for folder in folders for path in folder.rglob("*"))
    return digest_of_files(path for path in files if path.suffix in {".py", ".txt"})


class Store:
    """What was judged before, and still holds.

    Args:
        path: a file of a line for each judgement.
        cases: case → digest of its text.
        tests: digest of all tests.
    """

    def __init__(self, path: Path, cases: dict[str, str], tests: str) -> None:
        self._path, self._tests = path, tests
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._known = {
            (item["module"], item["text"]): item["noticedBy"]
            for item in map(json.loads, lines)
            if item["scorer"] == scorer_digest(item["module"])
            and (
                item["tests"] == tests
                or (item["digest"] and cases.get(item["noticedBy"]) == item["digest"])
            )
        }

    def get(self, module: str, mutant: Mutant) -> str | None:
        """Return what noticed a mutant; empty where nothing did, None where it was not judged."""
        return self._known.get((module, mutant.digest))

    def add(self, module: str, mutant: Mutant, judgement: Judgement) -> None:
        """Keep what became of a mutant."""
        self._known[module, mutant.digest] = judgement.noticed_by
        item = {
            "module": module,
            "text": mutant.digest,
            "scorer": scorer_digest(module),
            "noticedBy": judgement.noticed_by,
            "digest": judgement.digest,
            "tests": self._tests,
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(item) + "\n")


def judge(
    bench: Bench, store: Store, module: str, chosen: list[Mutant], end: float
) -> dict[Mutant, str | None]:
    """Return what noticed each mutant of a module, as `Store.get` does.

    Those that were not judged before are judged, until a time of `monotonic`.
    """
    found = {}
    for mutant in chosen:
        noticed_by = store.get(module, mutant)
        if noticed_by is None and time.monotonic() < end:
            judgement = bench.judge(module, mutant)
            store.add(module, mutant, judgement)
            noticed_by = judgement.noticed_by
        found[mutant] = noticed_by
    return found


def tally_of(judged: Mapping[Mutant, str | None], same: Container[int]) -> Tally:
    """Count what became of mutants.

    Args:
        judged: what noticed each, as `judge` returns it.
        same: numbers of the equivalent ones.
    """
    tally = Tally()
    for mutant, noticed_by in judged.items():
        if noticed_by is None:
            tally.left += 1
        elif mutant.number in same:
            tally.equivalent += 1
            tally.wrong += [f"{mutant} ({noticed_by})"] if noticed_by else []
        elif noticed_by:
            tally.noticed += 1
        else:
            tally.missed.append(str(mutant))
    return tally


def main() -> None:
    """Print a line for each module, then each mutant that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules of rules (all if none is given)")
    parser.add_argument("--every", type=int, default=1, help="judge only each N-th mutant")
    parser.add_argument("--minutes", type=float, help="stop judging after so long")
    options = parser.parse_args()
    modules = rule_modules(options.modules)
    STORE.parent.mkdir(parents=True, exist_ok=True)
    # Few rows, but thousands of queries: those pay for the optimising compiler as many rows do.
    spark = session.local(rows=jvm.OPTIMISED_ROWS, memory=MEMORY, cores=2)
    spark.sparkContext.setLogLevel("OFF")
    with side_by_side(spark):
        print_tallies(spark, modules, options)
    spark.stop()


def print_tallies(spark: SparkSession, modules: list[Path], options: argparse.Namespace) -> None:
    """Judge the mutants of modules and print what became of them.

    Raises:
        SystemExit: a case fails without any mutant.
    """
    bench = Bench(spark)
    names = [".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in modules]
    if wrong := bench.find_wrong_tests(names):
        sys.exit(f"these fail without any mutant: {', '.join(wrong)}; fix them first")
    store = Store(STORE, bench.digests, digest(*TESTS))
    end = time.monotonic() + options.minutes * 60 if options.minutes else math.inf
    known = equivalents.listed()
    tallies: dict[str, Tally] = {}
    write_head(HEAD)
    for path, module in zip(modules, names, strict=True):
        found = list(mutants(path.read_text(encoding="utf-8")))
        chosen = [mutant for mutant in found if mutant.number % options.every == 0]
        name = module.removeprefix("krt_scoring.")
        same = equivalents.equivalent(name, found, known)
        tallies[module] = tally_of(judge(bench, store, module, chosen, end), same)
        write_row((name, *tallies[module].row))
    total = Tally(
        noticed=sum(tally.noticed for tally in tallies.values()),
        equivalent=sum(tally.equivalent for tally in tallies.values()),
        missed=[line for tally in tallies.values() for line in tally.missed],
        left=sum(tally.left for tally in tallies.values()),
    )
    write_row(("all", *total.row))
    for module, tally in tallies.items():
        for line in tally.missed:
            sys.stdout.write(f"{module} {line}\n")
        for line in tally.wrong:
            sys.stdout.write(f"{module} {line}: listed as equivalent, but noticed\n")
    if total.left:
        sys.stdout.write(f"{total.left} mutants are not judged yet; run it again\n")


if __name__ == "__main__":
    main()
