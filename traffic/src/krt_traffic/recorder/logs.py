"""The logs of members and traffic, from their first line on, each line once."""

from __future__ import annotations

import json
import logging
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from krt_contract.labels import Component
from krt_contract.sinks.lines import line_folder
from krt_contract.timeline import EVIDENCE, Source
from krt_traffic.clock import wall
from krt_traffic.kubernetes.client import ApiError, Stream
from krt_traffic.recorder.failures import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from krt_contract.sinks.sink import LineFolder, LineWriter
    from krt_traffic.kubernetes.client import KubernetesClient
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.pods import Container
    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

FOLLOWED = frozenset(
    {
        Component.KAFKA,
        Component.ZOOKEEPER,
        Component.CONTROLLER,
        Component.PRODUCER,
        Component.CONSUMER,
    }
)
"""Components whose logs are evidence."""

RETRY_SECONDS = 0.5
"""Between two attempts while a container is restarting or the API server is unavailable."""

JOIN_SECONDS = 10.0
"""How long the end waits for a thread: twice what the API server may take for an answer's head."""

TAIL_BYTES = 65_536
NOT_FOUND = 404
MARK = b'{"krt":'
"""How the lines of the member's wrapper begin."""

VERSION = re.compile(rb"^\[[^]]*\] INFO Kafka version: (\S+) \(org\.apache\.kafka\.")
"""What a broker or KRaft controller logs as it starts (Kafka's AppInfoParser)."""


class LogFollower:
    """Follows one container's log until its pod is gone, in a thread of its own.

    A line in the file is Kubernetes' timestamp, the container's name in brackets where it is an
    ephemeral one, and the text.

    Args:
        client: of the API server.
        container: the container.
        folder: the bundle's folder of logs, or a path to where it is.
        timeline: where the lines of the member's wrapper go as events.
        gone: whether a pod uid is known to be gone.
        version: called with the version of Kafka that a member logs.
        failures: starts the thread, and learns what ends it.
    """

    def __init__(  # noqa: PLR0913 (what is followed, where it goes, and the recorder's services)
        self,
        client: KubernetesClient,
        container: Container,
        folder: LineFolder | Path,
        timeline: Timeline,
        gone: Callable[[str], bool],
        *,
        version: Callable[[str], None],
        failures: Failures,
    ) -> None:
        self._client, self._container, self._timeline = client, container, timeline
        self._gone, self._version = gone, version
        self._folder = line_folder(folder)
        self._file = f"{container.pod}-{container.uid}.log"
        self._name = f"logs/{self._file}"
        self._last = ""
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._gap_start: int | None = None
        self._thread = failures.thread(self._run, f"log {container.pod}/{container.name}")

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; ``join`` waits for it."""
        self._stop.set()
        if stream := self._stream:
            stream.close()

    def join(self) -> None:
        """Wait until what was read is in the file."""
        self._thread.join(timeout=JOIN_SECONDS)

    def _run(self) -> None:
        # Here, where a store that is unavailable keeps nobody else waiting: whoever makes a
        # follower watches the pods, and stamps what it sees with the time at which it sees it.
        with writing(self._name):
            tail = self._folder.tail(self._file, TAIL_BYTES)
        ephemeral = self._container.name if self._container.ephemeral else ""
        self._last = last_timestamp(*tail, ephemeral)
        self._follow()
        self._end_gap(at_end=True)

    def _follow(self) -> None:
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
                self._gap_start = self._gap_start or wall()
            else:
                self._end_gap(at_end=False)
                self._read(stream)
            # A container that ended for good writes no more; a restarted one does.
            if self._gone(self._container.uid) or self._container.ephemeral:
                return
            self._stop.wait(RETRY_SECONDS)

    def _end_gap(self, *, at_end: bool) -> None:
        if self._gap_start is not None:
            stream = f"log {self._container.pod}"
            self._timeline.gap(stream, self._gap_start, wall(), at_end=at_end)
            self._gap_start = None

    def _read(self, stream: Stream) -> None:
        self._stream = stream
        label = b"[%s] " % self._container.name.encode() if self._container.ephemeral else b""
        try:
            with self._opened() as file:
                for line in _lines(stream, self._container.pod):
                    stamp, _, text = line.partition(b" ")
                    time = stamp.decode("ascii", "replace")
                    # sinceTime is inclusive, and kubelet and API round it as they like.
                    if not later(time, self._last):
                        continue
                    with writing(self._name):
                        file.write(stamp + b" " + label + text + b"\n")
                    if text.startswith(MARK):
                        self._member(text)
                    elif match := VERSION.match(text):
                        self._version(match[1].decode())
                    self._last = time
        finally:
            self._stream = None
            stream.release()

    @contextmanager
    def _opened(self) -> Iterator[LineWriter]:
        """Open the file to append to it; what was appended is durable afterwards."""
        with writing(self._name):
            file = self._folder.open(self._file)
        try:
            yield file
        finally:
            with writing(self._name):
                file.close()

    def _member(self, text: bytes) -> None:
        if silence := parse_silence(text):
            self._timeline.gap(EVIDENCE, *silence)
            return
        event = parse_member_line(text)
        if event is None:
            return
        detail = {"uid": self._container.uid, "member": event.pop("member", "")}
        name, at = event.pop("event"), event.pop("at")
        event.pop("krt")
        self._timeline.write(Source.MEMBER, name, self._container.pod, detail | event, at=at)


def _lines(stream: Stream, pod: str) -> Iterator[bytes]:
    """Yield a log's lines until it ends or its connection breaks."""
    try:
        yield from stream
    except OSError as error:
        log.info("log of %s interrupted, resuming: %s", pod, error)


def parse_member_line(text: bytes) -> dict[str, Any] | None:
    """Return a line of the member's wrapper as an object, or None where it is another line."""
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if event.get("krt") != "member" or not isinstance(event.get("at"), int):
        return None
    return event if isinstance(event.get("event"), str) else None


def parse_silence(text: bytes) -> tuple[int, int] | None:
    """Return from when to when a pod says that the evidence store was unavailable, UTC µs.

    None where the line says something else.
    """
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if event.get("krt") != EVIDENCE:
        return None
    start, end = event.get("from"), event.get("to")
    return (start, end) if isinstance(start, int) and isinstance(end, int) else None


def later(time: str, last: str) -> bool:
    """Return whether a log timestamp is after another; "" is before all.

    The kubelet drops trailing zeros of the fraction, so the texts do not compare as they are.
    """
    return _padded(time) > _padded(last)


def last_timestamp(tail: bytes, cut: bool, container: str) -> str:
    """Return the last timestamp a log has of a container (its main one: ""), or "".

    Args:
        tail: the end of the log.
        cut: whether something is before it.
        container: name of the container.
    """
    lines = tail.split(b"\n")
    # Where the tail began within a line, its rest looks like a line of its own.
    for line in reversed(lines[1:] if cut else lines):
        stamp, _, text = line.partition(b" ")
        of_container = text.startswith(b"[%s] " % container.encode()) if container else True
        if stamp and of_container:
            return stamp.decode("ascii", "replace")
    return ""


def _padded(time: str) -> str:
    seconds, _, fraction = time.rstrip("Z").partition(".")
    return f"{seconds}.{fraction:0<9}" if seconds else ""
