"""The life of the recorder: it starts before the brokers and ends when the run is done."""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from lightkube.core.resource import api_info

from krt_contract.exits import TrafficExit
from krt_contract.labels import LABEL_TEST_UID
from krt_contract.timeline import EVIDENCE, PROCESS, EventName, Source
from krt_traffic import termination
from krt_traffic.client import client_version
from krt_traffic.clock import mono, wall
from krt_traffic.control import follow
from krt_traffic.errors import RecordingError
from krt_traffic.evidence import open_sink
from krt_traffic.kubernetes.objects import KafkaResilienceTest, Pod
from krt_traffic.kubernetes.watch import Watch
from krt_traffic.login import read_login
from krt_traffic.metrics.server import serve
from krt_traffic.recorder.admin_requests import AdminRequests
from krt_traffic.recorder.cluster_history import cluster_history
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.logs import FOLLOWED, LogFollower
from krt_traffic.recorder.metrics import RunMetrics
from krt_traffic.recorder.pods import Container, PodEvents
from krt_traffic.recorder.run_json import Additions, RunJson
from krt_traffic.recorder.status import StatusEvents
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan
    from krt_traffic.control import Control
    from krt_traffic.environment import Environment
    from krt_traffic.kubernetes.client import KubernetesClient
    from krt_traffic.kubernetes.objects import Object
    from krt_traffic.kubernetes.watch import Sink

log = logging.getLogger(__name__)

BEAT_SECONDS = 0.25
"""How often the recorder checks whether it was itself suspended."""


def run(client: KubernetesClient, environment: Environment, plan: Plan, control: Control) -> int:
    """Record until the run is done and return the exit status (``krt_contract.exits``).

    Args:
        client: of the API server.
        environment: identity and folders of this pod.
        plan: the run.
        control: the controller's instructions.
    """
    try:
        recorder = RecorderRun(client, environment, plan, control)
        serve(environment.metrics_port, recorder.metrics)
        counts = recorder.record()
    except RecordingError as error:
        log.error("%s", error)  # noqa: TRY400 - the message says it all
        status = TrafficExit.NOT_RECORDED
        text = termination.message("recorder", {}, reason="failed", error=str(error))
    else:
        status = TrafficExit.DONE
        reason = "aborted" if control.aborted else "finished"
        text = termination.message("recorder", counts, reason=reason)
    termination.write(environment.termination_log, text)
    log.info("%s", text)
    return status


class RecorderRun:
    """One recorder from its first event to its last; arguments as of ``run``.

    Attributes:
        metrics: what it has for Prometheus.

    Raises:
        RecordingError: the evidence could not be written.
    """

    def __init__(
        self, client: KubernetesClient, environment: Environment, plan: Plan, control: Control
    ) -> None:
        self._client, self._environment, self._control = client, environment, control
        self._silences: SimpleQueue[tuple[int, int]] = SimpleQueue()
        sink = open_sink(environment, plan, lambda *silence: self._silences.put(silence))
        self._logs = sink.lines("logs")
        self._failures = failures = Failures(control.terminate)
        self._timeline = timeline = Timeline(sink.lines("timeline"), environment.pod_uid)
        self.metrics = RunMetrics(plan, timeline.counts)
        timeline.observers.append(self.metrics.observe)
        self._followers: dict[tuple[str, str], LogFollower] = {}
        self._stopped = threading.Event()
        run_json = RunJson(
            sink.run_json(), plan.to_document(), client_version(), plan.metadata.source
        )
        self._run_json = Additions(run_json, failures)
        zones = {item.member: item.zone for item in plan.members if item.zone}
        self._pods = PodEvents(timeline, zones, self._follow, self._run_json.image)
        login = read_login(environment, plan)
        requests = _admin_requests(plan, login, timeline, failures)
        self._status = StatusEvents(timeline, _faults(plan), requests.injected)
        self._history = cluster_history(
            plan,
            sink,
            environment.pod_uid,
            timeline,
            failures,
            version=self._run_json.kafka,
            features=self._run_json.features,
            login=login,
            secrets=environment.kafka_secrets,
        )

    def record(self) -> dict[str, int]:
        """Record until the run is done and return what was written, by kind.

        Raises:
            RecordingError: a part of it could not be recorded; nothing says then that the
                recorder stopped in order.
        """
        self._timeline.write(Source.RECORDER, EventName.STARTED, "recorder")
        watches: list[Watch[Any]] = [
            follow(self._client, self._environment.control, self._control, self._failures.thread),
            self._watch(Pod, _by_uid(self._environment), self._pods),
            self._watch(KafkaResilienceTest, _by_name(self._environment), self._status),
        ]
        self._run_json.start()
        self._history.start()
        beat = self._failures.thread(self._beat, "beat")
        beat.start()
        self._control.wait_for_end()
        self._stopped.set()
        for watch in watches:
            watch.stop()
        followers = list(self._followers.values())
        for follower in followers:
            follower.stop()
        self._history.stop()
        beat.join()
        # First: it waits for a store that is unavailable, as logs do that are not stored yet.
        self._timeline.sync()
        for follower in followers:
            follower.join()
        self._run_json.finish()
        self._timeline.sync()
        self._record_silences()
        self._failures.check()
        if not self._control.interrupted:
            self._timeline.write(Source.RECORDER, EventName.STOPPED, "recorder")
        self._timeline.close()
        return self._timeline.counts

    def _watch(
        self, resource: type[Object], selector: dict[str, str], sink: Sink[Object]
    ) -> Watch[Object]:
        stream = api_info(resource).plural
        watch = Watch(
            self._client,
            resource,
            selector,
            sink,
            gap=lambda start, end, at_end: self._timeline.gap(stream, start, end, at_end=at_end),
            thread=self._failures.thread,
        )
        watch.start()
        return watch

    def _follow(self, container: Container) -> None:
        key = (container.uid, container.name)
        if container.component not in FOLLOWED or key in self._followers:
            return
        follower = LogFollower(
            self._client,
            container,
            self._logs,
            self._timeline,
            self._pods.gone,
            version=self._run_json.kafka,
            failures=self._failures,
        )
        self._followers[key] = follower
        follower.start()

    def _record_silences(self) -> None:
        """Record when the evidence store was unavailable; nothing that was written is missing.

        Not where it is noticed: the thread that writes would wait for itself.
        """
        while not self._silences.empty():
            self._timeline.gap(EVIDENCE, *self._silences.get())

    def _beat(self) -> None:
        """Record when this process did not run at all: what happened then, it saw late."""
        last, at = mono(), wall()
        while not self._stopped.wait(BEAT_SECONDS):
            now = mono()
            if now - last > int(BEAT_SECONDS * 1e6):
                self._timeline.gap(PROCESS, at, at + now - last)
            last, at = now, wall()
            self._record_silences()


def _by_uid(environment: Environment) -> dict[str, str]:
    return {"labelSelector": f"{LABEL_TEST_UID}={environment.test_uid}"}


def _by_name(environment: Environment) -> dict[str, str]:
    return {"fieldSelector": f"metadata.name={environment.test}"}


def _admin_requests(
    plan: Plan, login: Login, timeline: Timeline, failures: Failures
) -> AdminRequests:
    topic = plan.topics[0]
    requests = {item.name: item.admin_requests for item in plan.faults}
    return AdminRequests(
        plan.bootstrap,
        requests,
        topic.name,
        topic.replication_factor,
        timeline,
        login=login,
        failures=failures,
    )


def _faults(plan: Plan) -> dict[str, dict[str, Any]]:
    return {
        item.name: {"action": str(item.action), "duration": item.duration.micros}
        for item in plan.faults
    }
