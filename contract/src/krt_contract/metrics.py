"""The metrics for Prometheus: their names, labels and meaning, and the port that has them.

Controller and traffic pods build their metrics from these tables; the reference of metrics is
rendered from them, and the chart's dashboards and alerts may name no other.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

PORT: Final = 9090
"""Port of ``/metrics`` in each traffic pod; nothing else listens there."""

PORT_NAME: Final = "metrics"
"""Name of that port in the pod, by which a PodMonitor finds it."""

TEST: Final = "test"
"""Label: name of the test."""


class MetricKind(StrEnum):
    """Type of a metric, in Prometheus' words."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One metric.

    Attributes:
        name: as Prometheus has it; of a counter, with its suffix ``_total``.
        kind: its type.
        labels: names of its labels, in the order in which values are given.
        meaning: what it says, for people.
    """

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    meaning: str


_COUNTER, _GAUGE, _HISTOGRAM = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM
_PRODUCER: Final = (TEST, "producer")
_CONSUMER: Final = (TEST, "consumer", "group")
_PARTITION: Final = ("topic", "partition")

# Controller.

TESTS: Final = Metric("krt_tests_total", _COUNTER, ("verdict",), "Tests that ended, by verdict.")
TESTS_UNFINISHED: Final = Metric(
    "krt_tests_unfinished",
    _GAUGE,
    ("phase",),
    "Tests that have not ended, by phase. Counted every 15 s.",
)
TESTS_QUEUED: Final = Metric(
    "krt_tests_queued",
    _GAUGE,
    (),
    "Tests in phase Pending that wait for a slot, or until the cluster can carry them. Counted "
    "every 15 s.",
)
PHASE_DURATION: Final = Metric(
    "krt_phase_duration_seconds", _HISTOGRAM, ("phase",), "Duration of phases that were left."
)
RECONCILE_ERRORS: Final = Metric(
    "krt_reconcile_errors_total",
    _COUNTER,
    ("reason",),
    "Passes over tests that failed, and events that were not created, by kind of error.",
)
EXPIRY_ERRORS: Final = Metric(
    "krt_expiry_errors_total",
    _COUNTER,
    ("reason",),
    "Failures to delete a test after ttlSecondsAfterFinished, by kind of error.",
)

# Producers, and consumers that write an output topic.

SENDS_ATTEMPTED: Final = Metric(
    "krt_producer_sends_attempted_total", _COUNTER, _PRODUCER, "Sends begun."
)
SENDS: Final = Metric(
    "krt_producer_sends_total",
    _COUNTER,
    (*_PRODUCER, "outcome"),
    "Sends that ended, by outcome: acked, failed or unknown.",
)
SENDS_IN_FLIGHT: Final = Metric(
    "krt_producer_sends_in_flight",
    _GAUGE,
    _PRODUCER,
    "Sends that the client has not reported on.",
)
PRODUCE_LATENCY: Final = Metric(
    "krt_produce_latency_seconds",
    _HISTOGRAM,
    _PRODUCER,
    "Time from when a send was due to its acknowledgement. Acknowledged sends only.",
)
PRODUCER_WAIT: Final = Metric(
    "krt_producer_wait_seconds",
    _GAUGE,
    (*_PRODUCER, *_PARTITION),
    "Time for which sends to the partition have been due and none was acknowledged.",
)
OPEN_OUTAGES: Final = Metric(
    "krt_producer_open_outages",
    _GAUGE,
    _PRODUCER,
    "Partitions whose wait is 1 s or longer.",
)

# Consumers.

DELIVERIES: Final = Metric(
    "krt_consumer_deliveries_total", _COUNTER, _CONSUMER, "Records delivered."
)
CONSUMER_EVENTS: Final = Metric(
    "krt_consumer_events_total",
    _COUNTER,
    (*_CONSUMER, "event"),
    "Events of the member and of its partitions, such as assigned, revoked or commit_failed.",
)
END_TO_END_LATENCY: Final = Metric(
    "krt_end_to_end_latency_seconds",
    _HISTOGRAM,
    _CONSUMER,
    "Time from the timestamp that the producer gave a record to its delivery. Clocks of two nodes "
    "may differ; a negative time counts as 0.",
)
CONSUMER_LAG: Final = Metric(
    "krt_consumer_lag_records",
    _GAUGE,
    (*_CONSUMER, *_PARTITION),
    "Offsets between the position and the high watermark of a partition that the member owns, as "
    "its last fetch had it. Read once a second.",
)
ASSIGNED_PARTITIONS: Final = Metric(
    "krt_consumer_assigned_partitions", _GAUGE, _CONSUMER, "Partitions that the member owns."
)

# Producers and consumers.

LEDGER_WAITING: Final = Metric(
    "krt_ledger_waiting_bytes",
    _GAUGE,
    (TEST, "member"),
    "Memory of the rows that are not yet in the evidence. At 16 MiB the member pauses.",
)

# Recorder.

PHASE: Final = Metric(
    "krt_test_phase",
    _GAUGE,
    (TEST, "phase"),
    "1 for the phase that the test is in, 0 for those it was in.",
)
FAULT_ACTIVE: Final = Metric(
    "krt_fault_active",
    _GAUGE,
    (TEST, "fault", "action"),
    "1 from the injection of a fault until it is reverted, else 0.",
)
PARTITION_LEADER: Final = Metric(
    "krt_partition_leader",
    _GAUGE,
    (TEST, *_PARTITION),
    "Id of the broker that leads the partition; -1 if none does. Topics of the test only.",
)
PARTITION_ISR: Final = Metric(
    "krt_partition_isr_size",
    _GAUGE,
    (TEST, *_PARTITION),
    "In-sync replicas of the partition. Topics of the test only.",
)
UNDER_REPLICATED: Final = Metric(
    "krt_under_replicated_partitions",
    _GAUGE,
    (TEST,),
    "Partitions with fewer in-sync replicas than their replication factor; of internal topics, "
    "than they have had.",
)
OFFLINE: Final = Metric(
    "krt_offline_partitions",
    _GAUGE,
    (TEST,),
    "Partitions without a leader, internal topics included.",
)
BROKER_AVAILABLE: Final = Metric(
    "krt_broker_available",
    _GAUGE,
    (TEST, "broker"),
    "1 while the broker is registered and, with KRaft, not fenced, else 0.",
)
TIMELINE_EVENTS: Final = Metric(
    "krt_timeline_events_total", _COUNTER, (TEST,), "Events that the recorder wrote."
)
TIMELINE_GAPS: Final = Metric(
    "krt_timeline_gaps_total",
    _COUNTER,
    (TEST,),
    "Periods of more than a second that the recorder could not observe.",
)

CONTROLLER_METRICS: Final = (
    TESTS,
    TESTS_UNFINISHED,
    TESTS_QUEUED,
    PHASE_DURATION,
    RECONCILE_ERRORS,
    EXPIRY_ERRORS,
)
"""What the controller exports."""

PRODUCER_METRICS: Final = (
    SENDS_ATTEMPTED,
    SENDS,
    SENDS_IN_FLIGHT,
    PRODUCE_LATENCY,
    PRODUCER_WAIT,
    OPEN_OUTAGES,
)
"""What producers export, and consumers that write an output topic."""

CONSUMER_METRICS: Final = (
    DELIVERIES,
    CONSUMER_EVENTS,
    END_TO_END_LATENCY,
    CONSUMER_LAG,
    ASSIGNED_PARTITIONS,
)
"""What consumers export."""

MEMBER_METRICS: Final = (LEDGER_WAITING,)
"""What producers and consumers export."""

RECORDER_METRICS: Final = (
    PHASE,
    FAULT_ACTIVE,
    PARTITION_LEADER,
    PARTITION_ISR,
    UNDER_REPLICATED,
    OFFLINE,
    BROKER_AVAILABLE,
    TIMELINE_EVENTS,
    TIMELINE_GAPS,
)
"""What the recorder exports."""
