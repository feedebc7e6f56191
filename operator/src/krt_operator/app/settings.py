"""The values of the installation, read from the environment once at start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.alias_generators import to_camel
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from krt_contract.stores.settings import DEFAULT_REGION
from krt_operator.errors import UserError

CHART_VALUES = {
    "image_operator": "images.operator",
    "image_traffic": "images.traffic",
    "image_scoring": "images.scoring",
    "image_kafka": "images.kafka",
    "image_kafka_kraft": "images.kafkaKRaft",
    "image_pull_policy": "imagePullPolicy",
    "image_pull_secrets": "imagePullSecrets",
    "evidence_default": "evidence.default",
    "evidence_storage_class": "evidence.storageClass",
    "store_bucket": "evidence.objectStore.bucket",
    "store_endpoint": "evidence.objectStore.endpoint",
    "store_region": "evidence.objectStore.region",
    "store_prefix": "evidence.objectStore.prefix",
    "store_path_style": "evidence.objectStore.pathStyle",
    "store_access_key": "evidence.objectStore.credentials.secretName",
    "store_secret_key": "evidence.objectStore.credentials.secretName",
    "store_ca_file": "evidence.objectStore.ca",
    "test_account_annotations": "testServiceAccounts.annotations",
    "max_concurrent_tests": "maxConcurrentTests",
    "max_concurrent_tests_per_namespace": "maxConcurrentTestsPerNamespace",
    "max_starting_tests": "maxStartingTests",
    "watch_namespaces": "watchNamespaces",
    "namespace": "rbac.create",
    "key_secret": "rbac.create",
    "role_kind": "rbac.namespaced",
    "metrics_port": "metrics.port",
    "test_network_policies": "networkPolicy",
}
"""Setting to the chart value that sets it, for error messages."""


class NetworkPolicies(BaseModel):
    """What the NetworkPolicies of tests say of the installation.

    Attributes:
        controller: labels of the controller's pod, which administers the Kafka of every test.
        metrics_from: peers that may scrape producers, consumers and recorders; none: every pod.
        dns_ports: ports of the pods that answer the cluster's DNS requests.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid"
    )

    controller: dict[str, str] = Field(min_length=1)
    metrics_from: tuple[dict[str, Any], ...] = ()
    dns_ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = Field(
        default=(53,), min_length=1
    )


class Settings(BaseSettings):
    """The values of the installation; the chart sets each as `KRT_<NAME>`.

    Attributes:
        image_operator, image_traffic, image_scoring: image references.
        image_kafka: of the members of tests that name no image.
        image_kafka_kraft: the same in KRaft mode; empty: image_kafka.
        image_pull_policy: of every container the controller creates.
        image_pull_secrets: of the pods of tests that name none in spec.podTemplate.
        evidence_default: where evidence goes that a test names no place for.
        store_bucket: bucket of the object store of tests that name none; empty: there is none.
        store_endpoint, store_region, store_prefix, store_path_style: how it is reached.
        store_access_key, store_secret_key: its keys; empty: pods have an identity of their own.
        store_ca_file: file with the certificates of the CAs that it is trusted by; empty: those of
            the images.
        test_account_annotations: of the service accounts of the pods of tests.
        evidence_storage_class: class of the evidence claims that the controller creates.
        max_concurrent_tests: tests past Pending at the same time; the others wait, `Queued`.
        max_concurrent_tests_per_namespace: the same in each namespace; 0: no limit of its own.
        max_starting_tests: tests that are being provisioned, or whose writes are not prompt yet, at
            the same time; 0: no limit.
        watch_namespaces: namespaces whose tests are run; empty: all.
        namespace: of the controller; empty outside of a cluster.
        key_secret: its Secret with the key that credentials of secured clusters are made from.
        role_kind: of the roles that the pods of a test are bound to.
        metrics_port: port of the Prometheus metrics; 0: none.
        test_network_policies: of the pods of tests; None: they get none.
    """

    model_config = SettingsConfigDict(
        env_prefix="KRT_", env_ignore_empty=True, frozen=True, str_strip_whitespace=True
    )

    image_operator: str = ""
    image_traffic: str = Field(min_length=1)
    image_scoring: str = Field(min_length=1)
    image_kafka: str = Field(min_length=1)
    image_kafka_kraft: str = ""
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: Annotated[tuple[str, ...], NoDecode] = ()
    evidence_default: Literal["claim", "objectStore"] = "claim"
    evidence_storage_class: str = "krt-evidence"
    store_bucket: str = ""
    store_endpoint: str = ""
    store_region: str = DEFAULT_REGION
    store_prefix: str = ""
    store_path_style: bool = True
    store_access_key: str = ""
    store_secret_key: SecretStr = SecretStr("")
    store_ca_file: str = ""
    test_account_annotations: dict[str, str] = Field(default={})
    max_concurrent_tests: int = Field(default=8, ge=0)
    max_concurrent_tests_per_namespace: int = Field(default=0, ge=0)
    max_starting_tests: int = Field(default=1, ge=0)
    watch_namespaces: Annotated[tuple[str, ...], NoDecode] = ()
    namespace: str = ""
    key_secret: str = ""
    role_kind: Literal["ClusterRole", "Role"] = "ClusterRole"
    metrics_port: int = Field(default=0, ge=0)
    test_network_policies: NetworkPolicies | None = None

    @property
    def store_ca(self) -> str:
        """The certificates of the CAs as they are now: the file of a mounted Secret changes."""
        # Bundles have comments in any encoding.
        return Path(self.store_ca_file).read_text(encoding="utf-8", errors="replace")

    @field_validator("watch_namespaces", "image_pull_secrets", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(name.strip() for name in value.split(",") if name.strip())

    @classmethod
    def from_environment(cls) -> Settings:
        """Read `KRT_*`.

        Raises:
            UserError: a variable is missing or malformed; names it and the chart value to set.
        """
        try:
            return cls()  # type: ignore[call-arg]  # the environment has the values
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            value = CHART_VALUES[name]
            problem = (
                "is not set"
                if first["type"] == "missing"
                else f"is {first['input']!r}: {first['msg']}"
            )
            raise UserError(
                "NotConfigured", f"KRT_{name.upper()}", f"{problem}; set the chart value {value}"
            ) from error
