"""The logs of members and traffic, from their first line on, each line once."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

from krt_contract.bundle import make_directory
from krt_contract.labels import Component
from krt_contract.timeline import Source
from krt_traffic.clock import wall
from krt_traffic.kubernetes.client import ApiError, Stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from krt_traffic.kubernetes.client import KubernetesClient
    from krt_traffic.recorder.pods import Container
    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

FOLLOWED = frozenset({Component.KAFKA, Component.ZOOKEEPER, Component.PRODUCER, Component.CONSUMER})
"""Components whose logs are evidence."""

RETRY_SECONDS = 0.5
"""Between two attempts while a container is restarting or the API server is unavailable."""

TAIL_BYTES = 65_536
NOT_FOUND = 404
MARK = b'{"krt":'
"""How the lines of the member's wrapper begin."""


class LogFollower:
    """Follows one container's log until its pod is gone, in a thread of its own.

    A line in the file is Kubernetes' timestamp, the container's name in brackets where it is an
    ephemeral one, and the text.

    Args:
        client: of the API server.
        container: the container.
        folder: the bundle's folder of logs.
        timeline: where the lines of the member's wrapper go as events.
        gone: whether a pod uid is known to be gone.
    """

    def __init__(
        self,
        client: KubernetesClient,
        container: Container,
        folder: Path,
        timeline: Timeline,
        gone: Callable[[str], bool],
    ) -> None:
        self._client, self._container, self._timeline = client, container, timeline
        self._gone = gone
        make_directory(folder)
        self._file = folder / f"{container.pod}-{container.uid}.log"
        self._last = last_timestamp(self._file, container.name if container.ephemeral else "")
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"log {container.pod}/{container.name}", daemon=True
        )

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End, leaving what was read in the file."""
        self._stop.set()
        if stream := self._stream:
            stream.close()

    def _run(self) -> None:
        gap_start: int | None = None
        while not self._stop.is_set():
            query = {"container": self._container.name, "follow": "true", "timestamps": "true"}
            if self._last:
                query["sinceTime"] = self._last
            try:
                stream = self._client.log(self._container.pod, **query)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return
                log.debug("log of %s: %s", self._container.pod, error)
            except OSError as error:
                log.info("log of %s interrupted, resuming: %s", self._container.pod, error)
                gap_start = gap_start or wall()
            else:
                if gap_start is not None:
                    self._timeline.gap(f"log {self._container.pod}", gap_start, wall())
                    gap_start = None
                self._read(stream)
            # A container that ended for good writes no more; a restarted one does.
            if self._gone(self._container.uid) or self._container.ephemeral:
                return
            self._stop.wait(RETRY_SECONDS)

    def _read(self, stream: Stream) -> None:
        self._stream = stream
        label = b"[%s] " % self._container.name.encode() if self._container.ephemeral else b""
        try:
            with self._file.open("ab", buffering=0) as handle:
                for line in stream:
                    stamp, _, text = line.partition(b" ")
                    time = stamp.decode("ascii", "replace")
                    # sinceTime is inclusive, and kubelet and API round it as they like.
                    if not later(time, self._last):
                        continue
                    self._last = time
                    handle.write(stamp + b" " + label + text + b"\n")
                    if text.startswith(MARK):
                        self._member(text)
        except OSError as error:
            log.info("log of %s interrupted, resuming: %s", self._container.pod, error)
        finally:
            self._stream = None
            stream.release()

    def _member(self, text: bytes) -> None:
        event = parse_member_line(text)
        if event is None:
            return
        detail = {"uid": self._container.uid, "member": event.pop("member", "")}
        name, at = event.pop("event"), event.pop("at")
        event.pop("krt")
        self._timeline.write(Source.MEMBER, name, self._container.pod, detail | event, at=at)


def parse_member_line(text: bytes) -> dict[str, Any] | None:
    """Return a line of the member's wrapper as an object, or None where it is another line."""
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if event.get("krt") != "member" or not isinstance(event.get("at"), int):
        return None
    return event if isinstance(event.get("event"), str) else None


def later(time: str, last: str) -> bool:
    """Return whether a log timestamp is after another; "" is before all.

    The kubelet drops trailing zeros of the fraction, so the texts do not compare as they are.
    """
    return _padded(time) > _padded(last)


def last_timestamp(path: Path, container: str) -> str:
    """Return the last timestamp a file has of a container (its main one: ""), or ""."""
    if not path.exists():
        return ""
    with path.open("rb") as handle:
        handle.seek(max(0, path.stat().st_size - TAIL_BYTES))
        lines = handle.read().split(b"\n")
    for line in reversed(lines[1:] if len(lines) > 1 else lines):
        stamp, _, text = line.partition(b" ")
        of_container = text.startswith(b"[%s] " % container.encode()) if container else True
        if stamp and of_container:
            return stamp.decode("ascii", "replace")
    return ""


def _padded(time: str) -> str:
    seconds, _, fraction = time.rstrip("Z").partition(".")
    return f"{seconds}.{fraction:0<9}" if seconds else ""
