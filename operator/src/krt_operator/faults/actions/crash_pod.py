"""CrashPod: SIGKILL to the process under test, from beside it, without a SIGTERM before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import ObservationKind
from krt_operator.engine.progress import SideEffect
from krt_operator.faults import ephemeral
from krt_operator.faults.action import until_due

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import Outcome, Scene

hold = until_due


def container_name(fault: str, attempt: int) -> str:
    """The ephemeral container of an attempt, the same whoever tries it again."""
    return f"krt-crash-{fault}-{attempt}"


def act(scene: Scene) -> SideEffect:
    """Start the killing container in every target that is still there."""
    return killing(scene, "hold" if scene.fault.duration.micros else "release")


def killing(scene: Scene, mode: str) -> SideEffect:
    """Start the killing container in every target; `mode` is what becomes of the wrapper."""
    name = container_name(scene.fault.name, scene.entry.attempt)
    targets = scene.entry.targets

    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            ephemeral.start(ports, scene.pods, target, ephemeral.Signal(name, "KILL", (mode,)))
        return []

    return SideEffect(f"kill the process of {', '.join(one.pod for one in targets)}", perform)


def outcome(scene: Scene) -> Outcome:
    """What the killing containers of all attempts so far report."""
    return ephemeral.outcome(
        scene.entry,
        scene.pods,
        container_name,
        ObservationKind.PROCESS_KILLED,
        "SIGKILL, no SIGTERM before",
    )
