"""One pass over one test: read, decide, write the intent, act, write the result.

Level-triggered: between passes nothing is remembered except in the resource and its children, so a
controller killed at any line, or two controllers at once, reach the same end. A pass writes the
status twice at most, both times with the resourceVersion that was read: the loser of a race gets a
conflict before it has done anything irreversible, and reads again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from krt_contract.labels import ANNOTATION_APPLIED
from krt_operator.api.status import Phase
from krt_operator.engine import journal, reconciling
from krt_operator.engine.events import EventQueue, build_event
from krt_operator.engine.laps import Laps
from krt_operator.engine.ownership import with_uid
from krt_operator.engine.progress import Event
from krt_operator.engine.reading import observe, read_run, with_broker_pods, with_plan
from krt_operator.engine.remedies import with_remedy
from krt_operator.engine.transitions import allowed
from krt_operator.errors import ConflictError, GoneError, KrtError, NameTakenError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from krt_operator.api.status import Status
    from krt_operator.app.metrics import Metrics
    from krt_operator.engine.ports import OnFailure, Ports, Step
    from krt_operator.engine.progress import Change, Observed, Progress, Run
    from krt_operator.engine.views import Json

_LOG = logging.getLogger("krt")

_Item = TypeVar("_Item")

GONE_PAUSE: Final = 1.0
"""Seconds until the next pass when an object went away during one."""

EVENTS_PAUSE: Final = 1.0
"""Seconds until the next try at the events of a run that is over."""


class Resources(Protocol):
    """The calls that only the engine makes, besides those of the Cluster port."""

    def read_test(self, name: str) -> Json | None:
        """The resource, fresh."""
        ...

    def write_status(self, read: Json, status: Json) -> Json:
        """Replace its status, if the resource has not changed since it was read."""
        ...

    def emit(self, event: Json) -> None:
        """Create an event; one that exists already is left alone."""
        ...


@dataclass
class _Written:
    """The resource and its status as this pass last read or wrote them."""

    raw: Json
    status: Status


class Reconciler:
    """Reconciles the tests of one namespace, one pass at a time.

    Args:
        tests: reads and writes the resource itself.
        ports: what a phase is given.
        metrics: counts phases, verdicts and errors.
        step: decides one step of the phase a run is in (`krt_operator.phases.steps.step`).
        on_failure: decides what follows from a pass that failed (`krt_operator.phases.failure`).
    """

    def __init__(
        self,
        tests: Resources,
        ports: Ports,
        metrics: Metrics,
        step: Step,
        on_failure: OnFailure,
    ) -> None:
        self._tests = tests
        self._step = step
        self._on_failure = on_failure
        self._ports = ports
        self._metrics = metrics
        self._events = EventQueue(tests.emit, metrics.failed)
        self._status_refused = False
        self._conflicts = 0

    def run_once(self, name: str) -> float | None:
        """One pass over a test.

        Returns:
            Seconds until the next pass; None when there will be none.

        Raises:
            Exception: the pass failed. The failure is in the status if that can be written, and
                the run is ended if its deadline has passed or it is aborted.
        """
        self._events.flush()
        raw = self._tests.read_test(name)
        if raw is None or raw["metadata"].get("deletionTimestamp"):
            # Everything has the test as its owner, so the garbage collector deletes it.
            return None
        run = read_run(raw, self._ports.clock.now())
        if run.status.phase is not None and run.status.phase.terminal:
            return EVENTS_PAUSE if self._events.waiting else None
        written = _Written(run.raw, run.status)
        laps = Laps(self._ports.clock)
        try:
            observed = observe(self._ports, run.name, run.uid, run.status.phase)
            run = with_plan(run, observed)
            observed = with_broker_pods(run, observed, self._ports)
            laps.end("reading")
            progress = self._step(run, observed, self._ports)
            laps.end("deciding, with requests to Kafka")
            delay = self._carry_out(run, observed, progress, written)
            laps.end("changing")
        except ConflictError as conflict:
            _LOG.debug("%s/%s: %s", run.namespace, run.name, conflict)
            self._conflicts += 1
            if self._conflicts == 1:
                return 0.0
            self._report(run, written, conflict)
            raise
        except GoneError as gone:
            _LOG.debug("%s/%s: %s", run.namespace, run.name, gone)
            return GONE_PAUSE
        except Exception as error:
            self._report(run, written, error)
            raise
        finally:
            slow = laps.slow()
            if slow:
                # What a fault that is late, or a deadline that passed, is explained by.
                where = f"{run.namespace}/{run.name}"
                _LOG.warning("%s: a pass in %s took %s", where, run.status.phase, slow)
        self._conflicts = 0
        return delay

    def flush_events(self) -> None:
        """Try once more to create the events that wait."""
        self._events.flush()

    def _carry_out(
        self, run: Run, observed: Observed, progress: Progress, written: _Written
    ) -> float | None:
        if progress.intents:
            self._write(run, written, journal.apply_all(written.status, progress.intents))
        self._apply_and_delete(observed, progress)
        changes: list[Change] = list(progress.changes)
        for side_effect in progress.side_effects:
            _LOG.debug("%s/%s: %s", run.namespace, run.name, side_effect.description)
            changes.extend(side_effect.perform(self._ports))
        cleared, events = reconciling.succeeded(written.status, self._ports.clock.now())
        progress = replace(
            progress, changes=(*cleared, *changes), events=(*progress.events, *events)
        )
        return self._finish_pass(run, progress, written)

    def _report(self, run: Run, written: _Written, error: Exception) -> None:
        """Write a failure to the status; it is raised whether this succeeds or not."""
        now = self._ports.clock.now()
        try:
            latest = replace(run, raw=written.raw, status=written.status)
            self._finish_pass(latest, self._on_failure(latest, error, now), written)
        except ConflictError as conflict:
            _LOG.debug("%s/%s: %s", run.namespace, run.name, conflict)
        except KrtError as second:
            _LOG.warning("%s/%s: not written to the status: %s", run.namespace, run.name, second)
            if isinstance(second, RefusedError) and not self._status_refused:
                self._status_refused = True
                remedy = "install CRD, chart and controller of one release"
                message = f"the status cannot be written: {second}; {remedy}"
                self._emit_events(run, (Event("StatusRefused", message, warning=True),))
        except Exception:  # noqa: BLE001 - logged, with its traceback; the first error is raised
            _LOG.exception("%s/%s: the failure could not be handled", run.namespace, run.name)

    def _finish_pass(self, run: Run, progress: Progress, written: _Written) -> float | None:
        """Write the result, and the next phase with it; count; emit the events."""
        changes = list(progress.changes)
        if progress.next_phase is not None:
            before = written.status.phase or Phase.PENDING
            if not allowed(before, progress.next_phase):
                raise AssertionError(f"{before} cannot be followed by {progress.next_phase}")
            changes.append(journal.enter(progress.next_phase, self._ports.clock.now()))
        first = "status" not in run.raw
        self._write(run, written, journal.apply_all(written.status, tuple(changes)))
        if progress.next_phase is not None:
            self._metrics.entered(run.status, written.status)
        if progress.next_phase is not None or first:
            _LOG.info("%s/%s: %s", run.namespace, run.name, written.status.phase)
        self._emit_events(run, progress.events)
        if progress.next_phase is None:
            return progress.requeue_after
        if progress.next_phase.terminal:
            return EVENTS_PAUSE if self._events.waiting else None
        return 0.0

    def _apply_and_delete(self, observed: Observed, progress: Progress) -> None:
        """Apply, then delete; an object that is refused does not hold up the others."""
        cluster = self._ports.cluster
        desired = [precise(observed, obj) for obj in progress.apply if changed(observed, obj)]
        _for_each(cluster.apply, desired)
        _for_each(cluster.delete, progress.delete)

    def _write(self, run: Run, written: _Written, status: Status) -> None:
        body = status.dump()
        if status.phase is not Phase.CLEANING_UP and not (status.phase and status.phase.terminal):
            # Another release wrote them, and may continue the run.
            kept = run.raw.get("status") or {}
            body |= {key: kept[key] for key in run.unread}
        if body != written.raw.get("status"):
            written.raw = self._tests.write_status(written.raw, body)
            self._status_refused = False
        written.status = status

    def _emit_events(self, run: Run, events: Sequence[Event]) -> None:
        where = f"{run.namespace}/{run.name}"
        for event in events:
            level = logging.WARNING if event.warning else logging.INFO
            _LOG.log(
                level, "%s: %s: %s", where, event.reason, with_remedy(event.reason, event.message)
            )
            at = self._ports.clock.now()
            self._events.add(build_event(run.namespace, run.name, run.uid, event, at))
        self._events.flush()


def _for_each(call: Callable[[_Item], object], items: Iterable[_Item]) -> None:
    """Call for each item.

    Raises:
        RefusedError, NameTakenError: the first refusal, after all items have had their call.
    """
    refusal: KrtError | None = None
    for item in items:
        try:
            call(item)
        except (RefusedError, NameTakenError) as error:
            refusal = refusal or error
    if refusal is not None:
        raise refusal


def precise(observed: Observed, obj: Json) -> Json:
    """The object with the uid of the one that was observed, which alone it may change."""
    existing = observed.find(obj["kind"], obj["metadata"]["name"])
    return obj if existing is None else with_uid(obj, existing["metadata"]["uid"])


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
