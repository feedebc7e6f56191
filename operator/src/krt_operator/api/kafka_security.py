"""How clients get into a cluster that somebody else runs."""

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from krt_contract.kafka_security import Mechanism, SecretFile
from krt_operator.api.base import ApiModel, DataKey, ObjectName, Rule

UserName = Annotated[
    str, StringConstraints(min_length=1, max_length=253, pattern=r'^[^"\\${}\x00-\x1f\x7f]+$')
]
"""A user of Kafka; Java's clients have the name in quotes, between braces of their own."""


class TrustedCertificate(ApiModel):
    """A Secret with the certificates of CAs."""

    name: ObjectName = Field(description="A Secret in the namespace of the test.")
    key: DataKey = Field(
        default=SecretFile.CA.value, description="The key with the certificates, in PEM."
    )


class ClientCertificate(ApiModel):
    """A Secret with a certificate and its private key."""

    name: ObjectName = Field(
        description="A Secret in the namespace of the test, such as one of type kubernetes.io/tls."
    )
    certificate_key: DataKey = Field(
        default=SecretFile.CERTIFICATE.value,
        description="The key with the certificate in PEM, followed by those between it and its CA.",
    )
    private_key_key: DataKey = Field(
        default=SecretFile.PRIVATE_KEY.value,
        description="The key with the private key, in PEM and PKCS#8, without a passphrase.",
    )


class Tls(ApiModel):
    """Encrypted connections. Certificates and host names of brokers are always checked."""

    trusted_certificate_secret_ref: TrustedCertificate | None = Field(
        default=None,
        description="The CAs that sign the brokers' certificates; unset: those of the images, "
        "which are Debian's.",
    )
    certificate_secret_ref: ClientCertificate | None = Field(
        default=None, description="A certificate of the clients, where brokers want one (mTLS)."
    )


class PasswordSecret(ApiModel):
    """A Secret with a user's name and password."""

    name: ObjectName = Field(description="A Secret in the namespace of the test.")
    username_key: DataKey = Field(
        default=SecretFile.USERNAME.value,
        description="The key with the user's name, where sasl.username is not set.",
    )
    password_key: DataKey = Field(
        default=SecretFile.PASSWORD.value, description="The key with the password."
    )


class Sasl(ApiModel):
    """A user and its password."""

    mechanism: Mechanism = Field(
        description="How the password is proven. PLAIN sends it to the broker, so use it with tls."
    )
    username: UserName | None = Field(
        default=None, description="The user's name; unset: the Secret has it."
    )
    secret_ref: PasswordSecret = Field(description="The Secret with the password.")


class KafkaSecurity(ApiModel):
    """How clients of the test log in; the protocol follows from what is set."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.tls) || has(self.sasl)",
            message="kafkaRef.security has neither tls nor sasl; set one, or leave it out for a "
            "listener in plaintext",
        ),
    )

    tls: Tls | None = Field(
        default=None,
        description="TLS. {} trusts the CAs of the images; unset: connections are in plaintext.",
    )
    sasl: Sasl | None = Field(default=None, description="SASL; unset: no user logs in.")
