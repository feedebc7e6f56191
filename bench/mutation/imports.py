"""Which modules of the rules use which, by their imports, and what a judgement rests on."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SOURCES = Path("spark/src")
CONTEXT = "krt_scoring.anomalies.context"
REGISTRY = "krt_scoring.anomalies.registry"
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
def scorer_digest(module: str) -> str:
    """Return a digest of the sources by which a mutant of a module is judged.

    The rules that use the module, and all that these import; other rules are no part of it, unless
    the module changes what is allowed, which every rule asks for.

    Args:
        module: dotted name.
    """
    users = reaching(module)
    rules = _graph()[REGISTRY] & _graph().keys()
    judging = {module} | (rules if CONTEXT in users else rules & users)
    while more := {name for one in judging for name in _graph().get(one, ())} - judging:
        judging |= more
    others = {SOURCES / f"{name.replace('.', '/')}.py" for name in rules - judging}
    return digest_of_files(path for path in SOURCES.rglob("*.py") if path not in others)


def digest_of_files(paths: Iterable[Path]) -> str:
    """Return a digest of what files contain."""
    contents = b"".join(path.read_bytes() for path in sorted(paths))
    return hashlib.sha256(contents).hexdigest()[:12]


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
