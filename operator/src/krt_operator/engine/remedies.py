"""Remedies of reasons whose messages say what happened: what to do is the same each time.

Where the remedy depends on what happened, the message has it already. A test walks every reason
that the controller can give and checks that one of the two is the case.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_MESSAGE: Final = 1024
"""Characters of a message, as the CRD bounds it."""

_CLIENT: Final = "correct in the spec what the error names"
_DRAIN: Final = (
    "look at the consumers' logs in the evidence, or allow more time in spec.timeouts.drain"
)
_DUMP: Final = (
    "look at the broker's log in the evidence, or allow more time in spec.timeouts.replicaDump; "
    "the rest of the evidence is scored"
)
_NOT_INJECTED: Final = (
    "check the fault's target and schedule, and run the test again when the cluster is less busy"
)

REMEDIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ClientCannotStart": _CLIENT,
        "ClientSettingsRefused": _CLIENT,
        "DrainTimedOut": _DRAIN,
        "FaultNotVerified": _NOT_INJECTED,
        "FaultSkipped": _NOT_INJECTED,
        "LogNotStable": "look at the brokers' logs in the evidence, or allow more time in "
        "spec.timeouts.drain",
        "MembersNotRunning": "fix the Kubernetes cluster and run the test again",
        "NotAllDumped": _DUMP,
        "NotDrained": _DRAIN,
        "NotEvaluated": "the scorecard and status.inconclusiveReasons give the cause of each",
        "NotMet": "the scorecard gives for each what was observed",
        "ProduceLatencyHigh": "end other work on the nodes, or lower recordsPerSecond",
        "RecoveryTimedOut": "look at the members' logs in the evidence; if they were recovering "
        "still, allow more time in spec.timeouts.recovery",
        "ReplicasNotDumped": _DUMP,
        "RevertFailed": "look at the pod and its node, and run the test again",
        "ScorecardNotPublished": "read it there; the verdict does not depend on the ConfigMap",
        "TrafficPodLost": "look at the pod's log in the evidence and at its node, and run the test "
        "again",
    }
)
"""Reason to its remedy, which is added to every message with that reason."""


def cut(message: str, length: int = MAX_MESSAGE) -> str:
    """The message within this length, on one line."""
    line = " ".join(message.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def with_remedy(reason: str, message: str) -> str:
    """The message with the remedy of its reason, within the bounds of the CRD."""
    remedy = REMEDIES.get(reason, "")
    if not remedy or remedy in message:
        return cut(message)
    tail = f"; {remedy}"
    return cut(message, MAX_MESSAGE - len(tail)) + tail
