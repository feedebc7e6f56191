"""How ZooKeeper is secured: TLS with a certificate on both sides, everywhere.

ZooKeeper knows nobody by name here: whoever has a certificate of the test's CA is let in, and these
are its members and its clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.kafka_security import FOLDER, SecretFile
from krt_contract.members import ZOOKEEPER_PORT
from krt_operator.build.listeners import MEMBER_FILE

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan

STORES: Final = {
    "keystore": f"{FOLDER}/{MEMBER_FILE}",
    "truststore": f"{FOLDER}/{SecretFile.CA}",
}
"""What a member shows, and whom it trusts."""


def server_settings(plan: Plan) -> dict[str, str]:
    """The settings of a ZooKeeper server that say where clients and other servers enter."""
    if plan.spec.kafka.security is None:
        return {"clientPort": str(ZOOKEEPER_PORT)}
    settings = {
        "secureClientPort": str(ZOOKEEPER_PORT),
        # Only this one has TLS.
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.clientAuth": "need",
        "sslQuorum": "true",
        "ssl.quorum.clientAuth": "need",
        # A server that is connected to looks up the name of the address of the one that connects,
        # and a pod's address has no name that a certificate could have.
        "ssl.quorum.hostnameVerification": "false",
    }
    for prefix in ("ssl", "ssl.quorum"):
        for store, name in (("keystore", "keyStore"), ("truststore", "trustStore")):
            settings[f"{prefix}.{name}.location"] = STORES[store]
            settings[f"{prefix}.{name}.type"] = "PEM"
    return settings


def client_settings(plan: Plan) -> dict[str, str]:
    """The settings by which a broker, or a tool of Kafka, gets into ZooKeeper."""
    if plan.spec.kafka.security is None:
        return {}
    settings = {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
    }
    for store, location in STORES.items():
        settings[f"zookeeper.ssl.{store}.location"] = location
        settings[f"zookeeper.ssl.{store}.type"] = "PEM"
    return settings
