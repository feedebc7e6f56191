"""The CAs that an object store is trusted by, as the JVMs of a session take them.

Java reads no PEM and takes the CAs of all its connections from one file, which this makes: of those
of the store and, for connections to others, of those that the image trusts. The driver makes it for
itself. In a pod of an executor, ``python3 -m krt_scoring.engine.trust_store`` does so before Java
starts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
)
from cryptography.utils import CryptographyDeprecationWarning

from krt_contract.errors import ContractError
from krt_contract.stores.settings import ObjectStoreSettings
from krt_scoring.errors import StoreReadError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = Path(tempfile.gettempdir()) / "krt-store-ca.p12"
"""At the same path in driver and executors, which share an image."""

PASSWORD: Final = "changeit"  # noqa: S105 - no secret
"""What Java and its libraries try where none is given. Certificates of CAs are public."""

SYSTEM: Final = Path("/etc/ssl/certs/ca-certificates.crt")
"""The CAs that Debian trusts."""

FLAGS: Final = (
    f"-Djavax.net.ssl.trustStore={FILE} -Djavax.net.ssl.trustStoreType=PKCS12 "
    f"-Djavax.net.ssl.trustStorePassword={PASSWORD}"
)
"""Flags of a JVM that trusts the CAs of the trust store."""


def trusting(settings: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's settings with the flags for driver and executors."""
    flags = {
        name: f"{settings.get(name, '')} {FLAGS}".strip()
        for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
    }
    return {**settings, **flags}


def write(ca_file: Path, trust_store: Path) -> None:
    """Make a trust store of certificates and those that the system trusts.

    Args:
        ca_file: certificates in PEM.
        trust_store: the file to make.

    Raises:
        StoreReadError: the file cannot be read or has no certificate.
    """
    try:
        found = x509.load_pem_x509_certificates(ca_file.read_bytes())
    except (OSError, ValueError) as error:
        raise StoreReadError(
            f"the CAs of the object store cannot be used: {error}; put their certificates in PEM "
            "into the key that spec.evidence.objectStore.ca names"
        ) from error
    if SYSTEM.exists():
        # Some are older than the rules that it warns about.
        with warnings.catch_warnings(action="ignore", category=CryptographyDeprecationWarning):
            found += x509.load_pem_x509_certificates(SYSTEM.read_bytes())
    entries = [
        PKCS12Certificate(certificate, f"ca-{number}".encode())
        for number, certificate in enumerate(found)
    ]
    encryption = BestAvailableEncryption(PASSWORD.encode())
    trust_store.write_bytes(serialize_java_truststore(entries, encryption))


def main() -> int:
    """Make the trust store that the environment of this pod asks for; return the exit code."""
    try:
        store = ObjectStoreSettings.read(os.environ)
        if store is not None and store.ca_file:
            write(Path(store.ca_file), FILE)
    except (ContractError, StoreReadError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
