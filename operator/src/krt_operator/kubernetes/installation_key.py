"""The installation's key, in a Secret in the namespace of the controller.

The controller makes it when it first needs it. Its role there may get this one Secret by name.
"""

from __future__ import annotations

import base64
import secrets
import threading
from typing import TYPE_CHECKING, Final

from krt_contract.cluster_security import FIELD
from krt_contract.labels import PRODUCT
from krt_operator.errors import KafkaAccessError, RefusedError
from krt_operator.kubernetes.client import ApiCluster

if TYPE_CHECKING:
    from krt_operator.engine.views import Json
    from krt_operator.kubernetes.rest import Rest

KEY: Final = "key"
"""Where the key is in the Secret."""

KEY_BYTES: Final = 32
"""Of the key: as strong as what is derived from it can be."""


class InstallationKey:
    """Reads the key once and keeps it, since it does not change.

    Args:
        rest: the API server.
        namespace: of the controller; empty where it has none, as outside of a cluster.
        name: of the Secret.
    """

    def __init__(self, rest: Rest, namespace: str, name: str) -> None:
        self._rest, self._namespace, self._name = rest, namespace, name
        self._known: bytes | None = None
        self._lock = threading.Lock()

    def read(self) -> bytes:
        """Return the key.

        Raises:
            KafkaAccessError: SecretUnreadable or SecretInvalid.
            TransientError: the API server did not answer.
        """
        with self._lock:
            if self._known is None:
                self._known = self._read()
            return self._known

    def _read(self) -> bytes:
        if not self._namespace or not self._name:
            raise KafkaAccessError(
                "SecretUnreadable",
                FIELD,
                "the controller has no place for the key that it makes credentials from; set "
                "KRT_NAMESPACE and KRT_KEY_SECRET, as the chart does",
            )
        cluster = ApiCluster(self._rest, self._namespace)
        where = f"Secret {self._name} in namespace {self._namespace}"
        try:
            found = cluster.get("Secret", self._name) or cluster.create(self._new())
        except RefusedError as error:
            raise KafkaAccessError(
                "SecretUnreadable",
                FIELD,
                f"the controller may not create or get {where}, from which it makes credentials: "
                "install chart and controller of one release",
            ) from error
        text = (found.get("data") or {}).get(KEY) or ""
        key = base64.b64decode(text)
        if len(key) < KEY_BYTES:
            raise KafkaAccessError(
                "SecretInvalid",
                FIELD,
                f"key {KEY} of {where} has fewer than {KEY_BYTES} bytes; delete the Secret while "
                "no test runs, and the controller makes another one",
            )
        return key

    def _new(self) -> Json:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                "labels": {"app.kubernetes.io/part-of": PRODUCT},
            },
            "immutable": True,
            "data": {KEY: base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()},
        }
