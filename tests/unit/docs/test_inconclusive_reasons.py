"""The table of reasons has every inconclusive reason, with the kind that the code gives it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from krt_contract.reasons import COVERAGE, EITHER, REASONS
from krt_scoring.inputs.evidence import EVIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
SCORING = ROOT / "spark" / "src" / "krt_scoring"
OPERATOR = ROOT / "operator" / "src" / "krt_operator"
PAGE = ROOT / "docs" / "concepts" / "scoring.md"

SCORED = "Reason"
"""The class of a reason of scoring, called with kind and code first."""

REPORTED = "add_inconclusive_reason"
"""The controller's functions that report a reason, called with its code first."""

SUMMARIZED = {("ReasonsOmitted", EITHER)}
"""What stands for reasons that the status cannot hold, of either kind."""

Reasons = set[tuple[str, str]]
"""Code and kind of each reason."""


def trees(folder: Path) -> Iterator[ast.Module]:
    for path in sorted(folder.rglob("*.py")):
        yield ast.parse(path.read_text(encoding="utf-8"))


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if name in (getattr(called, "id", None), getattr(called, "attr", None)):
                yield node


def text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def scored() -> Reasons:
    """Reasons of scoring: written out, or made by a function that is given the code."""
    found: Reasons = set()
    for tree in trees(SCORING):
        for call in calls(tree, SCORED):
            kind, code = text(call.args[0]), text(call.args[1])
            if kind and code:
                found.add((code, kind))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            parameters = [item.arg for item in function.args.args]
            for call in calls(function, SCORED):
                kind, code_given = text(call.args[0]), call.args[1]
                if kind and isinstance(code_given, ast.Name) and code_given.id in parameters:
                    index = parameters.index(code_given.id)
                    codes = (text(use.args[index]) for use in calls(tree, function.name))
                    found |= {(code, kind) for code in codes if code}
    return found


def reported() -> Reasons:
    """Reasons of the controller; one that is given no kind is of kind coverage."""
    modules = list(trees(OPERATOR))
    constants: dict[str, str] = {}
    for tree in modules:
        for node in tree.body:
            target = node.target if isinstance(node, ast.AnnAssign) else None
            value = text(node.value) if isinstance(node, ast.AnnAssign) else None
            if isinstance(target, ast.Name) and value:
                constants[target.id] = value
    found: Reasons = set()
    for tree in modules:
        for call in calls(tree, REPORTED):
            given = call.args[0]
            code = constants.get(given.id) if isinstance(given, ast.Name) else text(given)
            kinds = [
                argument.attr.lower()
                for argument in call.args
                if isinstance(argument, ast.Attribute)
                and getattr(argument.value, "id", None) == "InconclusiveReasonKind"
            ]
            if code:
                found.add((code, kinds[0] if kinds else "coverage"))
    return found


def tabled() -> Reasons:
    """What the table of reasons holds of inconclusive reasons."""
    return {(reason.code, reason.kind) for reason in REASONS.values() if reason.kind}


def test_reasons_found_in_the_code_are_those_of_scoring_and_of_the_controller() -> None:
    assert ("LogNotStable", "evidence") in scored()
    assert ("FileMissing", "evidence") in scored()
    assert ("ForeignRecords", "evidence") in scored()
    assert ("TooFewOperations", "coverage") in scored()
    assert ("NotDrained", "evidence") in reported()
    assert ("OperatorInterrupted", "coverage") in reported()


def test_table_of_reasons_names_every_reason_with_its_kind() -> None:
    assert tabled() == scored() | reported() | SUMMARIZED


def test_inconclusive_reason_of_the_table_has_a_remedy_and_says_what_it_makes_void() -> None:
    for reason in REASONS.values():
        if reason.kind:
            assert reason.remedy, reason.code
            assert bool(reason.void) == (reason.kind != COVERAGE), reason.code


def test_table_of_evidence_names_what_every_anomaly_is_judged_by() -> None:
    section = PAGE.read_text(encoding="utf-8").split("| is judged by | a finding names |")[1]
    found = {}
    for row in section.split("\n\n")[0].splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        for name in re.findall(r"`([a-z-]+)`", cells[0]):
            always, _, _ = cells[1].partition(";")
            words = {*re.findall(r"`(\w+)`", always), *re.findall(r"timeline|clocks", always)}
            found[name] = words, set(cells[2].split(", "))
    assert found == {
        name: (set(evidence.tables) - IMPLIED.get(name, set()), set(map(str, evidence.by)))
        for name, evidence in EVIDENCE.items()
    }


IMPLIED = {name: {"log_end_offsets"} for name, item in EVIDENCE.items() if "log" in item.tables} | {
    "replica-divergence": {"replica_bounds"}
}
"""Tables without which another one that the document names cannot be read."""
