"""run.json: the plan, the images that ran, versions of Kafka and its client, Kafka's features."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krt_contract.sinks.folder import FileDocument
from krt_traffic.recorder.failures import writing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.metadata import HistorySource
    from krt_contract.sinks.sink import Document

NAME = "run.json"


class RunJson:
    """Writes the file at once, and again whenever another image, version or feature is seen.

    What an earlier recorder of the run saw is kept: it is not seen again.

    Args:
        document: run.json, or a path to it.
        plan: plan.json as it is.
        client: version of the Kafka client that producers and consumers run.
        source: where the cluster's history is read.

    Raises:
        RecordingError: the file could not be written.
    """

    def __init__(
        self,
        document: Document | Path,
        plan: dict[str, Any],
        client: str,
        source: HistorySource,
    ) -> None:
        self._file = FileDocument(document) if isinstance(document, Path) else document
        self._lock = threading.Lock()
        with writing(NAME):
            earlier = self._file.read()
            self._document = dict(plan) | {
                "imageIds": earlier.get("imageIds", {}),
                "versions": earlier.get("versions", {})
                | plan.get("versions", {})
                | {"client": client},
                "history": {"source": str(source), "strength": str(source.strength)},
            }
            if features := earlier.get("metadata", {}).get("features"):
                self._document["metadata"] = plan["metadata"] | {"features": features}
            self._file.write(self._document)

    def image(self, component: str, image_id: str) -> None:
        """Add the image a component runs, by the id that the container runtime gives it.

        Raises:
            RecordingError: the file could not be written.
        """
        with self._lock, writing(NAME):
            images: dict[str, list[str]] = self._document["imageIds"]
            known = images.get(component, [])
            if image_id and image_id not in known:
                extended = images | {component: sorted([*known, image_id])}
                self._replace("imageIds", extended)

    def kafka(self, version: str) -> None:
        """Add the version of Kafka that a member reports, the last one where they differ.

        Raises:
            RecordingError: the file could not be written.
        """
        with self._lock, writing(NAME):
            versions: dict[str, str] = self._document["versions"]
            if versions.get("kafka") != version:
                self._replace("versions", versions | {"kafka": version})

    def features(self, levels: Mapping[str, int]) -> None:
        """Set the features that the cluster has finalized; none says that it did not tell them.

        Args:
            levels: feature → its level.

        Raises:
            RecordingError: the file could not be written.
        """
        with self._lock, writing(NAME):
            metadata: dict[str, Any] = self._document["metadata"]
            if levels and metadata.get("features") != levels:
                self._replace("metadata", metadata | {"features": dict(levels)})

    def _replace(self, key: str, value: Any) -> None:
        self._file.write(self._document | {key: value})
        self._document[key] = value
