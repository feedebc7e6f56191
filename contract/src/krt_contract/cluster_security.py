"""How clients get into the cluster of a test: one that the test deploys, or somebody else's.

The controller makes what the clients of a deployed cluster log in with, and keeps it in a Secret of
the test, under the same names as the files that pods mount.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from krt_contract.fields import Fields
from krt_contract.kafka_security import Mechanism, SecretFile, SecretKey, Security

if TYPE_CHECKING:
    from krt_contract.plan import Plan

FIELD: Final = "spec.kafka.security"

USER: Final = "krt-client"
"""The user of SASL, and the common name of the clients' certificate."""


def client_secret(test: str, uid: str) -> str:
    """Return the name of the Secret with what clients log in with; another run has another one."""
    return f"{test}-kafka-clients-{uid[:8]}"


def security_of(plan: Plan) -> Security:
    """Return how clients of the cluster of a test log in; plaintext where the test says nothing.

    Clients of a deployed cluster always have a certificate: the listener of the KRaft controllers
    wants one, whatever the listener for clients wants.

    Raises:
        ContractError: a field is missing or of another type.
    """
    kafka = Fields(plan.resolved_spec, "spec").child("kafka")
    if not kafka.has("security"):
        return Security.of(plan.resolved_spec)
    security = kafka.child("security")
    files = [SecretFile.CA, SecretFile.CERTIFICATE, SecretFile.PRIVATE_KEY]
    mechanism = None
    if security.has("sasl"):
        mechanism = security.child("sasl").choice("mechanism", Mechanism)
        files.append(SecretFile.PASSWORD)
    secret = client_secret(plan.name, plan.uid)
    return Security(
        tls=True,
        mechanism=mechanism,
        username=USER if mechanism else "",
        keys=tuple(SecretKey(file, secret, str(file), FIELD) for file in files),
    )


def without_user(security: Security) -> Security:
    """Return how a listener is entered that has TLS and no SASL, as that of the controllers."""
    return replace(security, mechanism=None, username="")
