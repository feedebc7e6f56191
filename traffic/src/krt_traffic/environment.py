"""What a traffic pod is told by its environment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from collections.abc import Mapping

TERMINATION_LOG = Path("/dev/termination-log")
"""Where Kubernetes picks up the termination message by default."""

PIPE = Path("/krt/pipe/dump")
"""Where the containers of a dump meet: an emptyDir of their pod."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of a pod of the traffic image.

    Attributes:
        plan: path of plan.json.
        evidence: mount point of the evidence claim; the bundle lies below it.
        control: name of the ConfigMap that says when to stop.
        namespace: namespace of the test.
        test: name of the test.
        test_uid: uid of the test, which is the uid of the run.
        pod: name of this pod.
        pod_uid: uid of this pod, which is the incarnation.
        name: entry of spec.traffic this pod plays, `kafka` where it reads a broker's dump; empty
            for the recorder.
        replica: ordinal among the pods of that entry.
        pipe: what the dump of a broker's replicas comes through; only where one is read.
        termination_log: file of the termination message.
    """

    plan: Path
    evidence: Path
    control: str
    namespace: str
    test: str
    test_uid: str
    pod: str
    pod_uid: str
    name: str
    replica: int
    termination_log: Path
    pipe: Path = PIPE

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> Environment:
        """Read the variables.

        Raises:
            UnusableError: one is missing or malformed; the message names it.
        """

        def need(name: str) -> str:
            value = variables.get(name, "")
            if not value:
                raise UnusableError(
                    f"environment variable {name} is not set; the pod template of "
                    "the controller sets it"
                )
            return value

        replica = variables.get("KRT_REPLICA", "0")
        if not replica.isdigit():
            raise UnusableError(f"KRT_REPLICA is {replica!r}; it must be a whole number from 0")
        return cls(
            plan=Path(need("KRT_PLAN")),
            evidence=Path(need("KRT_EVIDENCE")),
            control=need("KRT_CONTROL"),
            namespace=need("KRT_NAMESPACE"),
            test=need("KRT_TEST"),
            test_uid=need("KRT_TEST_UID"),
            pod=need("KRT_POD"),
            pod_uid=need("KRT_POD_UID"),
            name=variables.get("KRT_NAME", ""),
            replica=int(replica),
            termination_log=Path(variables.get("KRT_TERMINATION_LOG", str(TERMINATION_LOG))),
            pipe=Path(variables.get("KRT_PIPE", str(PIPE))),
        )

    @property
    def member(self) -> str:
        """Identity in evidence: ``<name>-<replica>``."""
        return f"{self.name}-{self.replica}"
