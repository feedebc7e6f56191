"""Imports the scorer with one of its modules altered, beside a Spark session that stays."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

PACKAGES = ("krt_scoring", "tests.spark.anomalies")
"""Packages that are imported again: the scorer, and the tests that hold its functions."""

MUTANT_ENV = "KRT_MUTANT"
"""Environment variable of a process of pytest: name of the altered module, and file of its text."""


class Altered(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, and loads another text in its place.

    Args:
        name: of the module, dotted.
        text: its source.
    """

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for the altered module, None for every other one."""
        del path, target
        if fullname != self._name:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the altered text."""
        exec(compile(self._text, f"<mutant of {self._name}>", "exec"), module.__dict__)  # noqa: S102


def forget() -> None:
    """Forget what was imported of the packages, and every altered module."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Altered)]
    for name in list(sys.modules):
        if name.startswith(PACKAGES):
            del sys.modules[name]


def alter(name: str, text: str) -> None:
    """Have the next imports take this text as the module; `forget` ends it.

    Args:
        name: of the module, dotted.
        text: its source.
    """
    forget()
    sys.meta_path.insert(0, Altered(name, text))


def alter_by_environment(value: str) -> None:
    """Alter the module that ``name=file`` names, as a process of pytest receives it.

    Raises:
        ValueError: the value has another form.
    """
    name, found, file = value.partition("=")
    if not found:
        raise ValueError(f"{MUTANT_ENV} must be MODULE=FILE, not {value!r}")
    alter(name, Path(file).read_text(encoding="utf-8"))
