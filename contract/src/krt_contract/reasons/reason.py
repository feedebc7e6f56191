"""What is known of a reason code, apart from the message that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class InconclusiveReasonKind(StrEnum):
    """What an inconclusive reason puts in doubt."""

    EVIDENCE = "evidence"
    """It makes findings void."""
    COVERAGE = "coverage"
    """The run tested less than it should."""


EVIDENCE: Final = InconclusiveReasonKind.EVIDENCE
COVERAGE: Final = InconclusiveReasonKind.COVERAGE
EITHER: Final = "evidence or coverage"
"""Kind of the reason that stands for several others."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason code of a condition, an event or `status.inconclusiveReasons`.

    Attributes:
        code: the CamelCase word.
        meaning: what happened, a part of a sentence.
        remedy: what to do about it; empty where there is nothing to do.
        kind: of an inconclusive reason; empty where it is the reason of conditions or events only.
        void: what an inconclusive reason of kind evidence makes void; empty for nothing.
        appended: whether the controller ends every message that has this reason with the remedy.
            Otherwise its messages have a remedy of their own, which depends on what happened.
    """

    code: str
    meaning: str
    remedy: str = ""
    kind: str = ""
    void: str = ""
    appended: bool = False
