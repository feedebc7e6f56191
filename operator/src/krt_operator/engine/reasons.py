"""The inconclusive reasons of a run, within the bounds of the CRD: none is dropped unseen."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Final

from krt_operator.api.status import (
    MAX_INCONCLUSIVE_REASONS,
    MAX_OMITTED_REASONS,
    InconclusiveReason,
    InconclusiveReasonKind,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

OMITTED: Final = "ReasonsOmitted"
"""Code of the last entry, which says how many reasons were not kept."""

FOR_NEW_CODES: Final = 16
"""Places that only the first reason of a code may take, so that what the run is decided by is in
the list: phases ask whether a code is there. The controller has ten codes."""


def is_known(status: Status, code: str, message: str) -> bool:
    """Whether this reason was added before, kept or omitted."""
    return _omitted(code, message) in status.omitted_reasons or any(
        reason.code == code and reason.message == message for reason in status.inconclusive_reasons
    )


def with_reason(status: Status, new: InconclusiveReason) -> Status:
    """The status with one more reason; unchanged where the reason is known.

    A reason that does not fit is counted in the last entry, once.
    """
    if is_known(status, new.code, new.message):
        return status
    kept: list[InconclusiveReason] = []
    omitted = list(status.omitted_reasons)
    last = next((each for each in status.inconclusive_reasons if each.code == OMITTED), None)
    evidence = last is not None and last.kind is InconclusiveReasonKind.EVIDENCE
    # All of them, because another controller may have filled the list to its end.
    for reason in (*status.inconclusive_reasons, new):
        if reason.code == OMITTED:
            continue
        first = all(other.code != reason.code for other in kept)
        if len(kept) < MAX_INCONCLUSIVE_REASONS - 1 - (0 if first else FOR_NEW_CODES):
            kept.append(reason)
        else:
            omitted.append(_omitted(reason.code, reason.message))
            evidence |= reason.kind is InconclusiveReasonKind.EVIDENCE
    if not omitted:
        return status.replace(inconclusive_reasons=tuple(kept))
    counted = tuple(omitted[:MAX_OMITTED_REASONS])
    kind = InconclusiveReasonKind.EVIDENCE if evidence else InconclusiveReasonKind.COVERAGE
    # The first time stays: the recorder takes an entry with another time for another one.
    at = new.at if last is None else last.at
    entry = InconclusiveReason(code=OMITTED, kind=kind, message=_message(counted), at=at)
    return status.replace(inconclusive_reasons=(*kept, entry), omitted_reasons=counted)


def _message(omitted: Sequence[str]) -> str:
    counts = Counter(entry.partition("/")[0] for entry in omitted)
    codes = ", ".join(f"{code} {count}" for code, count in sorted(counts.items()))
    return (
        f"at least {len(omitted)} more reasons do not fit into the status: {codes}; the "
        "controller's log has all of them. The first reasons say what to do"
    )


def _omitted(code: str, message: str) -> str:
    return f"{code}/{hashlib.sha256(message.encode()).hexdigest()[:12]}"
