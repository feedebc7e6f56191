"""The tests of a module that are not cases: of its columns over a few rows, and the unit tests."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.mutation.loading import alter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNIT = Path("tests/unit/scoring")
TABLES = Path("tests/spark")
"""Tests of columns over a few rows: of a module in the folder of its package, under its name. They
take the session of the bench."""
QUIET = ("-q", "-x", "-p", "no:cacheprovider")


def table_of(module: str) -> Path:
    """Return the file that holds the tests of a module's columns, where it has any.

    Args:
        module: dotted name.
    """
    *_, package, name = module.split(".")
    return TABLES / package / f"test_{name}.py"


def fails_table(table: Path, spark: SparkSession) -> bool:
    """Whether tests of columns are there and fail.

    Args:
        table: their file.
        spark: the session that they take.
    """
    if not table.exists():
        return False
    with redirect_stdout(io.StringIO()):
        return bool(pytest.main([*QUIET, str(table)], plugins=[_Given(spark)]))


def failing_units(module: str, text: str) -> str:
    """Run the unit tests that name a module, in a process of its own.

    Args:
        module: dotted name of the altered module.
        text: its altered text.

    Returns:
        What failed; empty where nothing did.
    """
    name = module.rpartition(".")[2]
    files = [
        str(path)
        for path in sorted(UNIT.glob("test_*.py"))
        if re.search(rf"\b{name}\b", path.read_text(encoding="utf-8"))
    ]
    if not files:
        return ""
    child = os.fork()
    if child == 0:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            alter(module, text, ("krt_scoring", "tests"))
            os._exit(int(pytest.main([*QUIET, *files])))
    _, status = os.waitpid(child, 0)
    return f"{UNIT}: {' '.join(files)}" if status else ""


class _Given:
    """Gives tests the session that is there.

    Args:
        spark: the session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: Any
    ) -> SparkSession | None:
        """Return the session for the fixture ``spark``, None for others.

        Args:
            fixturedef: the fixture that is set up.
            request: of the test, a type of pytest's own.
        """
        if fixturedef.argname != "spark":
            return None
        fixturedef.cached_result = (self._spark, fixturedef.cache_key(request), None)
        return self._spark
