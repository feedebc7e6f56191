"""One pass over one test: read, decide, write the intent, act, write the result.

Level-triggered: between passes nothing is remembered except in the resource and its children, so a
controller killed at any line, or two controllers at once, reach the same end. A pass writes the
status twice at most, both times with the resourceVersion that was read: the loser of a race gets a
conflict before it has done anything irreversible, and reads again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from krt_contract.labels import ANNOTATION_APPLIED, API_VERSION, KIND
from krt_contract.plan import PLAN_FILE
from krt_operator import names
from krt_operator.api.plan import Plan
from krt_operator.api.resource import KafkaResilienceTest
from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    Phase,
    Status,
    Verdict,
)
from krt_operator.engine import journal
from krt_operator.engine.progress import Observed, Run
from krt_operator.engine.transitions import allowed
from krt_operator.errors import ConflictError, GoneError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.app.metrics import Metrics
    from krt_operator.engine.ports import Ports, Step
    from krt_operator.engine.progress import Change, Event, Progress
    from krt_operator.engine.views import Json

_LOG = logging.getLogger("krt")

CHILDREN = ("Pod", "StatefulSet", "PersistentVolumeClaim", "Job", "ConfigMap")
"""Kinds listed in every pass."""

BUILT_KINDS = ("Service", "PodDisruptionBudget", "ServiceAccount", "RoleBinding")
"""Kinds listed in the phases that create or delete them."""

BUILDING = frozenset({Phase.PROVISIONING, Phase.CLEANING_UP})


class Resources(Protocol):
    """The calls that only the engine makes, besides those of the Cluster port."""

    def read_test(self, name: str) -> Json | None:
        """The resource, fresh."""
        ...

    def write_status(self, read: Json, status: Json) -> Json:
        """Replace its status, if the resource has not changed since it was read."""
        ...

    def emit(self, event: Json) -> None:
        """Create an event."""
        ...


class Reconciler:
    """Reconciles the tests of one namespace, one pass at a time.

    Args:
        tests: reads and writes the resource itself.
        ports: what a phase is given.
        metrics: counts phases, verdicts and errors.
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
            TransientError, RefusedError: a call to the API server or Kafka failed; the next pass
                tries again.
            AssertionError: a phase asked for a transition that does not exist (a defect).
        """
        raw = self._tests.read_test(name)
        if raw is None or raw["metadata"].get("deletionTimestamp"):
            # Everything has the test as its owner, so the garbage collector deletes it.
            return None
        run, observed = self._observe(raw)
        if run.status.phase is not None and run.status.phase.terminal:
            return None
        progress = self._step(run, observed, self._ports)
        try:
            return self._carry_out(run, observed, progress)
        except ConflictError as conflict:
            _LOG.debug("%s/%s: %s", run.namespace, run.name, conflict)
            return 0.0
        except GoneError:
            return None

    def _observe(self, raw: Json) -> tuple[Run, Observed]:
        resource = KafkaResilienceTest.parse(raw)
        meta, status = resource.metadata, resource.status
        observed = observe(self._ports, meta.uid, status.phase)
        status = journal.apply_all(status, _initial(status, meta.generation, observed.at))
        run = Run(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            spec=resource.spec.resolve(),
            status=status,
            created=meta.creation_timestamp or observed.at,
            raw=raw,
            plan=_plan(observed, meta.name),
        )
        return run, observed

    def _carry_out(self, run: Run, observed: Observed, progress: Progress) -> float | None:
        raw, status = run.raw, run.status
        if progress.intents:
            status = journal.apply_all(status, progress.intents)
            raw = self._write(raw, status)
        self._apply_and_delete(observed, progress)
        changes: list[Change] = list(progress.changes)
        for side_effect in progress.side_effects:
            _LOG.debug("%s/%s: %s", run.namespace, run.name, side_effect.description)
            changes.extend(side_effect.perform(self._ports))
        if progress.next_phase is not None:
            before = status.phase or Phase.PENDING
            if not allowed(before, progress.next_phase):
                raise AssertionError(f"{before} cannot be followed by {progress.next_phase}")
            changes.append(journal.enter(progress.next_phase, self._ports.clock.now()))
        status = journal.apply_all(status, tuple(changes))
        self._write(raw, status)
        self._emit_events(run, status, progress.events)
        if progress.next_phase is not None:
            self._metrics.entered(run.status, status)
            return None if progress.next_phase.terminal else 0.0
        return progress.requeue_after

    def _apply_and_delete(self, observed: Observed, progress: Progress) -> None:
        cluster = self._ports.cluster
        for obj in progress.apply:
            if changed(observed, obj):
                cluster.apply(obj)
        for deletion in progress.delete:
            cluster.delete(deletion)

    def _write(self, raw: Json, status: Status) -> Json:
        body = status.dump()
        if body == raw.get("status"):
            return raw
        return self._tests.write_status(raw, body)

    def _emit_events(self, run: Run, status: Status, events: Sequence[Event]) -> None:
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
        return {obj["metadata"]["name"]: obj for obj in found}

    others = {
        (kind, name): obj
        for kind in (BUILT_KINDS if phase in BUILDING else ())
        for name, obj in by_name(kind).items()
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


def changed(observed: Observed, obj: Json) -> bool:
    """Whether an object must be applied: it does not exist, or differs from what was rendered.

    An existing pod is never changed: its fields are immutable, and its uid is an incarnation.
    """
    existing = observed.find(obj["kind"], obj["metadata"]["name"])
    if existing is None:
        return True
    if obj["kind"] == "Pod":
        return False
    applied = (existing["metadata"].get("annotations") or {}).get(ANNOTATION_APPLIED)
    return bool(applied != obj["metadata"]["annotations"][ANNOTATION_APPLIED])


def _initial(status: Status, generation: int, at: datetime) -> tuple[Change, ...]:
    """The changes that a status needs before the first phase reads it."""
    generation_observed = journal.put(observed_generation=generation)
    if status.phase is not None:
        return (generation_observed,)
    return (
        generation_observed,
        journal.put(verdict=Verdict.PENDING, start_time=at),
        journal.enter(Phase.PENDING, at),
        journal.set_condition(
            ConditionType.SUCCEEDED, ConditionStatus.UNKNOWN, "Running", "no verdict yet", at=at
        ),
    )


def _plan(observed: Observed, name: str) -> Plan | None:
    found = observed.config_maps.get(names.plan(name))
    return None if found is None else Plan.from_json(found["data"][PLAN_FILE])


def _event(run: Run, event: Event, at: datetime) -> Json:
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
