"""Members that end instead of starting: the error, the setting it is about, what to do. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.members import MemberKind
from krt_operator.errors import UserError
from krt_operator.health.pod_state import last_line, message_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_contract.members import Member
    from krt_operator.api.plan import Plan
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import ContainerView

FAILURES: Final = 3
"""Starts in succession that must end with the same error before the test is given up. Kubelet
restarts a container at once, then after 10 s: the third failure comes within half a minute. An
error that goes away by itself, such as an address that is not known yet, has gone by then; what is
the same three times is in the settings or in the image, and no waiting changes it."""

CANNOT_START: Final = "MemberCannotStart"
"""Reason of Provisioned where a member failed so often that the test has ended."""

FAILING: Final = "MemberFailing"
"""Reason of Provisioned where a member has failed and is started again."""

OUT_OF_MEMORY: Final = "OOMKilled"
"""Reason that Kubernetes gives for a container that the kernel ended for its memory limit."""

_PACKAGE: Final = re.compile(r"^(?:[a-z_][A-Za-z0-9_]*\.)+(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class StartupFailure:
    """A member that failed to start and does not run.

    Attributes:
        member: the broker, ZooKeeper server or KRaft controller.
        failures: how many starts in succession ended with this error.
        error: what the member logged about it, in one line.
        field: what the error is about: a setting, or the part of the resource to look at.
        remedy: what to do.
    """

    member: Member
    failures: int
    error: str
    field: str
    remedy: str

    def __str__(self) -> str:
        """Say what happened and what to do."""
        times = f" {self.failures} times" if self.failures > 1 else ""
        return f"{self.member.member} failed to start{times}: {self.error}; {self.remedy}"


def find_startup_failures(plan: Plan, observed: Observed) -> tuple[StartupFailure, ...]:
    """The members whose container has failed and is not running again."""
    found = []
    for member in plan.members:
        pod = observed.pod(member.pod)
        if pod is None or pod.deleting or not pod.containers:
            continue
        container = pod.containers[0]
        ended = container.last_terminated
        if ended is not None and ended.get("exitCode") and not container.ready:
            found.append(_failure(plan, member, container))
    return tuple(found)


def check_startup(failures: Iterable[StartupFailure]) -> None:
    """Look for members that will not start, however often they are started again.

    Raises:
        UserError: MemberCannotStart.
    """
    hopeless = [failure for failure in failures if failure.failures >= FAILURES]
    if hopeless:
        first, *others = hopeless
        also = ", ".join(failure.member.member for failure in others)
        message = f"{first}; so did {also}" if also else str(first)
        raise UserError(CANNOT_START, first.field, message)


def _failure(plan: Plan, member: Member, container: ContainerView) -> StartupFailure:
    ended = container.last_terminated or {}
    broker = member.kind is MemberKind.KAFKA
    spec, path = plan.spec, "spec.kafka" if broker else plan.spec.ensemble_field
    configs = {path: spec.kafka.config if broker else spec.ensemble.config}
    if member.kind is MemberKind.CONTROLLER:
        # A controller is given some of the brokers' settings, too.
        configs["spec.kafka"] = spec.kafka.config
    # Without a report of the member, nothing says that the failures are alike; then all count.
    all_failures = container.restarts + (0 if container.running else 1)
    if ended.get("reason") == OUT_OF_MEMORY:
        limits = f"{path}.resources.limits.memory"
        return StartupFailure(
            member, all_failures, "it used more memory than its limit", limits, f"raise {limits}"
        )
    text = str(ended.get("message") or "")
    report = message_json(text)
    error = str(report.get("error") or "") or last_line(text)
    silent = f"it ended with exit code {ended['exitCode']} and logged no error"
    error = _PACKAGE.sub("", error) or silent
    counted = report.get("failures")
    failures = counted if isinstance(counted, int) else all_failures
    field = f"{path}.config"
    remedy = f"correct {field}, or use another spec.kafka.image"
    for where, config in configs.items():
        setting = find_setting(config, error)
        if setting is not None:
            field = f"{where}.config[{setting}]"
            remedy = f"correct {field}, which is {config[setting]!r}"
            break
    return StartupFailure(member, failures, error, field, remedy)


def find_setting(config: Mapping[str, str], error: str) -> str | None:
    """The setting that an error is about: the one it names, else the one whose value it quotes.

    Args:
        config: settings by name, as the resource has them.
        error: the error in one line.
    """
    named = [
        name for name in config if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", error)
    ]
    if named:
        return max(named, key=len)
    quoted = [
        name
        for name, value in config.items()
        if any(f"{quote}{value}{quote}" in error for quote in "\"'`")
    ]
    return quoted[0] if len(quoted) == 1 else None
