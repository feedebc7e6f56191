"""The life of the recorder: up before the brokers, gone when the run is finished."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from krt_contract.bundle import Bundle
from krt_contract.control import ControlState
from krt_contract.labels import API_VERSION, LABEL_TEST_UID, PLURAL
from krt_contract.timeline import PROCESS, EventName, Source
from krt_traffic import termination
from krt_traffic.clock import mono, wall
from krt_traffic.control import follow
from krt_traffic.errors import EXIT_DONE
from krt_traffic.recorder.admin_requests import AdminRequests
from krt_traffic.recorder.logs import FOLLOWED, LogFollower
from krt_traffic.recorder.pods import Container, PodEvents
from krt_traffic.recorder.quorum import Quorum
from krt_traffic.recorder.run_json import RunJson
from krt_traffic.recorder.status import StatusEvents
from krt_traffic.recorder.timeline import Timeline
from krt_traffic.recorder.znodes import Znodes
from krt_traffic.watch import Watch

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_traffic.control import Control
    from krt_traffic.environment import Environment
    from krt_traffic.kube import Api

log = logging.getLogger(__name__)

RESOURCES = f"/apis/{API_VERSION}"
BEAT_SECONDS = 0.25
"""How often the recorder looks whether it was itself held up."""


class RecorderRun:
    """One recorder from its first event to its termination message.

    Args:
        api: the cluster's API.
        environment: who this pod is.
        plan: the run.
        control: orders.
    """

    def __init__(self, api: Api, environment: Environment, plan: Plan, control: Control) -> None:
        self._api, self._environment, self._control = api, environment, control
        bundle = Bundle(environment.evidence / plan.bundle)
        self._logs = bundle.logs
        self._timeline = timeline = Timeline(bundle.timeline, environment.pod_uid)
        self._followers: dict[tuple[str, str], LogFollower] = {}
        self._stopped = threading.Event()
        run_json = RunJson(bundle.run_json, plan.to_document())
        zones = {item.member: item.zone for item in plan.members if item.zone}
        self._pods = PodEvents(timeline, zones, self._follow, run_json.image)
        probes = _probes(plan, timeline)
        self._status = StatusEvents(timeline, _faults(plan), probes.injected)
        self._znodes = Znodes(plan.zookeeper, timeline)
        self._quorum = Quorum(plan.zookeeper_addresses, timeline)

    def run(self) -> int:
        """Record until the run is finished and return the exit status."""
        self._timeline.write(Source.RECORDER, EventName.STARTED, "recorder")
        watches = [
            follow(self._api, self._environment, self._control),
            self._watch("/api/v1", "pods", _by_uid(self._environment), self._pods),
            self._watch(RESOURCES, PLURAL, _by_name(self._environment), self._status),
        ]
        self._znodes.start()
        self._quorum.start()
        beat = threading.Thread(target=self._beat, name="beat", daemon=True)
        beat.start()
        self._control.wait(ControlState.DONE)
        self._stopped.set()
        for watch in watches:
            watch.stop()
        for follower in list(self._followers.values()):
            follower.stop()
        self._quorum.stop()
        self._znodes.stop()
        self._timeline.write(Source.RECORDER, EventName.STOPPED, "recorder")
        self._timeline.close()
        reason = "aborted" if self._control.aborted else "finished"
        text = termination.message("recorder", self._timeline.counts, reason=reason)
        termination.write(self._environment.termination_log, text)
        log.info("%s", text)
        return EXIT_DONE

    def _watch(
        self, group: str, plural: str, selector: dict[str, str], sink: PodEvents | StatusEvents
    ) -> Watch:
        path = f"{group}/namespaces/{self._environment.namespace}/{plural}"
        watch = Watch(
            self._api,
            path,
            selector,
            sink,
            gap=lambda start, end: self._timeline.gap(plural, start, end),
        )
        watch.start()
        return watch

    def _follow(self, container: Container) -> None:
        key = (container.uid, container.name)
        if container.component not in FOLLOWED or key in self._followers:
            return
        follower = LogFollower(
            self._api,
            self._environment.namespace,
            container,
            self._logs,
            self._timeline,
            self._pods.gone,
        )
        self._followers[key] = follower
        follower.start()

    def _beat(self) -> None:
        """Tell when nothing of this process ran: whatever it was to see then, it saw late."""
        last, at = mono(), wall()
        while not self._stopped.wait(BEAT_SECONDS):
            now = mono()
            if now - last > int(BEAT_SECONDS * 1e6):
                self._timeline.gap(PROCESS, at, at + now - last)
            last, at = now, wall()


def _by_uid(environment: Environment) -> dict[str, str]:
    return {"labelSelector": f"{LABEL_TEST_UID}={environment.test_uid}"}


def _by_name(environment: Environment) -> dict[str, str]:
    return {"fieldSelector": f"metadata.name={environment.test}"}


def _probes(plan: Plan, timeline: Timeline) -> AdminRequests:
    topic = plan.topics[0]
    requests = {item.name: item.admin_requests for item in plan.faults}
    return AdminRequests(plan.bootstrap, requests, topic.name, topic.replication_factor, timeline)


def _faults(plan: Plan) -> dict[str, dict[str, Any]]:
    return {
        item.name: {"action": str(item.action), "duration": item.duration.micros}
        for item in plan.faults
    }
