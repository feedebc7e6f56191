"""Whether the tests notice a mutant: first the cases, side by side, then the unit tests."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.mutation.loading import MUTANT_ENV, alter, forget

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from pyspark.sql import SparkSession

    from bench.mutation.mutants import Mutant

BATCH = 40
"""Cases that are judged in one Spark job, as in tests/spark/anomalies/conftest.py."""

PATIENCE_S = 180
"""Seconds a batch may take: a mutant that never ends is noticed, as CI would."""

UNIT = "tests/unit/scoring"
HISTORIES = "tests.spark.anomalies.histories"


class EndlessError(Exception):
    """A batch took too long."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a mutant.

    Attributes:
        noticed_by: the case or the test that fails; empty where none does.
    """

    noticed_by: str


def judge(spark: SparkSession, module: str, mutant: Mutant) -> Judgement:
    """Run the tests on a mutant until one fails.

    Args:
        spark: the session that all mutants are judged in.
        module: dotted name of the altered module.
        mutant: its alteration.
    """
    alter(module, mutant.text)
    try:
        case = _failing_case(spark, module.rpartition(".")[2].replace("_", "-"))
    finally:
        spark.catalog.clearCache()
        forget()
    return Judgement(case or _failing_unit_test(module, mutant))


def find_wrong_cases(spark: SparkSession) -> list[str]:
    """Return the cases that fail where nothing is altered: with any of them, nothing is shown."""
    forget()
    histories = importlib.import_module(HISTORIES)
    cases = histories.load_cases()
    return [
        name
        for first in range(0, len(cases), BATCH)
        for name in _wrong(histories, spark, cases[first : first + BATCH])
    ]


def _failing_case(spark: SparkSession, theme: str) -> str:
    """Return the first case that fails; the cases of the module's own file are judged first."""
    try:
        with _limited():
            histories = importlib.import_module(HISTORIES)
            cases = histories.load_cases()
            own = [case for case in cases if case.name.startswith(f"{theme}.")]
            others = [case for case in cases if not case.name.startswith(f"{theme}.")]
    except Exception as error:  # noqa: BLE001 - an altered module that cannot be imported is noticed
        return f"import: {type(error).__name__}"
    batches = [own] if own else []
    batches += [others[first : first + BATCH] for first in range(0, len(others), BATCH)]
    for batch in batches:
        try:
            with _limited():
                wrong = _wrong(histories, spark, batch)
        except Exception as error:  # noqa: BLE001 - whatever an altered rule raises, a test sees it
            spark.sparkContext.cancelAllJobs()
            return f"{batch[0].name} and its batch: {type(error).__name__}"
        if wrong:
            return wrong[0]
    return ""


def _wrong(histories: Any, spark: SparkSession, batch: list[Any]) -> list[str]:
    outcomes = histories.detect_side_by_side(spark, batch)
    return [case.name for case in batch if histories.deviations(case, outcomes[case.name])]


def _failing_unit_test(module: str, mutant: Mutant) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutant.py"
        file.write_text(mutant.text, encoding="utf-8")
        options = (
            "-q",
            "-x",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "-p",
            "bench.mutation.plugin",
        )
        ended = subprocess.run(  # noqa: S603 - our own tests
            [sys.executable, "-m", "pytest", *options, UNIT],
            env={**os.environ, MUTANT_ENV: f"{module}={file}"},
            capture_output=True,
            text=True,
            check=False,
        )
    if ended.returncode == 0:
        return ""
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else f"{UNIT}: exit code {ended.returncode}"


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
