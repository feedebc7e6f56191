"""Which modules of the rules use which, by their imports."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCES = Path("spark/src")
PACKAGES = ("krt_scoring.anomalies", "krt_scoring.allowances")


@cache
def reaching(module: str) -> frozenset[str]:
    """Return the modules of the rules that use a module, directly or not, and itself.

    Args:
        module: dotted name.
    """
    users = {module}
    while True:
        more = {name for name, imported in _graph().items() if imported & users} - users
        if not more:
            return frozenset(users)
        users |= more


@cache
def _graph() -> dict[str, frozenset[str]]:
    """Return module → modules of the rules that it imports when it runs."""
    found = {}
    for package in PACKAGES:
        for path in sorted((SOURCES / package.replace(".", "/")).glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found[f"{package}.{path.stem}"] = frozenset(_imported(tree))
    return found


def _imported(tree: ast.Module) -> set[str]:
    # At the top level only: what is imported for type checkers is within an `if`.
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found
