"""The reason and the remedy of everything that a pass can fail with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.reasons import REASONS
from krt_operator import __version__
from krt_operator.constants import REFERENCE_PATIENCE, REFUSAL_PATIENCE, RETRY_PATIENCE
from krt_operator.engine.remedies import REMEDIES, cut
from krt_operator.errors import (
    KafkaAccessError,
    KafkaDefectError,
    KafkaUnreachableError,
    NameTakenError,
    PlanUnreadableError,
    RefusedError,
    ResourceUnreadableError,
    TransientError,
    UserError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

ERROR_LENGTH: Final = 640
"""Characters of an error that a message repeats, so that the remedy fits behind it."""


@dataclass(frozen=True)
class Failure:
    """Why a pass failed.

    Attributes:
        reason: CamelCase word for conditions and events.
        remedy: what to do about it; empty where the error says it.
        patience: seconds from its first occurrence until the run ends; None: as long as the
            deadline of the phase allows.
        passing: whether the next pass may well succeed.
    """

    reason: str
    remedy: str
    patience: float | None = None
    passing: bool = False


REFUSALS: Final[Mapping[str, str]] = {
    "exceeded quota": "free resources of the namespace's ResourceQuota, raise it, or use another "
    "namespace",
    "violates PodSecurity": "the pods of a test satisfy the level restricted: correct what "
    "spec.podTemplate or a mutating webhook adds, or lower the level that the namespace enforces",
    "admission webhook": "change the webhook's policy, or exempt the objects of the test from it",
    "ValidatingAdmissionPolicy": "change the policy, or exempt the objects of the test from it",
    "per Container is": "change the namespace's LimitRange, or the resources in the spec",
    "per Pod is": "change the namespace's LimitRange, or the resources in the spec",
    "cannot ": "give the controller this right: install the chart of the controller's release, and "
    "allow what a policy of the cluster forbids",
}
"""Words of a refusal to its remedy; nothing but the words of a message depends on them."""

REFUSED: Final = Failure(
    "RequestRefused", REASONS["RequestRefused"].remedy, patience=REFUSAL_PATIENCE
)

KNOWN: Final[Mapping[type[Exception], Failure]] = {
    PlanUnreadableError: Failure(
        "PlanUnreadable",
        f"controller {__version__} cannot continue a run of another release: run the test again",
        patience=0,
    ),
    ResourceUnreadableError: Failure(
        "ResourceUnreadable",
        f"controller {__version__} and the CRD are of different releases: install both of one "
        "release and create the test again",
        patience=REFUSAL_PATIENCE,
    ),
    KafkaUnreachableError: Failure(
        "KafkaUnreachable", REASONS["KafkaUnreachable"].remedy, patience=REFERENCE_PATIENCE
    ),
    NameTakenError: Failure("NameTaken", REASONS["NameTaken"].remedy, patience=RETRY_PATIENCE),
    KafkaDefectError: Failure("KafkaRequestFailed", REASONS["KafkaRequestFailed"].remedy),
    TransientError: Failure("RequestFailed", REASONS["RequestFailed"].remedy, passing=True),
}
"""Errors by their class; a subclass has the reason of its base."""

DEFECT: Final = Failure("ControllerDefect", REASONS["ControllerDefect"].remedy)


def classify(error: Exception) -> Failure:
    """The reason of an error, with its remedy."""
    if isinstance(error, RefusedError):
        remedies = (remedy for words, remedy in REFUSALS.items() if words in str(error))
        remedy = next(remedies, REFUSED.remedy)
        return Failure(REFUSED.reason, remedy, REFUSED.patience)
    if isinstance(error, UserError):
        # In CleaningUp, such as a topic that Kafka does not let the user delete.
        return Failure(error.reason, "", REFERENCE_PATIENCE)
    if isinstance(error, KafkaAccessError):
        return Failure(error.reason, REMEDIES.get(error.reason, ""), REFERENCE_PATIENCE)
    known = (failure for class_, failure in KNOWN.items() if isinstance(error, class_))
    return next(known, DEFECT)


def message_of(error: Exception, failure: Failure) -> str:
    """What happened, and the remedy, as a message for conditions and events."""
    text = " ".join(str(error).split())[:ERROR_LENGTH]
    if failure is DEFECT:
        text = f"{type(error).__name__}: {text}"
    return cut(f"{text}; {failure.remedy}" if failure.remedy else text)
