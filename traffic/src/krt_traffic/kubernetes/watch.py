"""A watch that outlives the API server: list, watch on, resume where it broke off."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol

import msgspec
from lightkube.core.decoders import decode_object, decode_status, decode_watch_event

from krt_traffic.clock import both, mono
from krt_traffic.kubernetes.client import ApiError
from krt_traffic.kubernetes.objects import Object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_traffic.kubernetes.client import KubernetesClient, Stream

log = logging.getLogger(__name__)

GONE = 410
"""HTTP status of a resource version too old to resume from."""

SERVER_TIMEOUT_SECONDS = 300
"""When the API server ends a watch of its own accord; resuming costs one request."""

BACKOFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Waits between attempts to reconnect: the first soon, for the API server's ordinary restarts."""


Gap = Callable[[int, int, bool], None]
"""Takes from when until when a watch saw nothing (UTC µs), and whether it lasted to its end."""


def daemon(work: Callable[[], None], name: str) -> threading.Thread:
    """Return a thread that ends with the process."""
    return threading.Thread(target=work, name=name, daemon=True)


class Sink(Protocol[Object]):
    """Receives what a watch sees."""

    def listed(self, items: list[Object]) -> None:
        """Take the complete state: an object that is not among ``items`` is gone."""

    def changed(self, kind: str, item: Object) -> None:
        """Take one change; ``kind`` is ADDED, MODIFIED or DELETED."""


class Watch(Generic[Object]):
    """Follows the objects of one kind in a thread of its own until it is stopped.

    Args:
        client: of the API server.
        resource: lightkube's class of the objects.
        selector: query parameters that choose among them.
        sink: receives the objects; called from the watch's thread only.
        gap: called with the UTC microseconds between which the watch saw nothing, and whether that
            lasted until the watch was stopped.
        thread: makes the watch's thread from its work and its name; what the sink raises ends it.
    """

    def __init__(  # noqa: PLR0913 (what is watched, and where what it sees goes)
        self,
        client: KubernetesClient,
        resource: type[Object],
        selector: Mapping[str, str],
        sink: Sink[Object],
        *,
        gap: Gap | None = None,
        thread: Callable[[Callable[[], None], str], threading.Thread] = daemon,
    ) -> None:
        self._client, self._selector = client, selector
        self._resource = resource
        self._sink, self._gap = sink, gap
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._version = ""
        self._name = resource.__name__
        self._gap_start: tuple[int, int] | None = None
        self._thread = thread(self._run, f"watch {self._name}")

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
        self._follow()
        self._end_gap(at_end=True)

    def _follow(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                if not self._version:
                    self._list()
                stream = self._client.watch(
                    self._resource,
                    **self._selector,
                    allowWatchBookmarks="true",
                    resourceVersion=self._version,
                    timeoutSeconds=str(SERVER_TIMEOUT_SECONDS),
                )
                self._end_gap(at_end=False)
                failures = 0
                self._read(stream)
            except ApiError as error:
                if error.status == GONE:
                    self._version = ""
                else:
                    log.warning(
                        "watch of %s refused by the API server, trying again: %s", self._name, error
                    )
            except OSError as error:
                if self._stop.is_set():
                    return
                log.warning("watch of %s interrupted, resuming: %s", self._name, error)
            else:
                continue
            if self._gap_start is None:
                self._gap_start = both()
            self._stop.wait(BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)])
            failures += 1

    def _end_gap(self, *, at_end: bool) -> None:
        if self._gap_start is None:
            return
        start, began = self._gap_start
        if self._gap is not None:
            self._gap(start, start + mono() - began, at_end)
        self._gap_start = None

    def _list(self) -> None:
        items, version = self._client.list(self._resource, self._selector)
        self._sink.listed(items)
        self._version = version

    def _read(self, stream: Stream) -> None:
        self._stream = stream
        try:
            if self._stop.is_set():
                return
            for line in stream:
                self._event(line)
        finally:
            self._stream = None
            stream.release()

    def _event(self, line: bytes) -> None:
        try:
            event = decode_watch_event(line)
            if event.type == "ERROR":
                status = decode_status(event.object)
                raise ApiError(status.code or 0, status.message or "no message")
            item = decode_object(event.object, self._resource)
        except msgspec.DecodeError as error:
            raise ConnectionError(f"not an event of {self._name}: {error}") from error
        if event.type != "BOOKMARK":
            self._sink.changed(event.type, item)
        self._version = item.metadata.resource_version
