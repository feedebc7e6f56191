"""How Spark reaches an object store: settings of Hadoop's S3 client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krt_contract.stores.settings import ACCESS_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.stores.settings import ObjectStoreSettings

SDK = "software.amazon.awssdk.auth.credentials"

FROM_ENVIRONMENT = f"{SDK}.EnvironmentVariableCredentialsProvider"

FROM_IDENTITY = f"{SDK}.DefaultCredentialsProvider"
"""The identity of the pod: of its service account, or else of what it runs on. Not a list of the
providers of both: the one for web identities fails, and Hadoop with it, where there is no token."""


def settings(
    store: ObjectStoreSettings | None, variables: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return Spark's settings for a store; none where evidence is in a folder.

    No credentials are among them: Spark logs its settings and hands them to executors as arguments.

    Args:
        store: where it is.
        variables: the environment, which the executors have, too.
    """
    if store is None:
        return {}
    found = {
        "endpoint.region": store.region,
        "path.style.access": _flag(store.path_style),
        "connection.ssl.enabled": _flag(store.scheme == "https"),
        "aws.credentials.provider": FROM_ENVIRONMENT if ACCESS_KEY in variables else FROM_IDENTITY,
        # Reads go back and forth: a footer first, then columns.
        "experimental.input.fadvise": "random",
        # All of a file below 8 MiB, as nearly all are, is read by one request instead of one for
        # each part that Parquet asks for.
        "prefetch.enabled": _flag(value=True),
        # Spans around each request, for a log that nobody reads here.
        "audit.enabled": _flag(value=False),
    }
    if store.endpoint:
        found["endpoint"] = store.endpoint
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in found.items()}


def _flag(value: bool) -> str:
    return "true" if value else "false"
