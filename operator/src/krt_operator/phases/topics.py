"""The topics of a test, and Kafka's internal ones where the test deploys the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.health import cluster
from krt_operator.plan.internal_topics import internal_topics

if TYPE_CHECKING:
    from krt_contract.entries import Topic
    from krt_operator.api.plan import Plan
    from krt_operator.engine.kafka import Kafka
    from krt_operator.kafka.views import ClusterView


def create_missing_topics(kafka: Kafka, plan: Plan, view: ClusterView) -> str:
    """Create the topics that the cluster lacks, but for adopted ones; return what is waited for.

    Args:
        kafka: the cluster.
        plan: the topics.
        view: the cluster's metadata.

    Returns:
        A sentence; empty once all topics are there, fully replicated, and known to every broker.

    Raises:
        TransientError: Kafka does not answer.
        UserError: Kafka refuses a topic.
    """
    known = {partition.topic for partition in view.partitions}
    missing = [topic for topic in _topics_of(plan) if topic.name not in known and not topic.adopted]
    if missing:
        kafka.create_topics(missing)
        return "creating topics " + ", ".join(topic.name for topic in missing)
    incomplete = cluster.not_replicated(plan, view)
    if incomplete:
        return incomplete
    return cluster.not_known(plan, kafka.led_partitions([topic.name for topic in plan.topics]))


def _topics_of(plan: Plan) -> list[Topic]:
    internal = [] if plan.metadata.referenced else internal_topics(plan)
    return [*internal, *plan.topics]
