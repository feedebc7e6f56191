"""Alters each condition of the rules, one by one, and prints which alterations no test notices.

What was judged is kept in build/mutation for these texts of rules and tests, so an interrupted run
goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from bench.mutation.judging import find_wrong_cases, judge
from bench.mutation.mutants import mutants
from bench.scoring.__main__ import write_head, write_row
from krt_scoring.engine import session

SOURCES = Path("spark/src")
RULES = ("anomalies", "allowances")
NOT_RULES = frozenset({"__init__", "example_history", "registry", "results", "schema", "context"})
"""Modules beside the rules: what is shown of a finding, and lists."""

TESTS = ("tests/spark/anomalies", "tests/unit/scoring")
STORE = Path("build/mutation")
HEAD = ("module", "mutants", "noticed", "share")


@dataclass
class Tally:
    """What became of the mutants of a module.

    Attributes:
        noticed: how many a test noticed.
        missed: those that no test noticed.
    """

    noticed: int = 0
    missed: list[str] = field(default_factory=list)

    @property
    def row(self) -> tuple[str, str, str]:
        """Mutants, noticed, and the share of those."""
        total = self.noticed + len(self.missed)
        return str(total), str(self.noticed), f"{self.noticed / total:.1%}" if total else "-"


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


def digest() -> str:
    """Return a digest of the scorer and of its tests: what was judged holds for this state."""
    files = sorted(
        path
        for folder in (SOURCES, *map(Path, TESTS))
        for path in folder.rglob("*")
        if path.suffix in {".py", ".txt"}
    )
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def main() -> None:
    """Print a line for each module, then each mutant that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules of rules (all if none is given)")
    parser.add_argument("--every", type=int, default=1, help="judge only each N-th mutant")
    options = parser.parse_args()
    modules = rule_modules(options.modules)
    STORE.mkdir(parents=True, exist_ok=True)
    store = STORE / f"{digest()}.jsonl"
    lines = store.read_text(encoding="utf-8").splitlines() if store.exists() else []
    known = {(item["module"], item["text"]): item["noticedBy"] for item in map(json.loads, lines)}
    spark = session.local(rows=1_000, cores=2)
    spark.sparkContext.setLogLevel("OFF")
    wrong = [] if known else find_wrong_cases(spark)
    if wrong:
        sys.exit(f"these cases fail without any mutant: {', '.join(wrong)}; mend them first")
    tallies: dict[str, Tally] = {}
    write_head(HEAD)
    for path in modules:
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        tally = tallies[module] = Tally()
        for mutant in mutants(path.read_text(encoding="utf-8")):
            if mutant.number % options.every:
                continue
            key = (module, hashlib.sha256(mutant.text.encode()).hexdigest())
            if key not in known:
                known[key] = judge(spark, module, mutant).noticed_by
                item = {"module": key[0], "text": key[1], "noticedBy": known[key]}
                with store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(item) + "\n")
            if known[key]:
                tally.noticed += 1
            else:
                tally.missed.append(str(mutant))
        write_row((module.removeprefix("krt_scoring."), *tally.row))
    total = Tally(
        sum(tally.noticed for tally in tallies.values()),
        [line for tally in tallies.values() for line in tally.missed],
    )
    write_row(("all", *total.row))
    for module, tally in tallies.items():
        for line in tally.missed:
            sys.stdout.write(f"{module} {line}\n")
    spark.stop()


if __name__ == "__main__":
    main()
