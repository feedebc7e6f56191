"""Plays a run undisturbed, then again from any of its calls on with a disturbance there.

A run is deterministic, so the call of a number is the same in each. What precedes it is not played
again: the world is copied at the start of every pass.
"""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tests.unit.operator.disturbed.disturbances import Killed
from tests.unit.operator.doubles.api_server import ApiServer
from tests.unit.operator.doubles.kubelets import START, TEST
from tests.unit.operator.doubles.owner import Owner
from tests.unit.operator.doubles.world import World

from krt_contract.labels import KIND
from krt_operator.app.metrics import Metrics

if TYPE_CHECKING:
    from tests.unit.operator.disturbed.disturbances import Kind
    from tests.unit.operator.disturbed.scenarios import Scenario
    from tests.unit.operator.doubles.api_server import Request

DOWN = 1.0
"""Seconds from the end of a controller until the next one runs."""

PAUSE = 1.0
"""Seconds from a pass that failed until the next one; see `krt_operator.app.retry`."""

SETTLED = 10.0
"""Seconds after the run in which the garbage collector does its work."""

NOT_COPIED = ("metrics", "api", "owner", "answers", "before_write")


@dataclass(frozen=True)
class End:
    """What must be the same however a run was disturbed."""

    facts: dict[str, Any]

    @classmethod
    def of(cls, world: World) -> End:
        """The end of a run in a world."""
        facts: dict[str, Any] = {
            "injected": Counter(world.injected),
            "created": Counter(world.created),
            "left": {key for key in world.objects if key[0] != KIND},
            "topics": set(world.topics) if world.reference else set(),
        }
        if (KIND, TEST) not in world.objects:
            return cls(facts)
        status = world.status
        facts |= {key: status.get(key) for key in ("phase", "verdict", "score", "ending")}
        facts["phases"] = world.phases()
        facts["conditions"] = {
            each["type"]: (each["status"], each["reason"]) for each in status["conditions"]
        }
        facts["reasons"] = sorted({each["code"] for each in status["inconclusiveReasons"]})
        facts["faults"] = {
            each["name"]: (
                each["state"],
                each.get("verified"),
                each.get("attempt"),
                [target["member"] for target in each.get("targets", [])],
                "recoveredAt" in each,
            )
            for each in status.get("faults", [])
        }
        return cls(facts)

    def without_creations_of(self, pod: str | None) -> End:
        """The same end, but for how often a pod was created."""
        created = {key: n for key, n in self.facts["created"].items() if key != ("Pod", pod)}
        return End(self.facts | {"created": Counter(created)})

    def differences(self, other: End, *, late: bool = False) -> list[str]:
        """What is different in the other end; empty where nothing is.

        Args:
            other: the end of the disturbed run.
            late: whether the run may say that a fault was late.
        """
        found = []
        for name, expected in self.facts.items():
            actual = other.facts.get(name)
            if late and name == "reasons":
                actual = [code for code in actual or [] if code != "OperatorInterrupted"]
            if actual != expected:
                found.append(f"{name}: {_difference(expected, actual)}")
        return found


def _difference(expected: Any, actual: Any) -> str:
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = [key for key in {**expected, **actual} if expected.get(key) != actual.get(key)]
        return "; ".join(f"{key}: {expected.get(key)} became {actual.get(key)}" for key in keys)
    if isinstance(expected, set) and isinstance(actual, set):
        return f"missing {expected - actual}, more {actual - expected}"
    return f"{expected} became {actual}"


@dataclass
class Recording:
    """A run that was played undisturbed.

    Attributes:
        calls: every call, in order; the first has the number 1.
        passes: number of calls before each pass, with the world at its start.
        waiting: numbers of calls in passes that repeat the pass before and write nothing.
    """

    scenario: Scenario
    calls: list[Request] = field(default_factory=list)
    passes: list[tuple[int, bytes]] = field(default_factory=list)
    waiting: set[int] = field(default_factory=set)
    end: End = field(default_factory=lambda: End({}))

    @classmethod
    def of(cls, scenario: Scenario) -> Recording:
        """Play a run undisturbed."""
        made = cls(scenario)
        world = scenario.world()
        world.api.log = made.calls
        play(scenario, world, made.passes)
        made.end = End.of(world)
        starts = [number for number, _ in made.passes]
        before: list[str] = []
        for start, following in zip(starts, [*starts[1:], len(made.calls)], strict=True):
            requests = made.calls[start:following]
            signature = [str(request) for request in requests]
            if signature == before and not any(request.writes for request in requests):
                made.waiting |= set(range(start + 1, following + 1))
            before = signature
        return made

    def points(self, kind: Kind) -> list[int]:
        """Numbers of the calls to which a kind of disturbance may happen.

        Passes that only wait repeat the same reads: of each succession, those of the first count.
        """
        return [
            number
            for number, request in enumerate(self.calls, 1)
            if kind.concerns(request) and number not in self.waiting
        ]

    def disturb(self, number: int, kind: Kind) -> list[str]:
        """Play the run with a disturbance at a call; return what it changed at the end."""
        served, copy = max(each for each in self.passes if each[0] < number)
        world = _restored(copy, served)
        world.api.disturbances[number] = kind.disturb
        try:
            play(self.scenario, world)
        except StuckError as stuck:
            return [str(stuck)]
        if world.api.disturbances:
            return [f"call {number} was never made"]
        pod = self._kept_down(number)
        expected, actual = self.end.without_creations_of(pod), End.of(world)
        return expected.differences(actual.without_creations_of(pod), late=kind.delays)

    def _kept_down(self, number: int) -> str | None:
        """The pod of a member that is deleted and then kept down, where a call is one of these two.

        Until the API server takes the second call, the StatefulSet puts another pod in its place.
        The other order would let the StatefulSet delete the pod, with its own grace period.
        """
        for deletion, scaling in pairwise(self.calls[max(0, number - 2) : number + 1]):
            deleted = deletion.writes and deletion.kind == "Pod"
            scaled = (scaling.method, scaling.kind) == ("PATCH", "StatefulSet")
            if deleted and scaled and deletion.name == f"{scaling.name}-0":
                return deletion.name if scaling.body["spec"]["replicas"] == 0 else None
        return None


class StuckError(Exception):
    """A run did not end."""


def play(scenario: Scenario, world: World, passes: list[tuple[int, bytes]] | None = None) -> None:
    """Play a run to its end, as the daemon does.

    Args:
        scenario: the run.
        world: as far as the run has come.
        passes: is given the number of calls before each pass, and the world.

    Raises:
        StuckError: it does not end.
    """
    engine = world.controller()
    while world.time < START + scenario.longest:
        scenario.user(world)
        if passes is not None:
            passes.append((world.api.served, _copy(world)))
        try:
            delay = engine.run_once(TEST)
        except Killed:
            engine, delay = world.controller(), DOWN
        except Exception as error:  # noqa: BLE001 - the daemon retries whatever it is
            world.errors.append(error)
            delay = max(PAUSE, getattr(error, "retry_after", 0.0))
        if delay is None:
            break
        world.elapse(delay or 0.01)
    else:
        raise StuckError(
            f"in {world.status.get('phase')} after {scenario.longest}: {world.errors[-1:]}"
        )
    if "deletionTimestamp" in world.objects.get((KIND, TEST), {}).get("metadata", {}):
        # Kopf removes its finalizer when the daemon has ended.
        world.remove(KIND, TEST)
    world.elapse(SETTLED)


def _copy(world: World) -> bytes:
    state = {key: value for key, value in vars(world).items() if key not in NOT_COPIED}
    return pickle.dumps(state, pickle.HIGHEST_PROTOCOL)


def _restored(copy: bytes, served: int) -> World:
    world = World.__new__(World)
    vars(world).update(pickle.loads(copy))  # noqa: S301 - our own
    world.metrics = Metrics()
    world.api = ApiServer(world)
    world.api.served = served
    world.owner = Owner(world)
    world.answers = lambda *_: None
    world.before_write = None
    return world
