"""What a traffic pod learns from its environment variables.

By msgspec, which the Kubernetes client brings along, rather than pydantic-settings
(docs/decisions/0020-settings-of-traffic-pods.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert

from krt_contract.kafka_security import FOLDER
from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from collections.abc import Mapping

TERMINATION_LOG = Path("/dev/termination-log")
"""Where Kubernetes picks up the termination message by default."""

PIPE = Path("/krt/pipe/dump")
"""The pipe between the two containers of a dump, in an emptyDir of their pod."""

Text = Annotated[str, Meta(min_length=1)]


class Environment(Struct, frozen=True, kw_only=True, rename=lambda name: f"KRT_{name.upper()}"):
    """The variables of a pod of the traffic image; each is ``KRT_`` and the field's name.

    Attributes:
        plan: path of plan.json.
        evidence: folder that the bundle lies below, the mount point of the evidence claim; unused
            where evidence goes into an object store.
        control: name of the run's control ConfigMap.
        namespace: namespace of the test.
        test: name of the test.
        test_uid: uid of the test, which is the uid of the run.
        pod: name of this pod.
        pod_uid: uid of this pod, which is the incarnation.
        name: entry of spec.traffic this pod plays, `kafka` where it reads a broker's dump; empty
            for the recorder.
        replica: ordinal among the pods of that entry.
        pipe: where the dump of a broker's replicas comes from; only for the reader of a dump.
        termination_log: file of the termination message.
        metrics_port: port of ``/metrics`` for Prometheus; 0: none.
        kafka_secrets: folder of what clients of a secured cluster log in with.
    """

    plan: Path
    evidence: Path
    control: Text
    namespace: Text
    test: Text
    test_uid: Text
    pod: Text
    pod_uid: Text
    name: str = ""
    replica: Annotated[int, Meta(ge=0)] = 0
    termination_log: Path = TERMINATION_LOG
    pipe: Path = PIPE
    metrics_port: Annotated[int, Meta(ge=0)] = 0
    kafka_secrets: Path = Path(FOLDER)

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> Environment:
        """Read the variables.

        Raises:
            UnusableError: one is missing, empty or malformed; the message names it.
        """
        try:
            return convert(dict(variables), cls, strict=False, dec_hook=_path)
        except ValidationError as error:
            raise UnusableError(
                f"environment of the pod: {error}; the controller's pod template sets these "
                "variables, so check that image and controller are of the same version"
            ) from error

    @property
    def member(self) -> str:
        """Identity in evidence: ``<name>-<replica>``."""
        return f"{self.name}-{self.replica}"


def _path(kind: type, value: Any) -> Path:
    if kind is not Path:
        raise NotImplementedError(f"a variable of type {kind.__name__}")
    if not value:
        raise ValueError("Expected a path, got an empty text")
    return Path(value)
