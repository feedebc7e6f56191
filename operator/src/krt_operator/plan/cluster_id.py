"""The id that the members of a KRaft cluster are formatted with. Pure."""

from __future__ import annotations

import base64
import hashlib
from uuid import UUID

ID_BYTES = 16
"""Bytes of a Kafka id, which is a UUID in base64 without padding."""


def cluster_id(uid: str) -> str:
    """Return the cluster id of a test: the same for every controller that takes the run over.

    Args:
        uid: of the test. Kubernetes promises an opaque string; in practice it is a UUID.
    """
    try:
        digits = UUID(uid).bytes
    except ValueError:
        digits = hashlib.sha256(uid.encode()).digest()[:ID_BYTES]
    if _encode(digits).startswith("-"):
        # Kafka's tools would take it for an option; Kafka makes no such ids itself.
        digits = bytes([digits[0] ^ 0x80, *digits[1:]])
    return _encode(digits)


def _encode(digits: bytes) -> str:
    return base64.urlsafe_b64encode(digits).decode().rstrip("=")
