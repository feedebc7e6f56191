"""No message of a run that does not go well lacks its remedy.

The tests read the controller's source: they find every reason that it gives to a condition, an
event, an inconclusive reason or a user error, and the words of the message that goes with it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.unit.operator.doubles.kubelets import START

import krt_operator
from krt_contract.kafka_refusal import tls_refusal
from krt_contract.reasons import PROGRESS, REASONS, RUN, SCORING, SETUP
from krt_operator.api.status import Ending, InconclusiveReasonKind, Phase, Status, Verdict
from krt_operator.engine import journal
from krt_operator.engine.remedies import MAX_MESSAGE, REMEDIES, with_remedy
from krt_operator.health.broker_settings import describe_unknown_settings
from krt_operator.health.member_startup import StartupFailure
from krt_operator.kafka.errors import USER_CODES
from krt_operator.phases.failure_reasons import DEFECT, KNOWN, REFUSALS, REFUSED, Failure
from krt_operator.plan.overlaps import conflicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT: Final = Path(krt_operator.__file__).parent

CALLS: Final[Mapping[str, tuple[int, int]]] = {
    "UserError": (0, 2),
    "KafkaAccessError": (0, 2),
    "Event": (0, 1),
    "emit_event": (0, 1),
    "set_condition": (2, 3),
    "add_inconclusive_reason": (0, -1),
    "_condition": (1, 2),
    "_draining": (0, 1),
    "_wait": (1, 2),
    "_recognized": (1, 2),
    "Hold": (0, 1),
}
"""Function that gives a reason to the positions of the reason and of the message.

The message of an inconclusive reason is the third argument of the journal's function and the second
of the one that faults use; -1 takes either."""

FORWARDS: Final = frozenset(
    {"reason", "code", "error.reason", "failure.reason", "hold.reason", "type_"}
)
"""Expressions of a reason that was given elsewhere; the place that gave it is checked."""

NO_REMEDY_NEEDED: Final[Mapping[str, str]] = {
    # What happens in the normal course of a run.
    "Running": "no verdict yet",
    "Queued": "the test waits for its turn, and the message says for how many",
    "PreviousTestTerminating": "the garbage collector is at work",
    "Planned": "progress",
    "Provisioning": "progress; the deadline has the remedy",
    "Provisioned": "progress",
    "ClusterReady": "success",
    "Starting": "progress; the deadline has the remedy",
    "AllRecognized": "success",
    "TrafficFlowing": "success",
    "TrafficEstablished": "success",
    "WarmedUp": "success",
    "FaultInjected": "what the user asked for",
    "FaultReverted": "what the user asked for",
    "EvictionRefused": "an outcome that the fault looks for",
    "AllInjected": "success",
    "Recovered": "success",
    "FullyReplicated": "success",
    "Draining": "progress",
    "Stopping": "progress",
    "Settling": "progress; LogNotStable has the remedy",
    "Reading": "progress; NotDrained has the remedy",
    "ConsumersCaughtUp": "success",
    "Dumping": "progress; ReplicasNotDumped has the remedy",
    "Dumped": "success",
    "Scoring": "progress",
    "Scored": "scoring's own summary",
    "AllMet": "success",
    "Reconciled": "success",
    "RunFinished": "the end of the run",
    "MemberUnscheduled": "the controller replaced the pod; MembersNotRunning has the remedy",
    "RecorderReplaced": "the controller replaced the pod; TimelineGap has the remedy",
    "Aborted": "what the user asked for",
    # How the run ended: the message is the summary, which has the remedy of its own reason.
    **{ending.value: "the summary" for ending in Ending},
    **{verdict.value: "the summary" for verdict in Verdict},
    **{phase.value: "the summary" for phase in Phase if phase.terminal},
}
"""Reason to why its message needs no remedy."""

BUILT_ELSEWHERE: Final[Mapping[str, tuple[Callable[..., object], str]]] = {
    "KafkaAuthenticationFailed": (tls_refusal, "leave tls out"),
    "FaultsCollide": (conflicts, "start it after"),
    "MemberCannotStart": (StartupFailure, "{self.remedy}"),
    "MemberFailing": (StartupFailure, "{self.remedy}"),
    "UnknownSetting": (describe_unknown_settings, "correct the name"),
}
"""Reason to the function that words its message, and how the remedy begins there."""

REMEDY: Final = re.compile(
    r"(;|, or|:|`) *(to )?(add|allow|choose|correct|create|delete|fix|free|give|install|kubectl|"
    r"label|leave|let|look|lower|name|provide|raise|report|run|score|set|start|use)\b|"
    r"the (evidence is kept|controller tries again)"
)
"""What a remedy in a message looks like: an imperative in a part of its own."""


@dataclass(frozen=True)
class Given:
    """A place in the source that gives a reason.

    Attributes:
        place: file and line.
        reason: CamelCase word.
        message: the words of the message that are in the source; values are left out.
    """

    place: str
    reason: str
    message: str


class Reader:
    """Finds the places of one module that give reasons."""

    def __init__(self, path: Path) -> None:
        self.place = path.relative_to(ROOT)
        self.tree = ast.parse(path.read_text())
        name = ".".join(("krt_operator", *self.place.with_suffix("").parts))
        self.names: dict[str, object] = vars(importlib.import_module(name))

    def read(self) -> Iterator[Given]:
        for function in ast.walk(self.tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            local = {
                target.id: node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    yield from self._call(node, local)

    def _call(self, node: ast.Call, local: dict[str, ast.expr]) -> Iterator[Given]:
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name not in CALLS or self.place.name == "reconciling.py":
            return
        if name == "_wait" and self.place.name != "pending.py":
            return
        first, second = CALLS[name]
        if len(node.args) <= max(first, second) or (name == "_condition" and len(node.args) < 4):
            return
        message = " ".join(
            self._words(argument, local)
            for argument in (node.args[1:3] if second < 0 else [node.args[second]])
        )
        for reason in self._reasons(node.args[first], local):
            yield Given(f"{self.place}:{node.lineno}", reason, message)

    def _reasons(self, node: ast.expr, local: dict[str, ast.expr]) -> list[str]:
        if isinstance(node, ast.IfExp):
            return [*self._reasons(node.body, local), *self._reasons(node.orelse, local)]
        if isinstance(node, ast.Constant):
            return [str(node.value)]
        if isinstance(node, ast.Name) and node.id in local:
            return self._reasons(local[node.id], local)
        source = ast.unparse(node)
        if isinstance(node, ast.Name) and isinstance(self.names.get(node.id), str):
            return [str(self.names[node.id])]
        if source in FORWARDS or source.endswith(".value"):
            return []
        raise AssertionError(f"{self.place}:{node.lineno}: cannot read the reason {source}")

    def _words(self, node: ast.expr, local: dict[str, ast.expr]) -> str:
        """The string constants below an expression, names resolved."""
        found = []
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                found.append(part.value)
            elif isinstance(part, ast.Name) and part.id in local:
                others = {name: value for name, value in local.items() if name != part.id}
                found.append(self._words(local[part.id], others))
            elif isinstance(part, ast.Name) and isinstance(self.names.get(part.id), str):
                found.append(str(self.names[part.id]))
        return " ".join(found)


@pytest.fixture(scope="module")
def given() -> list[Given]:
    """Every place of the controller's source that gives a reason."""
    modules = sorted(path for path in ROOT.rglob("*.py") if path.name != "__main__.py")
    return [each for path in modules for each in Reader(path).read()]


def test_every_reason_has_a_remedy_or_needs_none(given: list[Given]) -> None:
    lacking = [
        f"{each.place}: {each.reason}: {each.message!r}"
        for each in given
        if each.reason not in NO_REMEDY_NEEDED
        and each.reason not in REMEDIES
        and not _has_remedy(each)
    ]
    assert not lacking, (
        "give the message its remedy, or add the reason to krt_operator.engine.remedies or, "
        "with the reason why, to NO_REMEDY_NEEDED:\n" + "\n".join(lacking)
    )


def _has_remedy(place: Given) -> bool:
    if place.reason in BUILT_ELSEWHERE:
        function, remedy = BUILT_ELSEWHERE[place.reason]
        return remedy in inspect.getsource(function)
    return REMEDY.search(place.message) is not None


def test_every_reason_is_found(given: list[Given]) -> None:
    reasons = {each.reason for each in given}
    assert len(given) > 70
    assert {"TooFewNodes", "FaultNotVerified", "NotDrained", "RecoveryTimedOut"} <= reasons
    assert all(re.fullmatch(r"[A-Z][A-Za-z]+", reason) for reason in reasons)
    known = {*REMEDIES, *(name for name, why in NO_REMEDY_NEEDED.items() if why != "the summary")}
    elsewhere = {"Reconciled", "RunFinished", "NotMet", "NotEvaluated", "AllMet"}
    assert known - reasons - elsewhere == set(), "a reason that nothing gives any more"


def test_table_of_reasons_has_every_reason_of_the_controller_and_no_other(
    given: list[Given],
) -> None:
    found = {each.reason for each in given} | set(NO_REMEDY_NEEDED)
    found |= {reason for reason, _ in USER_CODES.values()}
    found |= {failure.reason for failure in (*KNOWN.values(), REFUSED, DEFECT)}
    found = (found | {"NotMet", "ReasonsOmitted"}) - {Verdict.PENDING.value}
    assert found == {reason.code for reason in (*SETUP, *RUN, *PROGRESS)}


def test_reason_of_the_table_has_a_remedy_exactly_if_it_is_no_progress() -> None:
    assert all(reason.remedy for reason in (*SETUP, *RUN, *SCORING))
    assert not any(reason.remedy for reason in PROGRESS)
    assert len(REASONS) == len(SETUP) + len(RUN) + len(SCORING) + len(PROGRESS)


@pytest.mark.parametrize("failure", [*KNOWN.values(), REFUSED, DEFECT], ids=lambda it: it.reason)
def test_every_failure_of_a_pass_has_a_remedy(failure: Failure) -> None:
    assert REMEDY.search(f"; {failure.remedy}")


@pytest.mark.parametrize("words", REFUSALS)
def test_every_refusal_has_a_remedy(words: str) -> None:
    assert re.search(r"(^|: )(free|correct|change|give) ", REFUSALS[words])


@pytest.mark.parametrize("code", USER_CODES)
def test_every_error_of_kafka_that_a_user_can_mend_has_a_remedy(code: int) -> None:
    _, remedy = USER_CODES[code]
    assert REMEDY.search(f"; {remedy}") or "change the topic or the policy" in remedy


@pytest.mark.parametrize("message", ["fault f: it broke", "kafka-0: exited 1; kafka-1: gone"])
def test_message_that_only_says_what_happened_has_no_remedy(message: str) -> None:
    assert not REMEDY.search(message)


def test_with_remedy_adds_it_once_and_never_cuts_it() -> None:
    remedy = REMEDIES["RevertFailed"]
    once = with_remedy("RevertFailed", "it broke")
    assert once == f"it broke; {remedy}"
    assert with_remedy("RevertFailed", once) == once
    long = with_remedy("RevertFailed", "x" * 5000)
    assert long.endswith(remedy)
    assert len(long) == MAX_MESSAGE
    assert with_remedy("ClusterReady", "all well") == "all well"


def test_inconclusive_reason_has_the_remedy_of_its_code() -> None:
    change = journal.add_inconclusive_reason(
        "RevertFailed", InconclusiveReasonKind.COVERAGE, "fault f: it broke", START, fault="f"
    )
    (reason,) = change(Status()).inconclusive_reasons
    assert reason.message == f"fault f: it broke; {REMEDIES['RevertFailed']}"
