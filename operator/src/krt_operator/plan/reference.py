"""A cluster that somebody else runs, as it was found before anything was built, and what it lacks.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from krt_operator.api.reserved import BROKER
from krt_operator.errors import UserError
from krt_operator.plan.adoption import check_adopted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_operator.api.spec import Spec
    from krt_operator.kafka.views import Broker
    from krt_operator.plan.adoption import ExistingTopic

ROLES: Final = "process.roles"
"""Broker setting that only a broker in KRaft mode has."""

LEFT_OUT: Final = (
    *("authorizer.", "listener.", "listeners", "log.dir", "metric", "password.", "principal."),
    *("sasl.", "security.", "ssl.", "super.", "zookeeper.connect", "zookeeper.ssl"),
)
"""How settings begin that say how the cluster is reached, guarded and watched. They decide nothing
that is judged, and the evidence is passed on."""

NO_EXPIRY: Final[Mapping[str, str]] = {
    "cleanup.policy": "delete",
    "retention.bytes": "-1",
    "retention.ms": "-1",
}
"""Settings of every topic that the test creates: a record that expired during a run could not be
distinguished from a lost one, and the cluster's own defaults are its owner's."""


@dataclass(frozen=True)
class ReferencedCluster:
    """What the brokers answered.

    Attributes:
        racks: broker id → its rack; empty where it reports none.
        settings: settings of one broker that differ from Kafka's defaults.
        topics: names of all topics.
        groups: of the test's groups, those that are there already.
        brokers: each with the host that it advertises.
        adopted: of the topics that the test adopts, those that are there.
    """

    racks: Mapping[int, str]
    settings: Mapping[str, str]
    topics: frozenset[str]
    groups: frozenset[str]
    brokers: tuple[Broker, ...] = ()
    adopted: Mapping[str, ExistingTopic] = field(default_factory=dict)

    @property
    def kraft(self) -> bool:
        """Whether KRaft controllers keep the cluster's metadata."""
        return bool(self.settings.get(ROLES))

    @property
    def spread_over(self) -> dict[int, str]:
        """Broker id → what its replicas are spread over: its rack, or itself where it has none."""
        return {broker: rack or f"broker {broker}" for broker, rack in self.racks.items()}

    @property
    def config(self) -> dict[str, str]:
        """The settings that are kept in the plan."""
        return {
            name: value
            for name, value in sorted(self.settings.items())
            if name not in BROKER and not name.startswith(LEFT_OUT)
        }


def check_reference(spec: Spec, cluster: ReferencedCluster) -> None:
    """Refuse a test that the cluster cannot carry, or that would touch what is not the test's.

    Raises:
        UserError: TopicExists, GroupExists, TopicUnusable, TooFewBrokers or NoSuchBroker.
    """
    refuse_existing(spec, cluster.topics, cluster.groups)
    check_adopted(spec, cluster.adopted)
    for topic in spec.topics:
        # Brokers of an adopted topic may be down; Provisioning waits for them.
        if topic.replication_factor > len(cluster.racks) and not topic.adopt:
            raise UserError(
                "TooFewBrokers",
                f"spec.topics[{topic.name}].replicationFactor",
                f"{topic.replication_factor} replicas need as many brokers, and the cluster of "
                f"spec.kafkaRef has {len(cluster.racks)}; lower the factor",
            )
    for bounds in spec.expect.in_isr:
        if bounds.broker not in cluster.racks:
            raise UserError(
                "NoSuchBroker",
                f"spec.expect.inIsr[{bounds.broker}].broker",
                f"there is no broker {bounds.broker}: the cluster of spec.kafkaRef has the brokers "
                f"{', '.join(map(str, sorted(cluster.racks)))}; name one of these ids, or start "
                "the broker",
            )


def refuse_existing(spec: Spec, topics: frozenset[str], groups: frozenset[str]) -> None:
    """Refuse a test of groups that are there already, or of topics that it does not adopt.

    Args:
        spec: names the topics and groups of the test.
        topics: names of all topics of the cluster.
        groups: of the test's groups, those that are there already.

    Raises:
        UserError: TopicExists or GroupExists.
    """
    remedy = "so it is not the test's; name another, or delete it if nobody needs it"
    for topic in spec.topics:
        if topic.name in topics and not topic.adopt:
            raise UserError(
                "TopicExists",
                f"spec.topics[{topic.name}]",
                f"topic {topic.name} exists on the cluster of spec.kafkaRef, {remedy}; adopt: true "
                "uses it as it is",
            )
    for consumer in spec.traffic.consumers:
        if consumer.group in groups:
            raise UserError(
                "GroupExists",
                f"spec.traffic.consumers[{consumer.name}].group",
                f"group {consumer.group} exists on the cluster of spec.kafkaRef, {remedy}",
            )
