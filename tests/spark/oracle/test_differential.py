"""Random histories, judged by the scorer and by the reference checker: they say the same.

A history on which they differ is shrunk and printed. Decide by docs/concepts/anomalies.md and
docs/reference/allowances.md which of the two is wrong, put the history into
tests/spark/anomalies/cases/ with what it should expect, and mend the one that is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.oracle.checker import judge
from tests.spark.oracle.compare import batches, differences, parse, permitting, without
from tests.spark.oracle.generator import generate
from tests.spark.oracle.shrink import shrink, subject

if TYPE_CHECKING:
    from tests.spark.anomalies.language import Case
    from tests.spark.oracle.checker import Judgement
    from tests.spark.oracle.compare import Scorer

FOUND = Path(__file__).parents[3] / "build" / "differences.txt"
"""Where differences are added before their histories are shrunk."""

SHRUNK = 4
"""How many of the differing histories are shrunk: one of each anomaly, at most so many."""


def test_scorer_of_random_histories_says_what_the_reference_checker_says(
    seeds: range, score: Scorer
) -> None:
    texts = {f"s{seed}": generate(seed) for seed in seeds}
    found: dict[str, list[str]] = {}
    for batch in batches(texts.items()):
        found |= differences(batch, score)
    if found:
        pytest.fail(report(texts, found, score))


def report(texts: dict[str, str], found: dict[str, list[str]], score: Scorer) -> str:
    """Return the differences and, of the first ones, a minimal history to keep as a case."""
    about: dict[str, str] = {}
    for name, lines in found.items():
        if len(about) < SHRUNK and subject(lines[0]) not in about.values():
            about[name] = subject(lines[0])
    shown = [f"{name}: {'; '.join(lines)}" for name, lines in found.items()]
    shown.append("(reference checker != scorer)")
    # What pytest has captured is lost should the shrinking, which takes minutes, not end in time.
    FOUND.parent.mkdir(exist_ok=True)
    with FOUND.open("a", encoding="utf-8") as file:
        file.write("\n".join([*shown, ""]))
    small = shrink({name: texts[name] for name in about}, score, about)
    shown += [f"\n== {about[name]}, seed {name[1:]}\n{text}" for name, text in small.items()]
    return "\n".join(shown)


LOST_BESIDE_A_CLEAN_RECORD = """
send p/1#0 0@0 acked
send p/1#1 0@1 acked
assigned c1 0@0
got c1 0@0 p/1#0
drained c1 0
log 0@0 p/1#0
"""


def sound(cases: list[Case]) -> dict[str, Judgement]:
    """Judge as the reference checker does: a scorer without a fault."""
    return {case.name: judge(case) for case in cases}


def blind(cases: list[Case]) -> dict[str, Judgement]:
    """Miss every lost record: a scorer with a rule that is broken."""
    return {case.name: without(judge(case), "lost-write") for case in cases}


def generous(cases: list[Case]) -> dict[str, Judgement]:
    """Permit every lost record."""
    return {case.name: permitting(judge(case), "lost-write") for case in cases}


def test_differences_of_a_sound_scorer_are_none() -> None:
    assert differences([parse("case", LOST_BESIDE_A_CLEAN_RECORD, 1)], sound) == {}


def test_differences_of_a_scorer_that_misses_an_anomaly_names_it() -> None:
    found = differences([parse("case", LOST_BESIDE_A_CLEAN_RECORD, 1)], blind)
    assert found == {"case": ["lost-write violation: 1 != 0"]}


def test_differences_of_a_scorer_that_permits_an_anomaly_names_the_rule() -> None:
    found = differences([parse("case", LOST_BESIDE_A_CLEAN_RECORD, 1)], generous)
    assert found == {"case": ["lost-write wrong-rule: 0 != 1", "lost-write violation: 1 != 0"]}


def test_differences_of_random_histories_and_a_broken_rule_are_many() -> None:
    cases = [parse(f"s{seed}", generate(seed), seed + 1) for seed in range(60)]
    lossy = [case for case in cases if judge(case).findings["lost-write", None]]
    assert lossy
    assert set(differences(cases, blind)) >= {case.name for case in lossy}


def test_shrink_of_a_differing_history_leaves_the_lines_that_make_it_differ() -> None:
    about = {"case": "lost-write violation"}
    small = shrink({"case": LOST_BESIDE_A_CLEAN_RECORD.strip()}, blind, about)
    assert small == {"case": "send p/1#1 0@1 acked"}


def test_generate_of_a_seed_gives_the_same_text() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)
