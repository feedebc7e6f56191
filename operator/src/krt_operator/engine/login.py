"""What the controller logs in to Kafka with: the Secrets that the resource names, read by name.

They are read when a client is made and kept nowhere: a password that is changed is the next one
used. The controller has the right to read those that the chart value `kafkaRef.secretNames` lists.
To a cluster that the test deploys it logs in with what it has made itself.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

from krt_contract.cluster_security import USER, security_of
from krt_contract.kafka_login import PLAINTEXT, Login
from krt_contract.kafka_security import SecretFile, Security
from krt_operator.errors import KafkaAccessError, RefusedError

if TYPE_CHECKING:
    from krt_contract.kafka_security import SecretKey
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Spec
    from krt_operator.engine.credentials import Credentials
    from krt_operator.engine.ports import Cluster
    from krt_operator.engine.views import Json

TEXTS: Final = frozenset({SecretFile.USERNAME, SecretFile.PASSWORD})
"""Files that hold one line of text; the others are certificates and keys."""

UNQUOTABLE: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
"""Characters that no user or password may have: Spark's Java clients have both between quotes, and
a line break at the end is mostly a mistake of who made the Secret."""


def read_login(spec: Spec, cluster: Cluster) -> Login:
    """Read what the Secrets of a test hold; PLAINTEXT where it names none.

    Args:
        spec: names the Secrets.
        cluster: of the namespace of the test.

    Raises:
        KafkaAccessError: SecretUnreadable, SecretMissing or SecretInvalid; the message has the
            names of Secret and key, and nothing of what is in it.
    """
    security = _security_of(spec)
    if security == Security():
        return PLAINTEXT
    secrets = {key.secret: _read(key, cluster) for key in security.keys}
    return Login(security, {key.file: _text(key, secrets[key.secret]) for key in security.keys})


def own_login(plan: Plan, credentials: Credentials) -> Login:
    """What the controller logs in with to a secured cluster that the test deploys.

    It is what the clients' Secret holds, with another certificate of the same CA and name.

    Args:
        plan: of the run.
        credentials: of the test.
    """
    certificate = credentials.certificate(USER)
    texts = {
        SecretFile.CA: credentials.authority,
        SecretFile.CERTIFICATE: certificate.certificate,
        SecretFile.PRIVATE_KEY: certificate.key,
        SecretFile.PASSWORD: credentials.password,
    }
    security = security_of(plan)
    return Login(security, {key.file: texts[key.file] for key in security.keys})


def _security_of(spec: Spec) -> Security:
    """How clients of a referenced cluster log in."""
    if spec.kafka_ref is None or spec.kafka_ref.security is None:
        return Security()
    return Security.of({"kafkaRef": spec.kafka_ref.dump()})


def _read(key: SecretKey, cluster: Cluster) -> Json:
    try:
        secret = cluster.get("Secret", key.secret)
    except RefusedError as error:
        raise KafkaAccessError(
            "SecretUnreadable",
            key.field,
            f"the controller may not read Secret {key.secret}: add {key.secret} to the chart value "
            "kafkaRef.secretNames (helm upgrade --reset-then-reuse-values --set "
            f"'kafkaRef.secretNames={{{key.secret}}}')",
        ) from error
    if secret is None:
        raise KafkaAccessError(
            "SecretMissing",
            key.field,
            f"Secret {key.secret} does not exist in the namespace of the test; create it there",
        )
    data: Json = secret.get("data") or {}
    return data


def _text(key: SecretKey, data: Json) -> str:
    if key.key not in data:
        found = ", ".join(sorted(data)) or "none"
        raise KafkaAccessError(
            "SecretMissing",
            key.field,
            f"Secret {key.secret} has no key {key.key} (it has {found}); add it, or name another "
            "key",
        )
    try:
        text = base64.b64decode(data[key.key], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        # The error would have a part of the secret in it.
        raise invalid(key, "is no text in UTF-8") from None
    if not text:
        raise invalid(key, "is empty")
    if key.file in TEXTS and UNQUOTABLE.search(text):
        raise invalid(
            key,
            "ends with a line break: create it with --from-literal, or printf instead of echo"
            if text.endswith("\n")
            else "has a quotation mark, a backslash or a control character, which Java's clients "
            "do not take",
        )
    return text


def invalid(key: SecretKey, problem: str) -> KafkaAccessError:
    """The error of a key of a Secret whose content cannot be used."""
    return KafkaAccessError(
        "SecretInvalid", key.field, f"key {key.key} of Secret {key.secret} {problem}"
    )
