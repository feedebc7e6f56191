"""The mutants of a module: its text with one condition altered. Pure.

A rule is an expression of comparisons, logic, joins and bounds, so these are what is altered. What
a person reads (messages, docstrings), annotations and schemas stay as they are: no history shows
them.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
NAMES = {
    "min": "max",
    "max": "min",
    "least": "greatest",
    "greatest": "least",
    "isNull": "isNotNull",
    "isNotNull": "isNull",
    "any": "all",
    "all": "any",
    "lag": "lead",
    "lead": "lag",
    "asc": "desc",
    "desc": "asc",
}
"""Function or method to the one that is called in its place."""

JOINS = {"left_anti": "left_semi", "left_semi": "left_anti", "left": "inner", "inner": "left"}
"""Kind of join to the one that is made in its place."""

FILTERS = frozenset({"where", "filter", "dropDuplicates"})
"""Methods of a DataFrame that are left out."""

SCHEMAS = frozenset({"StructField", "StructType", "Field"})
"""Calls whose arguments are not altered."""

SEQUENCES = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.JoinedStr)
"""What cannot be subtracted: ``-`` between these would fail, and prove nothing."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one condition altered.

    Attributes:
        number: place among the module's mutants, from 0.
        line: of the altered expression.
        function: that the expression is in, with the functions and classes around it
            (``find.older``); empty outside of any.
        before: the expression.
        after: what it was altered to.
        text: the whole module, altered.
    """

    number: int
    line: int
    function: str
    before: str
    after: str
    text: str

    @property
    def digest(self) -> str:
        """A digest of the altered module."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def alteration(self) -> str:
        """The expression and what it was altered to."""
        return f"{self.before} → {self.after}"

    def __str__(self) -> str:
        """Return the alteration in one line."""
        return f"line {self.line}, {self.function or 'module'}: {self.alteration}"


def mutants(text: str) -> Iterator[Mutant]:
    """Yield every mutant of a module, in the order of its lines.

    Args:
        text: the source of the module.
    """
    tree = ast.parse(text)
    functions = dict(_functions(tree))
    number = 0
    for place, node in enumerate(_conditions(tree)):
        for choice, altered in enumerate(_alterations(node)):
            before, after = ast.unparse(node), ast.unparse(altered)
            if before == after:
                continue
            changed = copy.deepcopy(tree)
            twin = list(_conditions(changed))[place]
            replacement = ast.copy_location(_alterations(twin)[choice], twin)
            whole = _Replacement(twin, replacement).visit(changed)
            code = ast.unparse(ast.fix_missing_locations(whole))
            where = node.lineno, functions.get(node, "")
            yield Mutant(number, *where, _short(before), _short(after), code)
            number += 1


def _functions(node: ast.AST, around: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes within functions and classes, each with the name of where it is."""
    for child in ast.iter_child_nodes(node):
        within = around
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            within = f"{around}.{child.name}" if around else child.name
        yield child, within
        yield from _functions(child, within)


class _Replacement(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the new node for the old one."""
        if node is self._old:
            return self._new
        return self.generic_visit(node)


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that may be altered, from the outside to the inside."""
    for child in _children(node):
        if isinstance(child, ast.expr):
            yield child
        yield from _conditions(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body)
        return
    if isinstance(node, ast.ClassDef):
        yield from node.body
        return
    if isinstance(node, ast.AnnAssign):
        yield from (node.value,) if node.value is not None else ()
        return
    if not _is_text(node):
        yield from ast.iter_child_nodes(node)


def _is_text(node: ast.AST) -> bool:
    """Whether nothing in a node decides anything: messages, docstrings, imports, schemas."""
    return (
        isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Call) and _name(node.func) in SCHEMAS)
    )


def _alterations(node: ast.expr) -> list[ast.expr]:
    """Return what an expression is altered to; nothing where it is no condition."""
    for kind, alter in _ALTERATIONS.items():
        if isinstance(node, kind):
            return alter(node)
    return []


def _compare(node: ast.Compare) -> list[ast.expr]:
    if len(node.ops) > 1:
        found: list[ast.expr] = []
        for index, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[index] = COMPARISONS[type(operator)]()
            found.append(other)
        return found
    other = copy.deepcopy(node)
    other.ops = [COMPARISONS[type(node.ops[0])]()]
    return [other]


def _bool_op(node: ast.BoolOp) -> list[ast.expr]:
    other = copy.deepcopy(node)
    other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return [other]


def _bin_op(node: ast.BinOp) -> list[ast.expr]:
    kind = OPERATORS.get(type(node.op))
    texts = any(
        isinstance(side, SEQUENCES)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )
    if kind is None or texts:
        return []
    other = copy.deepcopy(node)
    other.op = kind()
    sides = [node.left, node.right] if isinstance(node.op, ast.BitAnd | ast.BitOr) else []
    return [other, *copy.deepcopy(sides)]


def _unary_op(node: ast.UnaryOp) -> list[ast.expr]:
    return [copy.deepcopy(node.operand)] if isinstance(node.op, ast.Invert | ast.Not) else []


def _constant(node: ast.Constant) -> list[ast.expr]:
    value = node.value
    if isinstance(value, bool):
        return [ast.Constant(not value)]
    if isinstance(value, int):
        return [ast.Constant(value + 1)]
    if isinstance(value, str) and value in JOINS:
        return [ast.Constant(JOINS[value])]
    return []


def _call(node: ast.Call) -> list[ast.expr]:
    name = _name(node.func)
    if name in NAMES:
        other = copy.deepcopy(node)
        if isinstance(other.func, ast.Attribute):
            other.func.attr = NAMES[name]
        elif isinstance(other.func, ast.Name):
            other.func.id = NAMES[name]
        return [other]
    if name in FILTERS and isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        return [copy.deepcopy(node.func.value)]
    if name == "coalesce" and len(node.args) > 1 and not isinstance(node.args[0], ast.Starred):
        return [_column(node.args[0]), _column(node.args[-1])]
    return []


def _column(argument: ast.expr) -> ast.expr:
    """Return an argument of `coalesce` by itself: a name of a column as the column."""
    argument = copy.deepcopy(argument)
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return ast.parse(f"sf.col({argument.value!r})", mode="eval").body
    return argument


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_module(value: ast.expr) -> bool:
    """Whether a method is a function of Spark's module, as in ``sf.filter(array, …)``."""
    return isinstance(value, ast.Name) and value.id == "sf"


def _short(code: str) -> str:
    """Return code in one line, cut to what a line of a table holds."""
    line = " ".join(code.split())
    return line if len(line) <= 90 else f"{line[:87]}..."  # noqa: PLR2004 - the width of a column


_ALTERATIONS: dict[type[ast.expr], Callable[..., list[ast.expr]]] = {
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.BinOp: _bin_op,
    ast.UnaryOp: _unary_op,
    ast.Constant: _constant,
    ast.Call: _call,
}
