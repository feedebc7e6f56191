"""Every reason code of conditions, events and `status.inconclusiveReasons`, with its remedy.

The controller takes the remedies of its messages from here, `krt explain` its advice, and the page
docs/reference/reasons.md is rendered from it. Tests hold that it has the codes that controller and
scoring give, and no others.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from krt_contract.reasons.reason import COVERAGE, EITHER, EVIDENCE, Reason
from krt_contract.reasons.run import PROGRESS, RUN
from krt_contract.reasons.scoring import SCORING
from krt_contract.reasons.setup import SETUP

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COVERAGE", "EITHER", "EVIDENCE", "PROGRESS", "REASONS", "RUN", "SCORING", "SETUP"]

REASONS: Final[Mapping[str, Reason]] = MappingProxyType(
    {reason.code: reason for reason in (*SETUP, *RUN, *SCORING, *PROGRESS)}
)
"""Code to what is known of it."""
