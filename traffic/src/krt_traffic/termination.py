"""The termination message: how a pod ended, in JSON that the controller reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_BYTES = 4096
"""Bytes that Kubernetes keeps of a termination message."""

ERROR_LIMIT = 500
"""Characters kept of an error, so that the counts always fit beside it."""


def message(  # noqa: PLR0913 (the fields of the message)
    kind: str,
    counts: dict[str, int],
    *,
    reason: str,
    positions: dict[str, int] | None = None,
    error: str | None = None,
    field: str | None = None,
) -> str:
    """Return the message as one line of JSON of at most LIMIT_BYTES.

    Positions that do not fit are left out from the end of their sorted order, and
    ``positionsLeftOut`` says how many.

    Args:
        kind: producer, consumer, recorder, replicas or clients; of a pod that cannot start,
            its role.
        counts: totals over the incarnation.
        reason: why it ended.
        positions: ``topic-partition`` → last acked offset or next offset.
        error: the error that ended it, if one did.
        field: path in the resource of what the error is about, where it kept the pod from starting;
            empty where there is none.
    """
    body: dict[str, Any] = {"kind": kind, "counts": counts, "reason": reason}
    body["error"] = error[:ERROR_LIMIT] if error else None
    if field is not None:
        body["field"] = field
    if positions is None:
        return _encode(body)
    kept = sorted(positions.items())
    while True:
        body["positions"] = dict(kept)
        if len(kept) < len(positions):
            body["positionsLeftOut"] = len(positions) - len(kept)
        text = _encode(body)
        if len(text.encode()) <= LIMIT_BYTES or not kept:
            return text
        kept = kept[: len(kept) * 9 // 10]


def write(path: Path, text: str) -> None:
    """Write the message to the file Kubernetes reads it from."""
    path.write_text(text, encoding="utf-8")


def _encode(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"))
