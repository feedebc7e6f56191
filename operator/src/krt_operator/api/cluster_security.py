"""How the cluster that a test deploys is secured; the controller makes what is needed for it."""

from pydantic import Field

from krt_contract.kafka_security import Mechanism
from krt_operator.api.base import ApiModel


class ClusterTls(ApiModel):
    """TLS between all nodes of the cluster, and with clients."""


class ClusterSasl(ApiModel):
    """A user and a password for all clients of the test, which the controller makes."""

    mechanism: Mechanism = Field(description="How clients prove that they know the password.")


class ClusterSecurity(ApiModel):
    """What all members of the cluster want of each other, and of clients."""

    tls: ClusterTls = Field(
        description="TLS on the listeners of brokers, KRaft controllers and ZooKeeper servers, "
        "with certificates that the controller makes. Members authenticate to each other by "
        "certificate, and so do clients where sasl is not set.",
    )
    sasl: ClusterSasl | None = Field(
        default=None,
        description="Clients log in to brokers with a user and a password; unset: with a "
        "certificate.",
    )
