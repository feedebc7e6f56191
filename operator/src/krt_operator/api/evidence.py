"""Where the evidence of a run is written: a claim, or an object store."""

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from krt_contract.stores import ca
from krt_contract.stores.settings import DEFAULT_REGION, ObjectStoreSettings
from krt_operator.api.base import ApiModel, DataKey, ObjectName, Rule

Endpoint = Annotated[
    str, StringConstraints(max_length=253, pattern=r"^https?://[A-Za-z0-9.:\[\]-]+$")
]
"""Scheme, host and port of an S3 interface."""
Bucket = Annotated[
    str, StringConstraints(min_length=3, max_length=63, pattern=r"^[a-z0-9][a-z0-9.-]+[a-z0-9]$")
]
"""Name of a bucket, by the rules of S3."""
Region = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z0-9-]+$")]
"""Name of a region."""
Prefix = Annotated[
    str, StringConstraints(max_length=253, pattern=r"^([A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*)?$")
]
"""Path without slashes at its ends."""


class StoreCredentials(ApiModel):
    """The keys of an object store."""

    secret_name: ObjectName = Field(
        description="A Secret in the namespace of the test with the keys AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY."
    )


class StoreCa(ApiModel):
    """The CAs that an object store is trusted by."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.secretName) != has(self.configMapName)",
            message="evidence.objectStore.ca: name a Secret (secretName) or a ConfigMap "
            "(configMapName), one of them",
        ),
    )

    secret_name: ObjectName | None = Field(
        default=None, description="A Secret in the namespace of the test."
    )
    config_map_name: ObjectName | None = Field(
        default=None, description="A ConfigMap in the namespace of the test."
    )
    key: DataKey = Field(
        default=ca.KEY,
        description="Key of the Secret or ConfigMap that has the certificates, in PEM.",
    )


class ObjectStore(ApiModel):
    """An object store with an S3 interface."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="has(self.bucket) || !(has(self.endpoint) || has(self.region) "
            "|| has(self.credentials) || has(self.ca))",
            message="evidence.objectStore: endpoint, region, credentials and ca are of a store of "
            "your own; name its bucket, or leave all of them out to use the store of the chart",
        ),
        Rule(
            rule="!has(self.ca) || !has(self.endpoint) || self.endpoint.startsWith('https://')",
            message="evidence.objectStore: ca is for an endpoint that begins with https://",
        ),
    )

    bucket: Bucket | None = Field(
        default=None,
        description="The bucket; it must exist. Unset: the object store of the chart, with its "
        "bucket and credentials.",
    )
    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the store, such as https://minio.example.com:9000; unset: AWS, in the "
        "region given.",
    )
    region: Region | None = Field(
        default=None, description="Region that requests are signed for; unset: us-east-1."
    )
    prefix: Prefix | None = Field(
        default=None,
        description="Folder of the bucket that the evidence goes below; unset: that of the chart, "
        "or none in a bucket of your own.",
    )
    path_style: bool = Field(
        default=True,
        description="Whether the bucket is named in the path of a URL. Set to false where the "
        "store wants it in the host name, as AWS does.",
    )
    credentials: StoreCredentials | None = Field(
        default=None,
        description="The keys; unset: the identity that the pods have by their node or their "
        "service account.",
    )
    ca: StoreCa | None = Field(
        default=None,
        description="Certificates of the CAs that the endpoint is trusted by. Unset: the CAs that "
        "Debian and Java trust.",
    )


class Evidence(ApiModel):
    """Where the evidence is written; it outlives the test."""

    cel: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.claimName) || !has(self.objectStore)",
            message="evidence has a claimName and an objectStore; leave one of them out",
        ),
    )

    claim_name: ObjectName | None = Field(
        default=None,
        description="A ReadWriteMany claim in the namespace of the test. krt-evidence is created "
        "if it is missing, and never deleted. Any other claim must exist. If neither claimName nor "
        "objectStore is set, the evidence goes where the chart value evidence.default says.",
    )
    object_store: ObjectStore | None = Field(
        default=None,
        description="An object store instead of a claim. {} is the object store of the chart.",
    )
    compare_replicas: bool = Field(
        default=False,
        description="After the drain, dump each broker's replicas of the tested topics with "
        "Kafka's own tool, and compare those in sync offset by offset. A lost record is then "
        "reported with the brokers that still have it.",
    )

    @property
    def store(self) -> ObjectStoreSettings | None:
        """The object store; None where there is a claim, or the chart's store is not resolved."""
        store = self.object_store
        if store is None or store.bucket is None:
            return None
        return ObjectStoreSettings(
            bucket=store.bucket,
            endpoint=store.endpoint or "",
            region=store.region or DEFAULT_REGION,
            prefix=store.prefix or "",
            path_style=store.path_style,
            ca_file=ca.FILE if store.ca else "",
        )

    @property
    def by_identity(self) -> bool:
        """Whether pods reach an object store by their identity, without keys."""
        return self.object_store is not None and self.object_store.credentials is None

    @property
    def place(self) -> str:
        """The place in words, for messages; of a plan's evidence, which is resolved."""
        store = self.store
        if store is None:
            return f"claim {self.claim_name}"
        at = f" at {store.endpoint}" if store.endpoint else ""
        return f"bucket {store.path('')}{at}"

    @property
    def field(self) -> str:
        """The field of the resource that names the place, for messages."""
        return f"spec.evidence.{'claimName' if self.object_store is None else 'objectStore'}"
