"""A Kafka cluster that somebody else runs, in place of one that the test deploys."""

from typing import Annotated

from pydantic import Field, StringConstraints

from krt_operator.api.base import LIST_SET, MAX_ITEMS, ApiModel
from krt_operator.api.broker_pods import BrokerPods
from krt_operator.api.kafka_security import KafkaSecurity

BootstrapServer = Annotated[
    str,
    StringConstraints(
        min_length=3,
        max_length=255,
        pattern=r"^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]):[1-9][0-9]{0,4}$",
    ),
]
"""Host and port of a listener; an IPv6 address is in brackets."""
Prefix = Annotated[
    str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]*$")
]
"""How names of topics and groups begin."""


class KafkaRef(ApiModel):
    """The cluster under test where it is there already."""

    bootstrap_servers: Annotated[
        tuple[BootstrapServer, ...], Field(min_length=1, max_length=MAX_ITEMS)
    ] = Field(
        description="Listeners of the cluster, as host:port. Pods of the test and the controller "
        "must reach them, and the brokers that they name.",
        json_schema_extra=LIST_SET,
    )
    prefix: Prefix = Field(
        default="krt-",
        description="How the names of all topics and groups of the test begin, but for topics that "
        "it adopts. The controller creates these topics, and deletes topics and groups at the end. "
        "A topic or group that is there before the test is refused; nothing else on the cluster is "
        "changed.",
    )
    security: KafkaSecurity | None = Field(
        default=None,
        description="How clients log in; unset: the listeners are in plaintext and let everybody "
        "in.",
    )
    pods: BrokerPods | None = Field(
        default=None,
        description="Pods of the brokers, on which CrashPod, DeletePod and FreezePod may then act; "
        "unset: no fault acts on a broker. The pod of a broker is the one whose IP address is that "
        "of the host that the broker advertises.",
    )

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers as Kafka's clients take them, joined by commas."""
        return ",".join(self.bootstrap_servers)
