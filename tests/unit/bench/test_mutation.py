"""Which mutants have to be judged again, and by which rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.mutation.__main__ import Store
from bench.mutation.imports import reaching
from bench.mutation.judging import Judgement
from bench.mutation.mutants import mutants

if TYPE_CHECKING:
    from pathlib import Path

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
