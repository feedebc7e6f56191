"""The deletion of finished tests after `ttlSecondsAfterFinished`.

Daemons do not do it: they end with their run, so that a finished test has no finalizer.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from krt_contract.labels import KIND
from krt_operator.api.status import Phase
from krt_operator.engine.progress import Deletion

if TYPE_CHECKING:
    from krt_operator.engine.views import Json


def expired(test: Json, now: datetime) -> Deletion | None:
    """The deletion of a test whose `ttlSecondsAfterFinished` has passed; None of any other."""
    seconds = test.get("spec", {}).get("ttlSecondsAfterFinished")
    status = test.get("status") or {}
    ended, phase = status.get("completionTime"), status.get("phase")
    if seconds is None or not ended or not phase or not Phase(phase).terminal:
        return None
    if now < datetime.fromisoformat(ended) + timedelta(seconds=seconds):
        return None
    return Deletion(KIND, test["metadata"]["name"], test["metadata"]["uid"])
