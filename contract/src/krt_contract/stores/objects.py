"""An object store with an S3 interface as an evidence store."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyarrow import fs

from krt_contract.stores.store import Entry, KeyExistsError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from krt_contract.stores.settings import ObjectStoreSettings

CONNECT_SECONDS = 1.0
"""How long a connection may take; within a cluster it takes a millisecond, to a provider fifty."""

REQUEST_SECONDS = 3.0
"""How long an answer may take. The client does not keep it on Linux: a store that takes requests
and never answers is given up after some 7 s."""

REMEDY: Final = "Check that it runs, that its bucket exists, and the credentials"

CA_FIELDS: Final = (
    "spec.evidence.objectStore.ca (for all tests: the chart value evidence.objectStore.ca)"
)

TLS_REMEDIES: Final = {
    60: "Its certificate is signed by a CA that is not trusted here, has expired, or is of another "
    f"host: name the certificate of its CA in {CA_FIELDS}, and use the host of its certificate in "
    "endpoint",
    77: f"There is no certificate in PEM in what is named by {CA_FIELDS}",
}
"""libcurl's error code → remedy."""

_CURL_CODE: Final = re.compile(r"curlCode: (\d+)")


class ObjectStore:
    """A bucket, by pyarrow's S3 client.

    Several threads may use it at once.

    Args:
        settings: where it is; credentials come from the environment or the pod's identity.
    """

    def __init__(self, settings: ObjectStoreSettings) -> None:
        self._settings = settings
        self._files = fs.S3FileSystem(
            region=settings.region,
            scheme=settings.scheme,
            endpoint_override=settings.host,
            force_virtual_addressing=not settings.path_style,
            tls_ca_file_path=settings.ca_file or None,
            connect_timeout=CONNECT_SECONDS,
            request_timeout=REQUEST_SECONDS,
            # Whoever calls decides about another try: a put must not be repeated under its key.
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
            # Else every put is an upload in parts: three requests instead of one.
            allow_delayed_open=True,
            background_writes=False,
        )

    def put(self, key: str, data: bytes) -> None:
        """Store data; see ``Store.put``."""
        if self._exists(key):
            raise KeyExistsError(key)
        self.replace(key, data)

    def replace(self, key: str, data: bytes) -> None:
        """Store data under a key that may be there; see ``Store.replace``."""
        with _translated(key):
            try:
                stream = self._files.open_output_stream(self._settings.path(key))
                # No `with`: it would close, and so publish, what an exception left unfinished.
                stream.write(data)
                stream.close()
            except FileNotFoundError as error:
                raise _refused(key, error) from error

    def read(self, key: str) -> bytes:
        """Return what a key holds; see ``Store.read``."""
        with _translated(key), self._files.open_input_file(self._settings.path(key)) as file:
            found: bytes = file.read()
            return found

    def list(self, prefix: str) -> Iterator[Entry]:
        """Yield the keys below a folder; see ``Store.list``."""
        selector = fs.FileSelector(
            self._settings.path(prefix), recursive=True, allow_not_found=True
        )
        with _translated(prefix):
            found = self._files.get_file_info(selector)
        above = len(self._settings.path("")) + 1
        yield from sorted(
            Entry(item.path[above:], item.size) for item in found if item.type is fs.FileType.File
        )

    def open(self, key: str) -> pa.NativeFile:
        """Open a key; see ``Store.open``."""
        with _translated(key):
            return self._files.open_input_file(self._settings.path(key))

    def delete(self, key: str) -> None:
        """Delete a key; see ``Store.delete``."""
        with _translated(key):
            try:
                self._files.delete_file(self._settings.path(key))
            except FileNotFoundError:
                return

    def _exists(self, key: str) -> bool:
        # One request. `get_file_info` would then list what is below a key that is not there.
        with _translated(key):
            try:
                self._files.open_input_file(self._settings.path(key)).close()
            except FileNotFoundError:
                return False
        return True

    def uri(self, key: str) -> str:
        """Return the URL of a key for Hadoop's client; see ``Store.uri``."""
        return f"s3a://{self._settings.path(key)}"


@contextmanager
def _translated(key: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, StoreError):
        raise
    except OSError as error:
        raise _refused(key, error) from error


def _refused(key: str, error: OSError) -> StoreError:
    code = _CURL_CODE.search(str(error))
    remedy = TLS_REMEDIES.get(int(code[1]) if code else 0, REMEDY)
    return StoreError(f"the object store of spec.evidence did not serve {key}: {error}. {remedy}")
