"""The Secrets of a secured cluster that the test deploys, and how members mount theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.cluster_security import client_secret, security_of
from krt_contract.kafka_security import FOLDER, Mechanism, SecretFile
from krt_contract.labels import Component
from krt_contract.members import MemberKind
from krt_operator import names
from krt_operator.build.decorate import build_secret
from krt_operator.build.kafka_secrets import MODE, VOLUME, KafkaSecrets
from krt_operator.build.listeners import MEMBER, MEMBER_FILE
from krt_operator.engine.login import own_login

if TYPE_CHECKING:
    from krt_contract.members import Member
    from krt_operator.api.plan import Plan
    from krt_operator.engine.credentials import Credentials
    from krt_operator.engine.views import Json

SCRAM: Final = frozenset({Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512})


def build_cluster_secrets(plan: Plan, credentials: Credentials) -> list[Json]:
    """The Secret of the clients of a secured cluster, and that of its members.

    They are deleted with the test. Members have one Secret with a key for each of them, and mount
    their own only.
    """
    clients = {str(file): text for file, text in own_login(plan, credentials).contents.items()}
    shared = (SecretFile.CA, SecretFile.PASSWORD)
    members = {file.value: clients[file] for file in shared if file in clients}
    members |= {member.member: _pem(plan, member, credentials) for member in plan.members}
    return [
        build_secret(plan, Component.KAFKA, client_secret(plan.name, plan.uid), clients),
        build_secret(plan, Component.KAFKA, names.member_secret(plan.name, plan.uid), members),
    ]


def member_secrets(plan: Plan, member: Member) -> KafkaSecrets:
    """What a member's pod mounts; nothing where the cluster is not secured."""
    if plan.spec.kafka.security is None:
        return KafkaSecrets()
    items = [
        {"key": SecretFile.CA.value, "path": SecretFile.CA.value},
        {"key": member.member, "path": MEMBER_FILE},
    ]
    if scram_mechanism(plan, member) or _reads_password(plan, member):
        items.append({"key": SecretFile.PASSWORD.value, "path": SecretFile.PASSWORD.value})
    secret = {
        "secretName": names.member_secret(plan.name, plan.uid),
        "defaultMode": MODE,
        "items": items,
    }
    mount = {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}
    return KafkaSecrets(({"name": VOLUME, "secret": secret},), (mount,))


def scram_mechanism(plan: Plan, member: Member) -> Mechanism | None:
    """The mechanism of the user that a member writes into the cluster's metadata before it starts.

    KRaft controllers do when they format the metadata log, and the one that leads first decides;
    the user is there before any broker is. In ZooKeeper mode the first broker does.
    """
    mechanism = security_of(plan).mechanism
    writes = member.kind is MemberKind.CONTROLLER if plan.spec.kraft else member == plan.brokers[0]
    return mechanism if writes and mechanism in SCRAM else None


def _reads_password(plan: Plan, member: Member) -> bool:
    """A broker has the password in its settings where Kafka keeps no users."""
    return member.kind is MemberKind.KAFKA and security_of(plan).mechanism is Mechanism.PLAIN


def _pem(plan: Plan, member: Member, credentials: Credentials) -> str:
    """A member's key and certificate in one file, as Kafka reads it, for all names it has."""
    hosts = [member.host]
    if member.kind is MemberKind.KAFKA:
        hosts.append(names.host(plan.name, names.peers(member.member), plan.namespace))
    certificate = credentials.certificate(MEMBER, hosts)
    return certificate.key + certificate.certificate
