"""Kafka's cluster state as ZooKeeper has it: brokers, controller, leaders and ISRs, by watch.

Client metadata misses short states and delivery reports carry no leader epoch; the state nodes
have every epoch. A watch reports that something changed, not what: states between two reads are
missed, and the node's version, which is recorded, shows how many.
"""

from __future__ import annotations

import json
import logging
import queue
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.retry import KazooRetry

from krt_contract.kafka_security import SecretFile
from krt_contract.timeline import ZOOKEEPER, EventName, Source
from krt_traffic.clock import both

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONTROLLER = "/controller"
EPOCH = "/controller_epoch"

SESSION_SECONDS = 4.0
"""The recorder's own ZooKeeper session; short, so that it leaves a lost server soon."""

PING_SECONDS = 0.3
"""Time without an event after which ZooKeeper is asked whether it is there."""

STOP_SECONDS = 5.0
"""How long the end waits for an answer that is under way."""

_RESCAN, _PING = "rescan", "ping"


class Znodes:
    """Follows the nodes in a thread of its own, through ZooKeeper's outages.

    Args:
        hosts: ZooKeeper's host:port, comma-joined.
        timeline: where events go.
        failures: starts the thread.
        secrets: the folder with the files of TLS; None for servers in plaintext.
    """

    def __init__(
        self, hosts: str, timeline: Timeline, failures: Failures, secrets: Path | None = None
    ) -> None:
        self._timeline = timeline
        self._changed: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._brokers: dict[str, int] = {}
        self._controller = ""
        self._versions: dict[str, tuple[int, int]] = {}
        self._watched: set[str] = set()
        self._started = both()
        self._last_answer: tuple[int, int] | None = None
        self._client = KazooClient(
            hosts=hosts,
            timeout=SESSION_SECONDS,
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, backoff=2, max_delay=1.0),
            command_retry=KazooRetry(max_tries=0),
            **({} if secrets is None else _tls(secrets)),
        )
        self._client.add_listener(self._connection)
        self._thread: threading.Thread = failures.thread(self._run, "znodes")

    @property
    def connected(self) -> bool:
        """Whether there is a session now and its state has been read."""
        return bool(self._client.connected) and self._last_answer is not None

    def start(self) -> None:
        """Begin; returns at once, whether ZooKeeper is there or not."""
        self._started = both()
        self._client.start_async()
        self._thread.start()

    def stop(self) -> None:
        """End the session and the thread.

        Raises:
            RecordingError: a silence that lasts until now could not be recorded.
        """
        stopped = both()
        self._changed.put(None)
        self._thread.join(timeout=STOP_SECONDS)
        # Closing the client ends a request that a frozen server does not answer.
        self._client.stop()
        self._client.close()
        self._thread.join(timeout=STOP_SECONDS)
        self._record_silence(self._last_answer or self._started, stopped, at_end=True)

    def _connection(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._changed.put(_RESCAN)

    def _run(self) -> None:
        while True:
            try:
                path = self._changed.get(timeout=PING_SECONDS)
            except queue.Empty:
                path = _PING
            if path is None:
                return
            try:
                self._handle(path)
            except KazooException as error:
                # The connection was lost; its return puts a rescan into the queue.
                log.debug("ZooKeeper: %s: %r", path, error)

    def _handle(self, path: str) -> None:
        if path == _PING:
            if self._client.connected and self._last_answer is not None:
                self._client.exists("/")
                self._answered()
        elif path == _RESCAN:
            self._watched.clear()
            for top in (BROKERS, CONTROLLER, TOPICS):
                self._read(top)
            self._answered()
        else:
            self._watched.discard(path)
            self._read(path)

    def _answered(self) -> None:
        """Take that ZooKeeper answered; between two answers too far apart is a gap.

        The client notices a frozen server only seconds later, so its state is not enough.
        """
        moment = both()
        if self._last_answer is not None:
            self._record_silence(self._last_answer, moment, at_end=False)
        self._last_answer = moment

    def _record_silence(
        self, since: tuple[int, int], until: tuple[int, int], *, at_end: bool
    ) -> None:
        start, began = since
        self._timeline.gap(ZOOKEEPER, start, start + until[1] - began, at_end=at_end)

    def _read(self, path: str) -> None:
        if path in self._watched:
            return
        if path == BROKERS:
            self._read_brokers()
        elif path == CONTROLLER:
            self._read_controller()
        elif path.endswith("/state"):
            self._read_partition(path)
        else:
            self._read_children(path)

    def _children(self, path: str) -> list[str]:
        self._watched.add(path)
        try:
            return sorted(self._client.get_children(path, watch=self._on_event))
        except NoNodeError:
            if self._client.exists(path, watch=self._on_event) is not None:
                self._changed.put(path)
            return []

    def _get(self, path: str) -> tuple[dict[str, Any], Any] | None:
        self._watched.add(path)
        try:
            data, stat = self._client.get(path, watch=self._on_event)
        except NoNodeError:
            if self._client.exists(path, watch=self._on_event) is not None:
                self._changed.put(path)
            return None
        return json.loads(data or b"{}"), stat

    def _on_event(self, event: Any) -> None:
        if event.path:
            self._changed.put(event.path)

    def _read_brokers(self) -> None:
        present: dict[str, tuple[dict[str, Any], Any]] = {}
        for broker in self._children(BROKERS):
            try:
                data, stat = self._client.get(f"{BROKERS}/{broker}")
            except NoNodeError:
                continue
            present[broker] = (json.loads(data), stat)
        for broker, epoch in list(self._brokers.items()):
            if broker not in present or present[broker][1].czxid != epoch:
                self._timeline.write(
                    Source.BROKER, EventName.UNREGISTERED, broker, {"epoch": epoch}
                )
                del self._brokers[broker]
        for broker, (data, stat) in present.items():
            if broker not in self._brokers:
                detail = {
                    "epoch": stat.czxid,
                    "host": data.get("host") or _host(data),
                    "rack": data.get("rack"),
                }
                at = stat.ctime * 1000
                self._timeline.write(Source.BROKER, EventName.REGISTERED, broker, detail, at=at)
                self._brokers[broker] = stat.czxid

    def _read_controller(self) -> None:
        found = self._get(CONTROLLER)
        if found is None:
            if self._controller:
                self._timeline.write(Source.CONTROLLER, EventName.VACANT, "", {})
                self._controller = ""
            return
        data, stat = found
        broker = f"{data.get('brokerid')}/{stat.czxid}"
        if broker == self._controller:
            return
        try:
            epoch = int(self._client.get(EPOCH)[0])
        except NoNodeError:
            epoch = None
        subject, at = str(data.get("brokerid")), stat.mtime * 1000
        self._timeline.write(Source.CONTROLLER, EventName.ELECTED, subject, {"epoch": epoch}, at=at)
        self._controller = broker

    def _read_children(self, path: str) -> None:
        """Go down /brokers/topics/<topic>/partitions/<partition>/state."""
        below = path.removeprefix(TOPICS).strip("/").split("/") if path != TOPICS else []
        for child in self._children(path):
            down = {0: f"{child}/partitions", 2: f"{child}/state"}[len(below)]
            self._read(f"{path}/{down}")

    def _read_partition(self, path: str) -> None:
        found = self._get(path)
        if found is None:
            return
        state, stat = found
        mark = (stat.czxid, stat.version)
        if self._versions.get(path) == mark:
            return
        topic, _, partition = path.removeprefix(f"{TOPICS}/").split("/")[:3]
        at = stat.mtime * 1000
        detail = {
            "leader": state["leader"],
            "leader_epoch": state["leader_epoch"],
            "isr": state["isr"],
            "controller_epoch": state["controller_epoch"],
            "version": stat.version,
            "mtime": at,
        }
        self._timeline.write(
            Source.PARTITION, EventName.STATE, f"{topic}-{partition}", detail, at=at
        )
        self._versions[path] = mark


def _tls(secrets: Path) -> dict[str, Any]:
    """Return the client's settings of TLS."""
    return {
        "use_ssl": True,
        "check_hostname": True,
        "ca": str(secrets / SecretFile.CA),
        "certfile": str(secrets / SecretFile.CERTIFICATE),
        "keyfile": str(secrets / SecretFile.PRIVATE_KEY),
    }


def _host(data: dict[str, Any]) -> str | None:
    """Return the host of a broker's first endpoint; ``host`` is null without PLAINTEXT."""
    endpoints = data.get("endpoints") or []
    return endpoints[0].split("//")[-1].rsplit(":", 1)[0] if endpoints else None
