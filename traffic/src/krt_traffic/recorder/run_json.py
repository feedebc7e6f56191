"""run.json: the plan, and the ids of the images that ran."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from krt_contract.bundle import write_json

if TYPE_CHECKING:
    from pathlib import Path


class RunJson:
    """Writes the file at once, and again whenever another image is seen.

    Args:
        path: of run.json.
        plan: plan.json as it is.
    """

    def __init__(self, path: Path, plan: dict[str, Any]) -> None:
        self._path = path
        self._document = dict(plan) | {"imageIds": {}}
        self._lock = threading.Lock()
        write_json(path, self._document)

    def image(self, component: str, image_id: str) -> None:
        """Add the image a component runs, by the id that the container runtime gives it."""
        with self._lock:
            known = self._document["imageIds"].setdefault(component, [])
            if image_id and image_id not in known:
                known.append(image_id)
                known.sort()
                write_json(self._path, self._document)
