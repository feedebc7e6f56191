"""One pass over one test: read, decide, journal the intent, act, journal the result.

Level-triggered: nothing is remembered between passes but in the resource and its children, so a
controller killed at any line, or two of them at once, end where one would. At most two status
writes a pass, both with the resourceVersion that was read: the loser of a race gets a conflict
before it has done anything irreversible, and looks again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from krt_contract.labels import ANNOTATION_APPLIED, API_VERSION, KIND
from krt_contract.plan import PLAN_FILE
from krt_operator import names
from krt_operator.api.resource import KafkaResilienceTest
from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    Phase,
    Status,
    Verdict,
)
from krt_operator.engine import journal
from krt_operator.engine.ports import Observed, Run
from krt_operator.engine.transitions import allowed
from krt_operator.errors import ConflictError, GoneError
from krt_operator.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.app.metrics import Metrics
    from krt_operator.engine.ports import Change, Happening, Json, Ports, Progress, Step

_LOG = logging.getLogger("krt")

CHILDREN = ("Pod", "StatefulSet", "PersistentVolumeClaim", "Job", "ConfigMap")
"""Kinds looked at in every pass."""

BUILT = ("Service", "PodDisruptionBudget", "ServiceAccount", "RoleBinding")
"""Kinds looked at while they are built or taken away."""

BUILDING = frozenset({Phase.PROVISIONING, Phase.CLEANING_UP})


class Resources(Protocol):
    """What the engine itself needs of the API server, besides the phases' port."""

    def read_test(self, name: str) -> Json | None:
        """The resource, fresh."""
        ...

    def write_status(self, read: Json, status: Json) -> Json:
        """Replace its status, if it is still the one that was read."""
        ...

    def emit(self, event: Json) -> None:
        """Create an event."""
        ...


class Reconciler:
    """Takes the tests of one namespace further, one pass at a time.

    Args:
        tests: reads and writes the resource itself.
        ports: what a phase is given.
        metrics: what Prometheus is told.
        step: decides one step of the phase a run is in (`krt_operator.phases.steps.step`).
    """

    def __init__(self, tests: Resources, ports: Ports, metrics: Metrics, step: Step) -> None:
        self._tests = tests
        self._step = step
        self._ports = ports
        self._metrics = metrics

    def run_once(self, name: str) -> float | None:
        """One pass over a test.

        Returns:
            Seconds until the next pass; None when there will be none.

        Raises:
            TransientError, RefusedError: the API server or Kafka did not do what was asked; the
                next pass looks again.
            AssertionError: a phase asked for a transition that does not exist (a defect).
        """
        raw = self._tests.read_test(name)
        if raw is None or raw["metadata"].get("deletionTimestamp"):
            # Everything has the test as its owner: the garbage collector takes it away.
            return None
        run, world = self._observe(raw)
        if run.status.phase is not None and run.status.phase.terminal:
            return None
        progress = self._step(run, world, self._ports)
        try:
            return self._carry_out(run, world, progress)
        except ConflictError as conflict:
            _LOG.debug("%s/%s: %s", run.namespace, run.name, conflict)
            return 0.0
        except GoneError:
            return None

    def _observe(self, raw: Json) -> tuple[Run, Observed]:
        resource = KafkaResilienceTest.parse(raw)
        meta, status = resource.metadata, resource.status
        world = observe(self._ports, meta.uid, status.phase)
        status = journal.apply_all(status, _first(status, meta.generation, world.at))
        run = Run(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            generation=meta.generation,
            resource_version=meta.resource_version,
            deleting=meta.deletion_timestamp is not None,
            spec=resource.spec.resolve(),
            status=status,
            created=meta.creation_timestamp or world.at,
            raw=raw,
            plan=_plan(world, meta.name),
        )
        return run, world

    def _carry_out(self, run: Run, world: Observed, progress: Progress) -> float | None:
        raw, status = run.raw, run.status
        if progress.intents:
            status = journal.apply_all(status, progress.intents)
            raw = self._write(raw, status)
        self._do(world, progress)
        changes: list[Change] = list(progress.changes)
        for act in progress.acts:
            _LOG.debug("%s/%s: %s", run.namespace, run.name, act.what)
            changes.extend(act.perform(self._ports))
        if progress.next_phase is not None:
            before = status.phase or Phase.PENDING
            if not allowed(before, progress.next_phase):
                raise AssertionError(f"{before} cannot be followed by {progress.next_phase}")
            changes.append(journal.enter(progress.next_phase, self._ports.clock.now()))
        status = journal.apply_all(status, tuple(changes))
        self._write(raw, status)
        self._tell(run, status, progress.events)
        if progress.next_phase is not None:
            self._metrics.entered(run.status, status)
            return None if progress.next_phase.terminal else 0.0
        return progress.requeue_after

    def _do(self, world: Observed, progress: Progress) -> None:
        cluster = self._ports.cluster
        for obj in progress.apply:
            if changed(world, obj):
                cluster.apply(obj)
        for deletion in progress.delete:
            cluster.delete(deletion)

    def _write(self, raw: Json, status: Status) -> Json:
        body = status.dump()
        if body == raw.get("status"):
            return raw
        return self._tests.write_status(raw, body)

    def _tell(self, run: Run, status: Status, events: Sequence[Happening]) -> None:
        where = f"{run.namespace}/{run.name}"
        if status.phase is not run.status.phase or "status" not in run.raw:
            _LOG.info("%s: %s", where, status.phase)
        for event in events:
            level = logging.WARNING if event.warning else logging.INFO
            _LOG.log(level, "%s: %s: %s", where, event.reason, journal.cut(event.message))
            self._tests.emit(_event(run, event, self._ports.clock.now()))


def observe(ports: Ports, uid: str, phase: Phase | None) -> Observed:
    """List a run's children."""
    labels = names.run_labels(uid)

    def by_name(kind: str) -> dict[str, Json]:
        found = ports.cluster.list(kind, labels)
        return {one["metadata"]["name"]: one for one in found}

    others = {
        (kind, name): one
        for kind in (BUILT if phase in BUILDING else ())
        for name, one in by_name(kind).items()
    }
    pods, sets, claims, jobs, maps = (by_name(kind) for kind in CHILDREN)
    return Observed(
        at=ports.clock.now(),
        pods=pods,
        stateful_sets=sets,
        claims=claims,
        jobs=jobs,
        config_maps=maps,
        others=others,
    )


def changed(world: Observed, obj: Json) -> bool:
    """Whether an object must be applied: it is not there, or is not what was rendered.

    A pod is never changed once it is there: its fields cannot be, and its uid is an incarnation.
    """
    there = world.find(obj["kind"], obj["metadata"]["name"])
    if there is None:
        return True
    if obj["kind"] == "Pod":
        return False
    applied = (there["metadata"].get("annotations") or {}).get(ANNOTATION_APPLIED)
    return bool(applied != obj["metadata"]["annotations"][ANNOTATION_APPLIED])


def _first(status: Status, generation: int, at: datetime) -> tuple[Change, ...]:
    """What a status must have before the first phase looks at it."""
    seen = journal.put(observed_generation=generation)
    if status.phase is not None:
        return (seen,)
    return (
        seen,
        journal.put(verdict=Verdict.PENDING, start_time=at),
        journal.enter(Phase.PENDING, at),
        journal.say(
            ConditionType.SUCCEEDED, ConditionStatus.UNKNOWN, "Running", "not judged yet", at=at
        ),
    )


def _plan(world: Observed, name: str) -> Plan | None:
    found = world.config_maps.get(names.plan(name))
    return None if found is None else Plan.from_json(found["data"][PLAN_FILE])


def _event(run: Run, event: Happening, at: datetime) -> Json:
    moment = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{run.name}.", "namespace": run.namespace},
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "namespace": run.namespace,
            "name": run.name,
            "uid": run.uid,
        },
        "reason": event.reason,
        "message": journal.cut(event.message),
        "type": "Warning" if event.warning else "Normal",
        "source": {"component": "krt-operator"},
        "reportingComponent": "krt-operator",
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
