"""How a run is scored, and how long each phase may take."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from krt_operator.api.base import ApiModel, RenamedField
from krt_operator.api.durations import Duration
from krt_operator.api.resources import MemoryMi, Quantity

_MINUTE = 60_000_000
_SECOND = 1_000_000


class Timeouts(ApiModel):
    """Deadlines, each counted from the start of its phase or from the revert."""

    renamed: ClassVar[Mapping[str, RenamedField]] = {
        "comparison": RenamedField("replicaDump", {"type": "string", "maxLength": 25})
    }

    provisioning: Duration = Field(
        default=Duration(5 * _MINUTE), description="For brokers, ZooKeeper and topics to be ready."
    )
    warmup: Duration = Field(
        default=Duration(2 * _MINUTE),
        description="For every producer and consumer to be at work and writes to be prompt; the "
        "warm-up begins after that. If writes stay slow, the run continues at this deadline.",
    )
    recovery: Duration = Field(
        default=Duration(2 * _MINUTE),
        description="For the cluster to recover after each revert.",
    )
    drain: Duration = Field(
        default=Duration(2 * _MINUTE), description="For consumers to reach the end of the topics."
    )
    replica_dump: Duration = Field(
        default=Duration(5 * _MINUTE),
        description="For the dump of every broker's replicas, if evidence.compareReplicas is set.",
    )
    scoring: Duration = Field(default=Duration(10 * _MINUTE), description="For the Spark job.")


class SparkPod(ApiModel):
    """Size of a Spark pod."""

    cpu: Quantity = Field(default="200m", description="CPU requested; not limited.")
    memory: MemoryMi = Field(
        default="512Mi",
        description="Heap of the JVM. The pod may use a quarter of it and 256Mi more, and at least "
        "384Mi.",
    )


class Objectives(ApiModel):
    """Objectives that a run must meet to pass; missing one makes it Degraded."""

    lost_records: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(
        default=0,
        description="Acknowledged records that may be lost, where the settings permit any loss.",
    )
    max_write_unavailability: Duration = Field(
        default=Duration(15 * _SECOND),
        description="Longest gap without a completed write, per partition.",
    )
    max_read_unavailability: Duration = Field(
        default=Duration(20 * _SECOND), description="Longest gap without a delivery, per partition."
    )
    max_recovery: Duration = Field(
        default=Duration(90 * _SECOND),
        description="Longest time from a revert until all replicas are in sync and groups have no "
        "lag.",
    )


class Scoring(ApiModel):
    """The Spark job that scores the run."""

    executors: int = Field(default=2, ge=1, le=16, description="Number of Spark executors.")
    driver: SparkPod = Field(default=SparkPod(), description="The driver.")
    executor: SparkPod = Field(default=SparkPod(), description="Each executor.")
    self_test: bool = Field(
        default=False,
        description="Corrupt copies of the run's own evidence and check that scoring detects each "
        "corruption; see status.selfTest. Scoring takes two to three times as long.",
    )
    objectives: Objectives = Field(
        default=Objectives(), description="Objectives that the run must meet."
    )
