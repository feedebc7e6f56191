"""The processes of somebody else's brokers, what ephemeral containers do to them, and kubelet."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from krt_operator.api.times import to_micros

if TYPE_CHECKING:
    from datetime import datetime

    from tests.unit.operator.doubles.owner import Owner

    from krt_operator.engine.views import Json

SESSION = timedelta(seconds=9)
"""From the last heartbeat of a broker until it is fenced."""
RESTART = timedelta(seconds=12)
"""From the end of a container until its broker serves again."""


class BrokerProcesses:
    """One process for each pod of an owner."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.signals: list[tuple[str, str]] = []
        """Each signal that a process got, and the pod."""
        self.refusal: dict[str, object] = {}
        """How an ephemeral container ends that cannot signal; empty: it can."""
        self.starts = True
        """Whether kubelet starts ephemeral containers."""
        self.probed: timedelta | None = None
        """How long a broker may be silent before kubelet restarts its container; None: for ever."""
        self.thaw_works = True
        self.stopped: dict[str, datetime] = {}
        self.ended: dict[str, datetime] = {}
        self.thaws: dict[tuple[str, str], timedelta] = {}

    def down(self) -> frozenset[int]:
        """Brokers that are fenced."""
        now = self.owner.world.time
        silent = self.ended | self.stopped
        return frozenset(
            self.owner.broker_of(name) for name, since in silent.items() if now >= since + SESSION
        )

    def forget(self, name: str) -> None:
        """The pod is gone, and its processes with it."""
        self.stopped.pop(name, None)
        self.ended.pop(name, None)
        for key in [key for key in self.thaws if key[0] == name]:
            del self.thaws[key]

    def advance(self) -> None:
        """Let what waits for a time happen."""
        now = self.owner.world.time
        for (name, container), wait in list(self.thaws.items()):
            since = self.stopped.get(name)
            if since is not None and self.thaw_works and now >= since + wait:
                self._thaw(name, container, since + wait)
        for name, since in list(self.stopped.items()):
            if self.probed is not None and now >= since + self.probed:
                self._end(name, since + self.probed)
        for name, since in list(self.ended.items()):
            if now >= since + RESTART:
                del self.ended[name]
                self._set_ready(name, ready=True)

    def restart(self, name: str) -> None:
        """Let kubelet end the container now, as after probes that failed."""
        self._end(name, self.owner.world.time)

    def signal(self, pod: Json, container: Json) -> None:
        """Start an ephemeral container."""
        name, command = pod["metadata"]["name"], container["command"]
        assert container["targetContainerName"] == "kafka", container
        assert {"name": "KRT_ARGUMENT", "value": "kafka.Kafka"} in container["env"]
        signal, process, *rest = command[command.index("signal.sh") + 1 :]
        assert process == "java"
        if not self.starts:
            self._status(name, container["name"], {"waiting": {"reason": "RunContainerError"}})
            return
        if self.refusal:
            self._status(name, container["name"], {"terminated": self.refusal})
            return
        now = self.owner.world.time
        if signal == "CONT" and rest:
            self.thaws[name, container["name"]] = timedelta(seconds=float(rest[0]))
            return
        self.signals.append((signal, name))
        match signal:
            case "KILL":
                assert rest == [], "nothing would remove the hold file"
                self._say(name, container["name"], "killed", now)
                self._end(name, now)
            case "STOP":
                self.stopped[name] = now
                self._say(name, container["name"], "frozen", now)
            case "CONT":
                self._thaw(name, container["name"], now)
            case other:
                raise AssertionError(other)

    def _thaw(self, name: str, container: str, at: datetime) -> None:
        if not self.thaw_works:
            return
        self.stopped.pop(name, None)
        self.thaws.pop((name, container), None)
        self._say(name, container, "thawed", at)

    def _end(self, name: str, at: datetime) -> None:
        """The container ends, and with it everything in its process namespace."""
        self.forget(name)
        self.ended[name] = at
        self._set_ready(name, ready=False)
        finished = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.owner.pods[name]["status"]["containerStatuses"] = [
            {
                "name": "kafka",
                "state": {"running": {}},
                "lastState": {"terminated": {"exitCode": 137, "finishedAt": finished}},
            }
        ]

    def _set_ready(self, name: str, *, ready: bool) -> None:
        status = self.owner.pods[name]["status"]
        status["conditions"] = [{"type": "Ready", "status": str(ready)}]

    def _say(self, name: str, container: str, event: str, at: datetime) -> None:
        message = json.dumps({"event": event, "at": to_micros(at)})
        self._status(name, container, {"terminated": {"exitCode": 0, "message": message}})

    def _status(self, name: str, container: str, state: Json) -> None:
        statuses = self.owner.pods[name]["status"].setdefault("ephemeralContainerStatuses", [])
        statuses.append({"name": container, "state": state})
