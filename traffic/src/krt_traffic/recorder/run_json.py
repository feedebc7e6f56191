"""run.json: the plan, the images that ran, versions of Kafka and its client, Kafka's features."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from krt_contract.sinks.folder import FileDocument
from krt_traffic.recorder.failures import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_contract.metadata import HistorySource
    from krt_contract.sinks.sink import Document
    from krt_traffic.recorder.failures import Failures

NAME = "run.json"


class RunJson:
    """Writes the file at once, and again whenever another image, version or feature is seen.

    What an earlier recorder of the run saw is kept: it is not seen again. One thread writes it.

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
        with writing(NAME):
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
        with writing(NAME):
            versions: dict[str, str] = self._document["versions"]
            if versions.get("kafka") != version:
                self._replace("versions", versions | {"kafka": version})

    def features(self, levels: Mapping[str, int]) -> None:
        """Set the features that the cluster has finalized; none says that it did not report them.

        Args:
            levels: feature → its level.

        Raises:
            RecordingError: the file could not be written.
        """
        with writing(NAME):
            metadata: dict[str, Any] = self._document["metadata"]
            if levels and metadata.get("features") != levels:
                self._replace("metadata", metadata | {"features": dict(levels)})

    def _replace(self, key: str, value: Any) -> None:
        self._file.write(self._document | {key: value})
        self._document[key] = value


class Additions:
    """Writes what is added to run.json in one thread, in order: nobody waits for a store.

    Who adds records something else meanwhile, and the time it waited would be missing from that.

    Args:
        run_json: the file.
        failures: starts the thread, and takes the ``RecordingError`` that ends it.
    """

    def __init__(self, run_json: RunJson, failures: Failures) -> None:
        self._run_json = run_json
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = failures.thread(self._write, NAME)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def image(self, component: str, image_id: str) -> None:
        """Add an image, as ``RunJson.image`` does."""
        self._queue.put(partial(self._run_json.image, component, image_id))

    def kafka(self, version: str) -> None:
        """Set the version of Kafka, as ``RunJson.kafka`` does."""
        self._queue.put(partial(self._run_json.kafka, version))

    def features(self, levels: Mapping[str, int]) -> None:
        """Set the features, as ``RunJson.features`` does."""
        self._queue.put(partial(self._run_json.features, dict(levels)))

    def finish(self) -> None:
        """Return when all that was added is written, or the thread has failed."""
        self._queue.put(None)
        self._thread.join()

    def _write(self) -> None:
        while (add := self._queue.get()) is not None:
            add()
