"""How clients get into a secured cluster: TLS, SASL, and where the secrets are.

The plan names Secrets and their keys, never what is in them. Pods mount those keys as files of
fixed names in one folder; librdkafka's clients get their contents (`krt_contract.kafka_login`),
Java's their paths (`Security.java_settings`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from krt_contract.fields import Fields

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = "/etc/krt/kafka"
"""Where pods mount the files."""

SECRETS_VARIABLE: Final = "KRT_KAFKA_SECRETS"
"""Names another folder, for clients that run in no pod."""

FIELD: Final = "spec.kafkaRef.security"

PROVIDER: Final = "krt"
"""Name of the configuration provider of Java's clients."""

DIRECTORY_PROVIDER: Final = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
"""Reads a value from a file of a folder where the client is made, in the driver and in each
executor. So no secret is in Spark's options, plans or tasks."""


def mounted_folder(variables: Mapping[str, str] = os.environ) -> str:
    """Return the folder where this process finds the files."""
    return variables.get(SECRETS_VARIABLE) or FOLDER


class Mechanism(StrEnum):
    """How a client proves who it is."""

    SCRAM_SHA_512 = "SCRAM-SHA-512"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    PLAIN = "PLAIN"


LOGIN_MODULES: Final = {
    Mechanism.SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
    Mechanism.SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
    Mechanism.PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
}
"""What Java's clients log in with."""


class SecretFile(StrEnum):
    """The files that pods mount, named as the keys that Secrets have by default.

    cert-manager and Strimzi name certificates and keys so, and `kubernetes.io/basic-auth` the user.
    """

    CA = "ca.crt"
    CERTIFICATE = "tls.crt"
    PRIVATE_KEY = "tls.key"
    USERNAME = "username"
    PASSWORD = "password"  # noqa: S105 - the name of a file


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A key of a Secret that is mounted as a file.

    Attributes:
        file: the file.
        secret: name of the Secret, in the namespace of the test.
        key: the key.
        field: the field of the resource that names the Secret, for messages.
    """

    file: SecretFile
    secret: str
    key: str
    field: str


@dataclass(frozen=True, slots=True)
class Security:
    """How clients log in; empty for a cluster in plaintext.

    Attributes:
        tls: whether connections are encrypted.
        mechanism: of SASL; None without.
        username: the user, where the resource names it and not the Secret.
        keys: what is mounted.
    """

    tls: bool = False
    mechanism: Mechanism | None = None
    username: str = ""
    keys: tuple[SecretKey, ...] = ()

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Self:
        """Read what a resource's spec says of a cluster that somebody else runs.

        Plaintext where it says nothing; `krt_contract.cluster_security` knows deployed ones, too.

        Raises:
            ContractError: a field is missing or of another type.
        """
        return cls.read(Fields(spec, "spec").child("kafkaRef").child("security"))

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read ``spec.kafkaRef.security``.

        Raises:
            ContractError: a field is missing or of another type.
        """
        keys: list[SecretKey] = []

        def add(fields: Fields, name: str, files: dict[SecretFile, str]) -> None:
            """Add keys of this field's Secret: file → the field that names another key."""
            reference = fields.child(name)
            secret = reference.word("name")
            keys.extend(
                SecretKey(file, secret, reference.word(key, str(file)), fields.where(name))
                for file, key in files.items()
            )

        tls, sasl = fields.child("tls"), fields.child("sasl")
        if tls.has("trustedCertificateSecretRef"):
            add(tls, "trustedCertificateSecretRef", {SecretFile.CA: "key"})
        if tls.has("certificateSecretRef"):
            files = {
                SecretFile.CERTIFICATE: "certificateKey",
                SecretFile.PRIVATE_KEY: "privateKeyKey",
            }
            add(tls, "certificateSecretRef", files)
        username = ""
        if fields.has("sasl"):
            username = sasl.text("username", "")
            files = {SecretFile.PASSWORD: "passwordKey"}
            if not username:
                files[SecretFile.USERNAME] = "usernameKey"
            add(sasl, "secretRef", files)
        return cls(
            tls=fields.has("tls"),
            mechanism=sasl.choice("mechanism", Mechanism) if fields.has("sasl") else None,
            username=username,
            keys=tuple(keys),
        )

    @property
    def protocol(self) -> str:
        """Kafka's ``security.protocol``."""
        if self.mechanism is None:
            return "SSL" if self.tls else "PLAINTEXT"
        return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"

    def key(self, file: SecretFile) -> SecretKey | None:
        """Return the key that is mounted as a file; None where there is none."""
        return next((item for item in self.keys if item.file is file), None)

    def java_settings(self, folder: str) -> dict[str, str]:
        """Return the settings of Java's clients; none for a cluster in plaintext.

        No value has a secret in it: a client reads it where it is made.

        Args:
            folder: where the files are mounted.
        """
        if self == Security():
            return {}

        def content(file: SecretFile) -> str:
            return f"${{{PROVIDER}:{folder}:{file}}}"

        settings = {"security.protocol": self.protocol}
        if self.key(SecretFile.CA):
            settings |= {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": f"{folder}/{SecretFile.CA}",
            }
        if self.key(SecretFile.CERTIFICATE):
            settings |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": content(SecretFile.CERTIFICATE),
                "ssl.keystore.key": content(SecretFile.PRIVATE_KEY),
            }
        if self.mechanism is not None:
            user = self.username or content(SecretFile.USERNAME)
            settings |= {
                "sasl.mechanism": self.mechanism,
                "sasl.jaas.config": f'{LOGIN_MODULES[self.mechanism]} required username="{user}" '
                f'password="{content(SecretFile.PASSWORD)}";',
            }
        return settings | {
            "config.providers": PROVIDER,
            f"config.providers.{PROVIDER}.class": DIRECTORY_PROVIDER,
        }
