"""What clients of a secured cluster log in with: the contents of the mounted Secrets."""

from __future__ import annotations

import os
import ssl
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from krt_contract.errors import ContractError
from krt_contract.kafka_security import SecretFile, Security

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Login:
    """How clients of one cluster log in.

    Attributes:
        security: what the resource says.
        contents: file → its text; not shown by ``repr``.
    """

    security: Security = field(default_factory=Security)
    contents: Mapping[SecretFile, str] = field(default_factory=dict, repr=False)

    @classmethod
    def mounted(cls, security: Security, folder: Path) -> Self:
        """Read the files that a pod mounts.

        Raises:
            ContractError: one cannot be read; the message names it, and none of its contents.
        """
        contents = {}
        for key in security.keys:
            try:
                contents[key.file] = (folder / key.file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ContractError(
                    f"{folder / key.file}, key {key.key} of Secret {key.secret}, cannot be read "
                    f"({type(error).__name__})"
                ) from error
        return cls(security, contents)

    @property
    def user(self) -> str:
        """The user's name; empty without SASL."""
        return self.security.username or self.contents.get(SecretFile.USERNAME, "")

    @property
    def password(self) -> str:
        """The password; empty without SASL."""
        return self.contents.get(SecretFile.PASSWORD, "")

    def client_settings(self) -> dict[str, Any]:
        """Return the settings of librdkafka's clients; none for a cluster in plaintext.

        Certificates are given as text, because the controller has no files of them.
        """
        security = self.security
        if security == Security():
            return {}
        settings: dict[str, Any] = {"security.protocol": security.protocol}
        settings |= {
            name: self.contents[file] for file, name in PEM.items() if file in self.contents
        }
        if security.mechanism is not None:
            settings |= {
                "sasl.mechanism": str(security.mechanism),
                "sasl.username": self.user,
                "sasl.password": self.password,
            }
        return settings

    def ssl_context(self) -> ssl.SSLContext | None:
        """Return how a socket of this process is encrypted; None where it is not.

        The same certificates are trusted as by librdkafka and Java, and host names are checked.

        Raises:
            ssl.SSLError: a certificate or key does not parse.
        """
        if not self.security.tls:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if SecretFile.CA in self.contents:
            context.load_verify_locations(cadata=self.contents[SecretFile.CA])
        else:
            context.load_default_certs()
        if SecretFile.CERTIFICATE in self.contents:
            both = self.contents[SecretFile.PRIVATE_KEY], self.contents[SecretFile.CERTIFICATE]
            with _in_memory("\n".join(both)) as path:
                context.load_cert_chain(path)
        return context


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """Yield the path of a file with this text that is on no disk: `ssl` reads keys by path only."""
    number = os.memfd_create("krt")
    try:
        os.write(number, text.encode())
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)


PEM: Final = {
    SecretFile.CA: "ssl.ca.pem",
    SecretFile.CERTIFICATE: "ssl.certificate.pem",
    SecretFile.PRIVATE_KEY: "ssl.key.pem",
}
"""File to the setting of librdkafka that takes its text."""

PLAINTEXT: Final = Login()
"""Of a cluster that lets everybody in."""
