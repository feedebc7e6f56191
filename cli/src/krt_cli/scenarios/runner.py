"""Runs scenarios on a cluster and stores their results.

Several can run in parallel, each in its own namespace. One fills two cores, so the next starts when
the one before has injected its first fault: until then lasts the steady state by which its gaps are
measured, and what starts in it takes its cores.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from krt_cli.kubectl import Kubectl
from krt_cli.resource import Test
from krt_cli.scenarios.results import read, stored_count

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rich.console import Console

    from krt_cli.scenarios.catalogue import Scenario
    from krt_cli.scenarios.places import Places

BEFORE_INJECTION = ("Pending", "Scheduled")
"""States of a fault that is still to come."""

AFTER_FAULTS = "Draining"
"""The phase in which no fault is to come any more; it stays in the list of phases."""

SCORECARD = "scorecard.json"
FILES = (SCORECARD, "report.html", "junit.xml")
"""What is stored of a run's evidence."""

SECURITY = "pod-security.kubernetes.io/enforce=restricted"


class Task(NamedTuple):
    """A run to do.

    Attributes:
        scenario: the scenario.
        number: of the run, counted from the first stored one.
    """

    scenario: Scenario
    number: int


def next_may_start(test: Test) -> bool:
    """Return whether the steady state of a test is over, or there is no fault to wait for."""
    injected = any(fault.state not in BEFORE_INJECTION for fault in test.faults)
    drained = any(phase["name"] == AFTER_FAULTS for phase in test.phases)
    return injected or drained or test.finished


def tasks(scenarios: Iterable[Scenario], places: Places, *, repeat: int, rerun: bool) -> list[Task]:
    """Return the runs to do, every scenario's first one before any second one.

    Args:
        scenarios: the scenarios.
        places: where what is stored lies.
        repeat: results there shall be of each.
        rerun: whether that many more are done, whatever is stored.
    """
    found = []
    for scenario in scenarios:
        stored = stored_count(places.store, scenario.id, scenario.key(places.images))
        last = stored + repeat if rerun else repeat
        found += [Task(scenario, number) for number in range(stored + 1, last + 1)]
    return sorted(found, key=lambda task: task.number)


@dataclass
class Runner:
    """Runs tasks.

    Attributes:
        places: where manifests are read and runs are stored.
        console: where progress goes.
        minutes: how long one run may take.
        stored: task → uid of the run that was stored.
    """

    places: Places
    console: Console
    minutes: float
    stored: dict[Task, str] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _queue: deque[Task] = field(default_factory=deque)
    _errors: list[Exception] = field(default_factory=list)

    def run(self, todo: Iterable[Task], parallel: int) -> None:
        """Run all tasks, so many in parallel.

        A worker stops at the first run that fails; the others finish theirs.

        Raises:
            CouldNotRunError: a run left no result.
            Exception: whatever else ended a worker.
        """
        self._queue.extend(todo)
        # Daemons, so that an interrupt ends the command and does not wait for runs of minutes.
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(parallel)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if self._errors:
            raise self._errors[0]

    def _work(self) -> None:
        while True:
            try:
                task = self._queue.popleft()
            except IndexError:
                return
            try:
                self._do(task)
            except Exception as error:  # noqa: BLE001 - raised again by run
                self._errors.append(error)
                self._print(task, f"failed: {error}")
                return

    def _do(self, task: Task) -> None:
        turn = Turn(self._turn)
        with turn:
            started = time.monotonic()
            self._print(task, "started")
            folder = self._run_one(task, turn)
            took = time.monotonic() - started
            self._print(task, f"{read(folder).summary()} ({took:.0f} s)")
            self.stored[task] = folder.name

    def _run_one(self, task: Task, turn: Turn) -> Path:
        """Run a task in an empty namespace, and return the folder of its result."""
        scenario = task.scenario
        # Both modes of a scenario may run at the same time. No namespace's name has a dot.
        namespace = f"krt-scenario-{scenario.id.replace('.', '-')}-{task.number}"
        cluster, kubectl = Kubectl(), Kubectl(namespace)
        delete = ("delete", "namespace", namespace, "--ignore-not-found")
        cluster(*delete, "--wait", "--timeout=180s")
        cluster("create", "namespace", namespace)
        cluster("label", "namespace", namespace, SECURITY)
        kubectl("apply", "--filename", "-", stdin=scenario.manifest())
        uid = kubectl.get("krt", scenario.name)["metadata"]["uid"]
        self._follow(task, kubectl, turn)
        # One that does not end is a result too: it is stored with the phase it was in.
        folder = self._keep(scenario, kubectl, uid)
        cluster(*delete, "--wait=false")
        return folder

    def _follow(self, task: Task, kubectl: Kubectl, turn: Turn) -> None:
        """Follow a test to its end or its deadline, by one watch; pass the turn on meanwhile.

        One watch, because a call of kubectl takes a tenth of a CPU second and the runs need all
        there are.
        """
        until = time.monotonic() + self.minutes * 60
        phase = ""
        # An API server that cannot be reached for a while ends no run.
        attempts = round(self.minutes * 60) + 1
        for state in kubectl.states(task.scenario.name, until, attempts):
            test = Test(state)
            if test.status.get("phase", "") != phase:
                phase = test.status["phase"]
                self._print(task, f"phase {phase}")
            if next_may_start(test):
                turn.pass_on()
            if test.finished:
                return

    def _keep(self, scenario: Scenario, kubectl: Kubectl, uid: str) -> Path:
        """Store a run, under its name only once it is complete."""
        test = kubectl.get("krt", scenario.name)
        final = self.places.store.place(scenario.id, scenario.key(self.places.images), uid)
        partial = final.with_name(f".{uid}")
        partial.mkdir(parents=True, exist_ok=True)
        (partial / scenario.path.name).write_text(scenario.manifest(), encoding="utf-8")
        bundle = f"{kubectl.namespace}/{scenario.name}/{uid}"
        evidence = self.places.evidence
        for home in [*evidence.glob(f"*/{bundle}"), *evidence.glob(bundle)][:1]:
            for file in FILES:
                if (home / file).is_file():
                    shutil.copyfile(home / file, partial / file)
        published = (Test(test).status.get("report") or {}).get("configMap")
        if published and not (partial / SCORECARD).exists():
            # The evidence is not on this machine; the ConfigMap lacks examples only.
            card = kubectl.get("configmap", published)["data"][SCORECARD]
            (partial / SCORECARD).write_text(card, encoding="utf-8")
        text = json.dumps(test, indent=1) + "\n"
        (partial / "test.json").write_text(text, encoding="utf-8")
        return partial.rename(final)

    def _print(self, task: Task, text: str) -> None:
        line = f"{time.strftime('%H:%M:%S')}  {task.scenario.id}, run {task.number}: {text}"
        self.console.print(line, markup=False)


class Turn:
    """Belongs to the one run that starts its members or is in its steady state."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._mine = False

    def __enter__(self) -> None:
        """Wait until no other run has the turn."""
        self._lock.acquire()
        self._mine = True

    def __exit__(self, *error: object) -> None:
        """Pass the turn on, whatever happened."""
        self.pass_on()

    def pass_on(self) -> None:
        """Let the next run start; does nothing the second time."""
        if self._mine:
            self._mine = False
            self._lock.release()
