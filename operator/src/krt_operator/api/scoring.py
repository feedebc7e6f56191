"""How a run is judged, and how long each phase may take."""

from typing import Annotated

from pydantic import Field

from krt_operator.api.base import ApiModel, ObjectName
from krt_operator.api.durations import Duration
from krt_operator.api.resources import MemoryMi, Quantity

_MINUTE = 60_000_000
_SECOND = 1_000_000


class Timeouts(ApiModel):
    """Deadlines, each counted from the start of its phase or from the revert."""

    provisioning: Duration = Field(
        default=Duration(5 * _MINUTE), description="For brokers, ZooKeeper and topics to stand."
    )
    warmup: Duration = Field(
        default=Duration(2 * _MINUTE),
        description="For every producer and consumer to be at work and writes to be prompt, before "
        "the warm-up is counted. Where writes stay slow, the run goes on without waiting longer.",
    )
    recovery: Duration = Field(
        default=Duration(2 * _MINUTE),
        description="For the cluster to be whole again after each revert.",
    )
    drain: Duration = Field(
        default=Duration(2 * _MINUTE), description="For consumers to reach the end of the topics."
    )
    replica_dump: Duration = Field(
        default=Duration(5 * _MINUTE),
        description="For the dump of every broker's replicas, where evidence.compareReplicas asks "
        "for it.",
    )
    scoring: Duration = Field(default=Duration(10 * _MINUTE), description="For the Spark job.")


class SparkPod(ApiModel):
    """Size of a Spark pod."""

    cpu: Quantity = Field(default="200m", description="CPU requested; not limited.")
    memory: MemoryMi = Field(
        default="512Mi",
        description="Memory of the JVM; the pod may use 384Mi more beside its heap.",
    )


class Objectives(ApiModel):
    """What a run must reach to pass; a missed one makes it Degraded."""

    lost_records: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(
        default=0,
        description="Confirmed records that may be lost, where the settings permit any loss.",
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
        description="Longest time from a revert to whole replica sets and groups without lag.",
    )


class Scoring(ApiModel):
    """The Spark job that judges the run."""

    executors: int = Field(default=2, ge=1, le=16, description="Number of Spark executors.")
    driver: SparkPod = Field(default=SparkPod(), description="The driver.")
    executor: SparkPod = Field(default=SparkPod(), description="Each executor.")
    self_test: bool = Field(
        default=False,
        description="Corrupt copies of the run's own evidence and see whether each corruption is "
        "found; status.selfTest tells. Scoring takes two to three times as long.",
    )
    objectives: Objectives = Field(default=Objectives(), description="What the run must reach.")


class Evidence(ApiModel):
    """Where the evidence is written; it outlives the test."""

    claim_name: ObjectName = Field(
        default="krt-evidence",
        description="A ReadWriteMany claim in the test's namespace. krt-evidence is created where "
        "it is missing and never deleted; another one must be there.",
    )
    compare_replicas: bool = Field(
        default=False,
        description="After the drain, dump what each broker's replicas of the tested topics hold, "
        "with Kafka's own tool, and compare those in sync offset by offset; of a lost record it is "
        "told which replicas still hold it.",
    )
