"""A watch that outlives the API server: list, watch on, resume where it broke off."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any, Protocol

from krt_traffic.clock import both, mono
from krt_traffic.kube import Api, ApiError, Stream

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

GONE = 410
"""HTTP status of a resource version too old to resume from."""

SERVER_TIMEOUT_SECONDS = 300
"""When the API server ends a watch of its own accord; resuming costs one request."""

BACKOFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Waits between attempts to reconnect: the first soon, for the API server's ordinary restarts."""


class Sink(Protocol):
    """Who hears what a watch sees."""

    def listed(self, items: list[dict[str, Any]]) -> None:
        """Take the whole state: what is not among ``items`` is gone."""

    def changed(self, kind: str, item: dict[str, Any]) -> None:
        """Take one change; ``kind`` is ADDED, MODIFIED or DELETED."""


class Watch:
    """Follows a collection in a thread of its own until it is stopped.

    Args:
        api: the cluster's API.
        path: path of the collection.
        selector: query parameters that choose within it.
        sink: who hears; called from the watch's thread only.
        gap: called with the wall-clock times between which the watch was blind.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        selector: dict[str, str],
        sink: Sink,
        gap: Callable[[int, int], None] | None = None,
    ) -> None:
        self._api, self._path, self._selector = api, path, selector
        self._sink, self._gap = sink, gap
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._version = ""
        self._thread = threading.Thread(target=self._run, name=f"watch {path}", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch and wait for its thread."""
        self._stop.set()
        if stream := self._stream:
            stream.close()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        failures = 0
        blind: tuple[int, int] | None = None
        while not self._stop.is_set():
            try:
                if not self._version:
                    self._list()
                stream = self._api.lines(
                    self._path,
                    **self._selector,
                    watch="1",
                    allowWatchBookmarks="true",
                    resourceVersion=self._version,
                    timeoutSeconds=str(SERVER_TIMEOUT_SECONDS),
                )
                if blind is not None and self._gap is not None:
                    self._gap(blind[0], blind[0] + mono() - blind[1])
                failures, blind = 0, None
                self._read(stream)
            except ApiError as error:
                if error.status == GONE:
                    self._version = ""
                else:
                    log.warning("watching %s: the API refused: %s", self._path, error)
            except OSError as error:
                log.warning("watching %s: %s; resuming", self._path, error)
            else:
                continue
            if blind is None:
                blind = both()
            self._stop.wait(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
            failures += 1

    def _list(self) -> None:
        listed = self._api.get(self._path, **self._selector)
        self._sink.listed(listed.get("items") or [])
        self._version = listed["metadata"]["resourceVersion"]

    def _read(self, stream: Stream) -> None:
        self._stream = stream
        try:
            if self._stop.is_set():
                return
            for line in stream:
                event = _parse(line)
                item = event["object"]
                if event["type"] == "ERROR":
                    raise ApiError(int(item.get("code") or 0), str(item.get("message")))
                self._version = item["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._sink.changed(event["type"], item)
        finally:
            self._stream = None
            stream.release()


def _parse(line: bytes) -> dict[str, Any]:
    try:
        return json.loads(line)  # type: ignore[no-any-return]
    except ValueError as error:
        raise ConnectionError(f"the stream broke off inside a line: {error}") from error
