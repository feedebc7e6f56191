"""Remedies of reasons whose messages say what happened: what to do is the same each time.

The table of reasons has them. Where the remedy depends on what happened, the message has it
already. A test walks every reason that the controller can give and checks that one of the two is
the case.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from krt_contract.reasons import REASONS

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_MESSAGE: Final = 1024
"""Characters of a message, as the CRD bounds it."""

REMEDIES: Final[Mapping[str, str]] = MappingProxyType(
    {reason.code: reason.remedy for reason in REASONS.values() if reason.appended}
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
