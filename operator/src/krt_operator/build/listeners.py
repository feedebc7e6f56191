"""The listeners of brokers and KRaft controllers, and who is let in at each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.cluster_security import USER, security_of
from krt_contract.kafka_security import (
    DIRECTORY_PROVIDER,
    FOLDER,
    LOGIN_MODULES,
    PROVIDER,
    Mechanism,
    SecretFile,
)
from krt_contract.members import CONTROLLER_PORT, KAFKA_PORT
from krt_contract.metadata import MetadataMode
from krt_operator import names
from krt_operator.constants import PEERS_PORT, PROBE_PORT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.kafka_security import Security
    from krt_contract.members import Member
    from krt_operator.api.plan import Plan

MEMBER: Final = "krt-member"
"""Common name of the members' certificates."""

MEMBER_FILE: Final = "member.pem"
"""A member's key and certificate, where its container mounts them."""

PROTOCOLS: Final = "listener.security.protocol.map"
AUTHORIZER: Final = "authorizer.class.name"
AUTHORIZERS: Final[Mapping[MetadataMode, str]] = {
    MetadataMode.KRAFT: "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    MetadataMode.ZOOKEEPER: "kafka.security.authorizer.AclAuthorizer",
}
"""Kafka's own, which refuse what no ACL allows."""

CLIENT_AUTHENTICATION: Final = "ssl.client.auth"


def broker_listeners(plan: Plan, member: Member) -> dict[str, str]:
    """The settings of a broker's listeners.

    With one listener, brokers could reach each other only once they are ready for clients. A
    secured broker has a third one in plaintext that only its own pod reaches, for the probe that
    asks it for the cluster's metadata (`serves.sh`). Nobody has any right there. In ZooKeeper mode
    no two brokers may advertise the same address, so it advertises one of its own, to which no
    Service leads.
    """
    peers_host = names.host(plan.name, names.peers(member.member), plan.namespace)
    clients, peers = f"{member.host}:{KAFKA_PORT}", f"{peers_host}:{PEERS_PORT}"
    if plan.spec.kafka.security is None:
        protocols = {"PLAINTEXT": "PLAINTEXT", "PEERS": "PLAINTEXT"}
        if plan.spec.kraft:
            protocols["CONTROLLER"] = "PLAINTEXT"
        return {
            "listeners": f"PLAINTEXT://:{KAFKA_PORT},PEERS://:{PEERS_PORT}",
            "advertised.listeners": f"PLAINTEXT://{clients},PEERS://{peers}",
            PROTOCOLS: _join(protocols),
            "inter.broker.listener.name": "PEERS",
        }
    security = security_of(plan)
    own, probe = f"PROBE://127.0.0.1:{PROBE_PORT}", f"PROBE://{member.host}:{PROBE_PORT}"
    return {
        "listeners": f"CLIENTS://:{KAFKA_PORT},PEERS://:{PEERS_PORT},{own}",
        "advertised.listeners": f"CLIENTS://{clients},PEERS://{peers},{probe}",
        PROTOCOLS: secured_protocols(plan),
        "inter.broker.listener.name": "PEERS",
        f"listener.name.peers.{CLIENT_AUTHENTICATION}": "required",
        **_clients(security),
        **_secured(plan),
    }


def controller_listeners(plan: Plan, member: Member) -> dict[str, str]:
    """The settings of a KRaft controller's listener.

    Other members take a new leader's address from its announcement, not from the voters; without
    advertised.listeners it would be the pod's own name, which only the pod resolves.
    """
    secured = plan.spec.kafka.security is not None
    settings = {
        "listeners": f"CONTROLLER://:{CONTROLLER_PORT}",
        "advertised.listeners": f"CONTROLLER://{member.address}",
        PROTOCOLS: _join({"CONTROLLER": "SSL" if secured else "PLAINTEXT"}),
    }
    if not secured:
        return settings
    required = {f"listener.name.controller.{CLIENT_AUTHENTICATION}": "required"}
    return {**settings, **required, **_secured(plan)}


def secured_protocols(plan: Plan) -> str:
    """The protocols of a secured broker's listeners, as it reports them."""
    protocols = {"CLIENTS": security_of(plan).protocol, "PEERS": "SSL", "PROBE": "PLAINTEXT"}
    if plan.spec.kraft:
        protocols["CONTROLLER"] = "SSL"
    return _join(protocols)


def _clients(security: Security) -> dict[str, str]:
    """Clients show a certificate, or log in as the one user there is."""
    prefix, mechanism = "listener.name.clients", security.mechanism
    if mechanism is None:
        return {f"{prefix}.{CLIENT_AUTHENTICATION}": "required"}
    login = f"{LOGIN_MODULES[mechanism]} required"
    if mechanism is Mechanism.PLAIN:
        password = f"${{{PROVIDER}:{FOLDER}:{SecretFile.PASSWORD}}}"
        login += f' user_{USER}="{password}"'
    return {
        f"{prefix}.sasl.enabled.mechanisms": str(mechanism),
        f"{prefix}.{mechanism.lower()}.sasl.jaas.config": f"{login};",
        "config.providers": PROVIDER,
        f"config.providers.{PROVIDER}.class": DIRECTORY_PROVIDER,
    }


def _secured(plan: Plan) -> dict[str, str]:
    """Certificates, and who has all rights; there are no ACLs, so nobody else has any."""
    users = (f"CN={MEMBER}", f"CN={USER}", USER)
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{FOLDER}/{MEMBER_FILE}",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{FOLDER}/{SecretFile.CA}",
        AUTHORIZER: AUTHORIZERS[plan.metadata.mode],
        "super.users": ";".join(f"User:{user}" for user in users),
    }


def _join(protocols: dict[str, str]) -> str:
    return ",".join(f"{listener}:{protocol}" for listener, protocol in protocols.items())
