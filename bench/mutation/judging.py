"""Whether the tests notice a mutant: tables of rows, the cases, side by side, and the unit tests.

Random histories would notice no more: of 795 mutants one was noticed by 300 of them alone.

What the rules look at is the same for every mutant, so it is built once and stays cached; a mutant
costs one query for each history of cases, of the rules that its module takes part in. Only if it
changes what is allowed are the other rules asked, too. What is void of the findings changes none of
them, so those are kept as well.
"""

from __future__ import annotations

import hashlib
import importlib
import signal
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from bench.mutation.imports import CONTEXT, REGISTRY, reaching
from bench.mutation.loading import alter, forget
from bench.mutation.suites import failing_units, fails_table, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    from pyspark.sql import DataFrame, SparkSession
    from tests.spark.anomalies.histories import VoidFindings
    from tests.spark.anomalies.language import Case

    from bench.mutation.mutants import Mutant
    from krt_scoring.anomalies.context import Context
    from krt_scoring.inputs.reasons import Reason

PATIENCE_S = 300
"""Seconds a mutant may take: one that never ends is noticed, as CI would."""

HISTORIES = "tests.spark.anomalies.histories"
DETECTION = "krt_scoring.anomalies.detection"
VOIDS = "krt_scoring.anomalies.voids"
USED_BY_CONTEXT = frozenset({CONTEXT, "krt_scoring.allowances.truncations"})
"""What the context of all rules uses after the allowances were derived."""


class EndlessError(Exception):
    """A mutant took too long."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a mutant.

    Attributes:
        noticed_by: the case or the test that fails; empty where none does.
        digest: of the text of that case; empty where it was no case.
    """

    noticed_by: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases as one history.

    Attributes:
        cases: the cases.
        ctx: what the rules look at, cached.
        lacking: what their evidence lacks.
        void: which findings rest on that.
        sends: case → outcome of its sends → how many.
        found: what the rules find where nothing is altered, or by a mutant; None: nothing.
    """

    cases: list[Case]
    ctx: Context
    lacking: list[Reason]
    void: VoidFindings
    sends: dict[str, dict[str, int]]
    found: DataFrame | None


class Bench:
    """The cases in as few histories as hold them, and the rules over these, one mutant at a time.

    Args:
        spark: the session that all mutants are judged in, prepared by `side_by_side`.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        forget()
        histories = importlib.import_module(HISTORIES)
        cases = histories.by_groups(histories.load_cases())
        self._text = {case.name: case.text for some in cases for case in some}
        self._batches = [self._batch(some) for some in cases]

    def _batch(self, cases: list[Case]) -> Batch:
        histories = importlib.import_module(HISTORIES)
        tables = histories.history_of_cases(self._spark, cases)
        ctx = importlib.import_module(CONTEXT).build(tables)
        sends = {case.name: histories.Outcome() for case in cases}
        histories.add_outcomes_of_sends(ctx, cases, sends)
        outcomes = {name: outcome.outcomes for name, outcome in sends.items()}
        lacking = histories.reasons(ctx, cases)
        void = histories.void_findings(lacking, cases)
        return Batch(cases, ctx, lacking, void, outcomes, histories.findings_of(ctx))

    def find_wrong_tests(self, modules: Iterable[str]) -> list[str]:
        """Return what fails where nothing is altered: with anything, nothing is shown.

        Args:
            modules: dotted names of those that are to be altered.
        """
        forget()
        tables = map(table_of, modules)
        failed = [str(table) for table in tables if fails_table(table, self._spark)]
        return failed or self._wrong(None)

    def judge(self, module: str, mutant: Mutant) -> Judgement:
        """Run the tests on a mutant until one fails, the faster ones first.

        Args:
            module: dotted name of the altered module.
            mutant: its alteration.
        """
        others = [self._judge_cases, self._judge_units]
        if CONTEXT in reaching(module):
            # All rules may have to be asked: then the cases take longest.
            others.reverse()
        found = (judge(module, mutant) for judge in (self._judge_table, *others))
        return next((judgement for judgement in found if judgement.noticed_by), Judgement(""))

    def _judge_table(self, module: str, mutant: Mutant) -> Judgement:
        """Judge a mutant by the tests of the module's columns."""
        table = table_of(module)

        def judge() -> Judgement:
            return Judgement(str(table) if fails_table(table, self._spark) else "")

        return self._judge_altered(module, mutant, judge)

    def _judge_units(self, module: str, mutant: Mutant) -> Judgement:
        """Judge a mutant by the unit tests that name the module."""
        return Judgement(failing_units(module, mutant.text))

    def _judge_cases(self, module: str, mutant: Mutant) -> Judgement:
        """Judge a mutant by the first history of cases that has any that fail."""

        def judge() -> Judgement:
            wrong = next(iter(self._wrong(module)), "")
            return Judgement(wrong, digest_of(self._text[wrong]) if wrong else "")

        return self._judge_altered(module, mutant, judge)

    def _judge_altered(
        self, module: str, mutant: Mutant, judge: Callable[[], Judgement]
    ) -> Judgement:
        """Judge a mutant in this process, where its module is altered meanwhile."""
        alter(module, mutant.text)
        try:
            with _limited():
                return judge()
        except Exception as error:  # noqa: BLE001 - whatever an altered rule raises, a test sees it
            self._spark.sparkContext.cancelAllJobs()
            return Judgement(f"error: {type(error).__name__}")
        finally:
            forget()

    @property
    def digests(self) -> dict[str, str]:
        """Case → digest of its text."""
        return {name: digest_of(text) for name, text in self._text.items()}

    def _wrong(self, module: str | None) -> list[str]:
        """Return the cases of the first history with any that fail, by the rules of a module."""
        return next(filter(None, (self._failing(batch, module) for batch in self._batches)), [])

    def _failing(self, batch: Batch, module: str | None) -> list[str]:
        """Return the cases of a history that fail, by the first rules that any fails by."""
        histories = importlib.import_module(HISTORIES)
        rules = importlib.import_module(REGISTRY).RULES
        if module in {None, VOIDS}:
            # The findings stay the same.
            void = histories.void_findings(batch.lacking, batch.cases)
            histories.check_counts(batch.found, void)
            return self._failing_by(replace(batch, void=void), rules)
        ctx, derived = self._context(batch, module)
        find_all = importlib.import_module(DETECTION).find_all
        failing = (
            self._failing_by(replace(batch, ctx=ctx, found=find_all(ctx, some)), some)
            for some in in_steps(module, rules, derived=derived)
        )
        return next(filter(None, failing), [])

    def _failing_by(self, batch: Batch, rules: tuple[Any, ...]) -> list[str]:
        """Return the cases of a history that fail by what some of the rules found."""
        histories = importlib.import_module(HISTORIES)
        deviations = importlib.import_module("tests.spark.anomalies.expectations").deviations
        anomalies = {name for rule in rules for name in rule.units}
        outcomes = histories.outcomes_of(batch.ctx, batch.cases, batch.void, batch.found, rules)
        wrong = []
        for case in batch.cases:
            outcome = outcomes[case.name]
            outcome.outcomes = batch.sends[case.name]
            if deviations(case, outcome, anomalies):
                wrong.append(case.name)
        return wrong

    def _context(self, batch: Batch, module: str) -> tuple[Any, bool]:
        """Return what the rules look at, and whether a mutant changes what all of them look at."""
        context = importlib.import_module(CONTEXT)
        if CONTEXT not in reaching(module):
            return context.Context(batch.ctx.history, batch.ctx.allowances), False
        derive = importlib.import_module("krt_scoring.allowances.allowances").derive
        allowances = derive(batch.ctx.history)
        # Not `==`: the classes are imported again for each mutant.
        same = asdict(allowances) == asdict(batch.ctx.allowances)
        return context.Context(batch.ctx.history, allowances), not same or module in USED_BY_CONTEXT


def in_steps(module: str, rules: tuple[Any, ...], *, derived: bool) -> list[tuple[Any, ...]]:
    """Return the rules that may find something else if a module is altered, the likely ones first.

    Args:
        module: the altered module.
        rules: all rules.
        derived: whether what all rules look at is another one, too.
    """
    users = reaching(module)
    direct = tuple(rule for rule in rules if rule.find.__module__ in users)
    others = tuple(rule for rule in rules if rule not in direct) if derived else ()
    return [some for some in (direct, others) if some]


def digest_of(text: str) -> str:
    """Return a digest of a case."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextmanager
def _limited() -> Iterator[None]:
    def ring(_: int, __: FrameType | None) -> None:
        raise EndlessError(f"not done after {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
