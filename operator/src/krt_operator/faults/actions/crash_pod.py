"""CrashPod: SIGKILL to the process under test, without a SIGTERM before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import ObservationKind
from krt_operator.engine.progress import SideEffect
from krt_operator.faults import ephemeral
from krt_operator.faults.action import FaultAction, pod_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import FaultContext, Outcome


class CrashPod(FaultAction):
    """Kills the process from an ephemeral container that shares its process namespace."""

    def keeps_down(self, fault: Fault) -> bool:
        """Only with a duration; without one, kubelet restarts the container at once."""
        return fault.duration.micros > 0

    def keeps_pod(self, fault: Fault, *, is_member: bool) -> bool:
        """Without a duration, a member's container is restarted in its pod; traffic's is not."""
        return is_member and not fault.duration.micros

    def ends_silently(self, fault: Fault, session: timedelta) -> bool:
        """Always: a killed process closes nothing."""
        del fault, session
        return True

    def act(self, ctx: FaultContext) -> SideEffect:
        """Start the killing container in every target that is left."""
        return kill_processes(ctx, "hold" if ctx.fault.duration.micros else "release")

    def outcome(self, ctx: FaultContext) -> Outcome:
        """What the killing containers of all attempts reported."""
        return ephemeral.read_outcome(
            ctx.entry,
            ctx.observed,
            killing_container,
            ObservationKind.PROCESS_KILLED,
            "SIGKILL, no SIGTERM before",
        )


def killing_container(entry: FaultStatus, attempt: int) -> str:
    """The ephemeral container that kills the process."""
    return ephemeral.container_name("crash", entry, attempt)


def kill_processes(ctx: FaultContext, mode: str) -> SideEffect:
    """Start the killing container in every target that no earlier attempt has hit.

    Args:
        ctx: the fault.
        mode: `hold` or `release`: what the members' wrapper does then, see `signal.sh`.
    """
    entry = ctx.entry
    signal = ephemeral.Signal(
        killing_container(entry, entry.attempt),
        "KILL",
        (mode,),
        not_after=ephemeral.not_after(entry, ctx.now),
    )
    targets = ephemeral.left_targets(entry, ctx.observed, killing_container)

    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            ephemeral.start_container(ports, ctx.plan.spec, ctx.observed, target, signal)
        return []

    return SideEffect(f"kill the process of {pod_names(targets)}", perform)
