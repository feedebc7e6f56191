"""Imports the rules with one of their modules altered, beside a Spark session that stays."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

RULES = (
    *("krt_scoring.anomalies", "krt_scoring.allowances"),
    *("tests.spark.anomalies", "tests.spark.allowances"),
)
"""Packages that are imported again for a mutant: the rules, and the tests that hold their
functions. The history, which no rule changes, stays."""


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


def forget(packages: tuple[str, ...] = RULES) -> None:
    """Forget every altered module, and what was imported of the packages."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Altered)]
    for name in list(sys.modules):
        if name.startswith(packages):
            del sys.modules[name]


def alter(name: str, text: str, packages: tuple[str, ...] = RULES) -> None:
    """Have the next imports take this text as the module; `forget` ends it.

    Args:
        name: of the module, dotted.
        text: its source.
        packages: what is imported again.
    """
    forget(packages)
    sys.meta_path.insert(0, Altered(name, text))
