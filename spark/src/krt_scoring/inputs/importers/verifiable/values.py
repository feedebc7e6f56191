"""VerifiableProducer's values: ``[PREFIX.]N``, N counted from 0 by one process."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krt_scoring.inputs.importers.verifiable.layout import Process

_VALUE = re.compile(r"^(?:(-?[0-9]+)\.)?([0-9]{1,18})$")

Owners = dict[tuple[str, str], "Process"]
"""(topic, prefix) → the process that sent such values; no prefix is the empty text."""


def parse(value: object) -> tuple[str, int] | None:
    """Return prefix and sequence number; None where the value is not VerifiableProducer's."""
    match = _VALUE.match(value) if isinstance(value, str) else None
    return (match[1] or "", int(match[2])) if match else None
