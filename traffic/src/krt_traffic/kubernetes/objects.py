"""The few Kubernetes objects that traffic and recorder read, as far as they read them.

lightkube decodes an answer straight into these classes; what they do not name is skipped. Times
stay text (RFC 3339), because the test's status has them with microseconds and pods without.
"""

from __future__ import annotations

from typing import Any, TypeVar

from lightkube.core.resource import ApiInfo, NamespacedResourceG, ResourceDef
from msgspec import Struct, field

from krt_contract.labels import GROUP, KIND, LABEL_COMPONENT, LABEL_MEMBER, PLURAL, VERSION

VERBS = ["list", "watch"]
"""What is done with them."""


class Metadata(Struct, frozen=True, rename="camel"):
    """An object's metadata."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class WatchedObject(NamespacedResourceG, Struct, frozen=True):
    """What all objects that are watched have."""

    metadata: Metadata = Metadata()


Object = TypeVar("Object", bound=WatchedObject)


class ConfigMap(WatchedObject, frozen=True):
    """A ConfigMap."""

    _api_info = ApiInfo(ResourceDef("", "v1", "ConfigMap"), "configmaps", VERBS)

    data: dict[str, str] = {}


class Condition(Struct, frozen=True, rename="camel"):
    """An entry of a pod's ``status.conditions``."""

    type: str
    status: str
    last_transition_time: str | None = None


class Running(Struct, frozen=True, rename="camel"):
    """The state of a container that runs."""

    started_at: str | None = None


class Terminated(Struct, frozen=True, rename="camel"):
    """The state of a container that has ended."""

    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    message: str | None = None
    finished_at: str | None = None
    container_id: str | None = field(name="containerID", default=None)


class ContainerState(Struct, frozen=True, rename="camel"):
    """One of the two, or neither while the container waits."""

    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, rename="camel"):
    """The status of a container, ephemeral or not.

    Attributes:
        state: its state now.
        last_state: the state before its last restart.
    """

    name: str
    image_id: str = field(name="imageID", default="")
    container_id: str = field(name="containerID", default="")
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodSpec(Struct, frozen=True, rename="camel"):
    """A pod's specification."""

    node_name: str = ""


class PodStatus(Struct, frozen=True, rename="camel"):
    """A pod's status."""

    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(WatchedObject, frozen=True):
    """A pod."""

    _api_info = ApiInfo(ResourceDef("", "v1", "Pod"), "pods", VERBS)

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def component(self) -> str:
        """The pod's role in its run: kafka, zookeeper, producer …; "" without such a label."""
        return self.metadata.labels.get(LABEL_COMPONENT, "")

    @property
    def member(self) -> str:
        """The cluster member it plays, "" for other pods."""
        return self.metadata.labels.get(LABEL_MEMBER, "")

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of a kind where it is true, else None."""
        for condition in self.status.conditions:
            if condition.type == kind and condition.status == "True":
                return condition
        return None

    @property
    def containers(self) -> tuple[ContainerStatus, ...]:
        """The statuses of its containers, the ephemeral ones last."""
        return self.status.container_statuses + self.status.ephemeral_container_statuses


class Phase(Struct, frozen=True, rename="camel"):
    """An entry of the test's ``status.phases``."""

    name: str
    start_time: str | None = None


class Fault(Struct, frozen=True, rename="camel"):
    """An entry of the test's ``status.faults``.

    Attributes:
        verified: whether the fault's effect was observed; None until it was looked for.
        targets: objects as they are in the status, and so are ``observations``.
    """

    name: str
    state: str = ""
    message: str | None = None
    targets: tuple[dict[str, Any], ...] = ()
    injected_at: str | None = None
    reverted_at: str | None = None
    recovered_at: str | None = None
    verified: bool | None = None
    observations: tuple[dict[str, Any], ...] = ()


class InconclusiveReason(Struct, frozen=True, rename="camel"):
    """An entry of the test's ``status.inconclusiveReasons``."""

    code: str
    kind: str | None = None
    message: str | None = None
    at: str | None = None


class TestStatus(Struct, frozen=True, rename="camel"):
    """The test's status."""

    phases: tuple[Phase, ...] = ()
    faults: tuple[Fault, ...] = ()
    inconclusive_reasons: tuple[InconclusiveReason, ...] = ()


class KafkaResilienceTest(WatchedObject, frozen=True):
    """The test that the run belongs to."""

    _api_info = ApiInfo(ResourceDef(GROUP, VERSION, KIND), PLURAL, VERBS)

    status: TestStatus = TestStatus()
