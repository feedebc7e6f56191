"""run.json: the plan, the ids of the images that ran, and the version of the Kafka client."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from krt_contract.bundle import write_json
from krt_traffic.recorder.failures import writing

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.metadata import HistorySource


class RunJson:
    """Writes the file at once, and again whenever another image is seen.

    Args:
        path: of run.json.
        plan: plan.json as it is.
        client: version of the Kafka client that producers and consumers run.
        source: where the cluster's history is read.

    Raises:
        RecordingError: the file could not be written.
    """

    def __init__(
        self, path: Path, plan: dict[str, Any], client: str, source: HistorySource
    ) -> None:
        self._path = path
        self._document = dict(plan) | {
            "imageIds": {},
            "versions": {**plan.get("versions", {}), "client": client},
            "history": {"source": str(source), "strength": str(source.strength)},
        }
        self._lock = threading.Lock()
        with writing(path):
            write_json(path, self._document)

    def image(self, component: str, image_id: str) -> None:
        """Add the image a component runs, by the id that the container runtime gives it.

        Raises:
            RecordingError: the file could not be written.
        """
        with self._lock, writing(self._path):
            images: dict[str, list[str]] = self._document["imageIds"]
            known = images.get(component, [])
            if image_id and image_id not in known:
                extended = images | {component: sorted([*known, image_id])}
                write_json(self._path, self._document | {"imageIds": extended})
                self._document["imageIds"] = extended
