"""Which mutants have to be judged again, and by which rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.mutation import equivalents
from bench.mutation.__main__ import Store, rule_modules, tally_of
from bench.mutation.imports import reaching, scorer_digest
from bench.mutation.judging import Judgement, in_steps
from bench.mutation.mutants import mutants
from krt_scoring.anomalies import registry

if TYPE_CHECKING:
    from pathlib import Path

RULES = registry.RULES
MODULE = "krt_scoring.anomalies.unseen"
(MUTANT,) = mutants("x = a < b")
CASES = {"case": "1"}


@pytest.mark.parametrize(
    ("judgement", "cases", "tests", "known"),
    [
        (Judgement("case", "1"), CASES, "tests", "case"),
        (Judgement("case", "1"), CASES, "other tests", "case"),
        (Judgement("case", "1"), {"case": "2"}, "other tests", None),
        (Judgement("case", "1"), {}, "other tests", None),
        (Judgement("a unit test"), CASES, "tests", "a unit test"),
        (Judgement("a unit test"), CASES, "other tests", None),
        (Judgement(""), CASES, "tests", ""),
        (Judgement(""), CASES, "other tests", None),
    ],
)
def test_store_of_a_judgement_keeps_it_as_long_as_it_holds(
    tmp_path: Path, judgement: Judgement, cases: dict[str, str], tests: str, known: str | None
) -> None:
    path = tmp_path / "store"
    Store(path, CASES, "tests").add(MODULE, MUTANT, judgement)
    assert Store(path, cases, tests).get(MODULE, MUTANT) == known


def test_store_of_another_module_knows_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", CASES, "tests")
    store.add(MODULE, MUTANT, Judgement("case", "1"))
    assert store.get("krt_scoring.anomalies.lost_write", MUTANT) is None


def test_reaching_of_a_rule_is_the_rule_and_what_lists_it() -> None:
    users = reaching(MODULE)
    assert {MODULE, "krt_scoring.anomalies.registry"} <= users
    assert "krt_scoring.anomalies.lost_write" not in users


def test_reaching_of_an_allowance_includes_what_uses_it_indirectly() -> None:
    users = reaching("krt_scoring.allowances.truncations")
    assert "krt_scoring.anomalies.inconsistent_offsets" in users
    assert "krt_scoring.anomalies.context" in users


def test_scorer_digest_of_rules_differs_and_that_of_allowances_is_one() -> None:
    assert scorer_digest(MODULE) != scorer_digest("krt_scoring.anomalies.lost_write")
    digests = {
        scorer_digest(f"krt_scoring.allowances.{name}") for name in ("truncations", "consequences")
    }
    assert len(digests) == 1


def test_in_steps_of_a_rule_asks_no_other() -> None:
    (step,) = in_steps(MODULE, RULES, derived=False)
    assert [list(rule.units) for rule in step] == [["unseen"]]


def test_in_steps_of_what_changes_what_is_allowed_asks_the_other_rules_afterwards() -> None:
    first, others = in_steps("krt_scoring.allowances.losses", RULES, derived=True)
    assert first
    assert others
    assert [rule for rule in RULES if rule in first] == list(first)
    assert [rule for rule in RULES if rule not in first] == list(others)


def test_tally_of_mutants_counts_equivalent_ones_apart() -> None:
    noticed, missed, left, same, wrong = mutants("x = (a < b, c < d, e < f, g < h, i < j)")
    judged = {noticed: "case", missed: "", left: None, same: "", wrong: "case"}
    tally = tally_of(judged, {same.number, wrong.number})
    assert tally.row == ("4", "2", "1", "50.0%")
    assert (tally.left, len(tally.missed), len(tally.wrong)) == (1, 1, 1)


def test_equivalent_mutants_of_the_list_exist() -> None:
    known = equivalents.listed()
    seen = set()
    for path in rule_modules([]):
        module = f"{path.parent.name}.{path.stem}"
        found = equivalents.equivalent(module, mutants(path.read_text(encoding="utf-8")), known)
        seen |= {module} if found else set()
    assert seen == {module for module, _, _ in known}


@pytest.mark.parametrize("text", ["x = a < c", "x = a < b\ny = a < b"])
def test_equivalent_of_a_mutant_that_is_not_there_once_is_refused(text: str) -> None:
    known = {("m", "", "a < b → a <= b"): "why"}
    with pytest.raises(equivalents.StaleError, match="exactly once"):
        equivalents.equivalent("m", mutants(text), known)


@pytest.mark.parametrize(
    ("reason", "alterations", "match"),
    [(" ", ["a"], "no reason"), ("why", ["a", "a"], "listed twice")],
)
def test_listed_of_an_entry_without_reason_or_there_twice_is_refused(
    tmp_path: Path, reason: str, alterations: list[str], match: str
) -> None:
    path = tmp_path / "equivalent.toml"
    path.write_text(
        f'[[mutants]]\nmodule = "m"\nfunction = ""\nreason = "{reason}"\n'
        f"alterations = {alterations}\n",
        encoding="utf-8",
    )
    with pytest.raises(equivalents.StaleError, match=match):
        equivalents.listed(path)
