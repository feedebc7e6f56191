"""How an object store is reached, as pods learn it from their environment.

The credentials are not among the settings: they come from a Secret, as the variables that every S3
client knows (``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``), or from the pod's identity. So they
are in no plan, no status and no log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from krt_contract.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping

ENDPOINT: Final = "KRT_STORE_ENDPOINT"
REGION: Final = "KRT_STORE_REGION"
BUCKET: Final = "KRT_STORE_BUCKET"
PREFIX: Final = "KRT_STORE_PREFIX"
PATH_STYLE: Final = "KRT_STORE_PATH_STYLE"
CA_FILE: Final = "KRT_STORE_CA_FILE"

ACCESS_KEY: Final = "AWS_ACCESS_KEY_ID"
SECRET_KEY: Final = "AWS_SECRET_ACCESS_KEY"  # noqa: S105 - the name of a variable

DEFAULT_REGION = "us-east-1"
"""What requests are signed for where a store has no regions."""


def evidence_account(test: str) -> str:
    """Return the service account of pods that reach a bucket by their identity and have no role."""
    return f"{test}-evidence"


@dataclass(frozen=True, slots=True)
class ObjectStoreSettings:
    """Where an object store is.

    Attributes:
        bucket: the bucket.
        endpoint: URL of its S3 interface; empty for AWS, which has one for each region.
        region: what requests are signed for.
        prefix: folder of the bucket that evidence goes below; empty for all of the bucket.
        path_style: whether the bucket is named in the path of a URL, not in its host name.
        ca_file: file with the certificates of the CAs that the endpoint is trusted by (PEM); empty
            for those that the image trusts.
    """

    bucket: str
    endpoint: str = ""
    region: str = DEFAULT_REGION
    prefix: str = ""
    path_style: bool = True
    ca_file: str = ""

    def __post_init__(self) -> None:
        """Refuse an endpoint that is no URL.

        Raises:
            ContractError: it is none.
        """
        if self.endpoint and urlsplit(self.endpoint).scheme not in ("http", "https"):
            raise ContractError(
                f"endpoint {self.endpoint!r} of the object store is no URL: write it like "
                "https://minio.example.com:9000"
            )

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> ObjectStoreSettings | None:
        """Return the settings in an environment; None where evidence goes into a folder.

        Raises:
            ContractError: a variable is malformed.
        """
        bucket = variables.get(BUCKET)
        if not bucket:
            return None
        return cls(
            bucket,
            variables.get(ENDPOINT, ""),
            variables.get(REGION) or DEFAULT_REGION,
            variables.get(PREFIX, "").strip("/"),
            variables.get(PATH_STYLE, "true") == "true",
            variables.get(CA_FILE, ""),
        )

    def variables(self) -> dict[str, str]:
        """Return the settings as the environment that ``read`` takes them from."""
        found = {
            BUCKET: self.bucket,
            ENDPOINT: self.endpoint,
            REGION: self.region,
            PREFIX: self.prefix,
            PATH_STYLE: "true" if self.path_style else "false",
        }
        return {**found, CA_FILE: self.ca_file} if self.ca_file else found

    @property
    def scheme(self) -> str:
        """``http`` or ``https``."""
        return urlsplit(self.endpoint).scheme or "https"

    @property
    def host(self) -> str | None:
        """Host and port of the endpoint; None for AWS."""
        return urlsplit(self.endpoint).netloc or None

    def path(self, key: str) -> str:
        """Return bucket, prefix and key as one path."""
        return "/".join(part for part in (self.bucket, self.prefix, key) if part)
