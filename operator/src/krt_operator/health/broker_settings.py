"""Settings that the broker was given and does not know: Kafka ignores them without a word. Pure.

A broker lists what it was given beside what it knows when it describes its settings. It hides the
value of a setting whose type it does not know, because it might be a password.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PASSWORDS: Final = frozenset(
    {
        "delegation.token.master.key",
        "delegation.token.secret.key",
        "password.encoder.old.secret",
        "password.encoder.secret",
        "sasl.jaas.config",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.certificates",
        "ssl.truststore.password",
        "zookeeper.ssl.keystore.password",
        "zookeeper.ssl.truststore.password",
    }
)
"""Settings of Kafka 3.9 that a broker knows and whose value it hides."""

LISTENER: Final = "listener.name."
"""How a setting begins that holds for one listener: then come the listener's name, perhaps that of
a SASL mechanism, and the name of the setting."""


def find_unknown_settings(
    names: Iterable[str], reported: Mapping[str, str | None]
) -> tuple[str, ...]:
    """The names of settings that the broker does not know, sorted.

    Args:
        names: of settings that the broker was given.
        reported: what it describes, by name; None where it hides the value.
    """
    return tuple(sorted(name for name in names if not _is_known(name, reported)))


def _is_known(name: str, reported: Mapping[str, str | None]) -> bool:
    if reported.get(name) is not None or name in PASSWORDS:
        return True
    return name.startswith(LISTENER) and any(
        name.endswith(f".{password}") for password in PASSWORDS
    )


def describe_unknown_settings(unknown: Iterable[str], reported: Mapping[str, str | None]) -> str:
    """What to tell the user about settings that the broker does not know."""
    candidates = [name for name, value in reported.items() if value is not None]
    named = []
    for name in unknown:
        close = get_close_matches(name, candidates, n=1)
        named.append(f"{name} (is {close[0]} meant?)" if close else name)
    return (
        f"Kafka does not know {', '.join(named)} in spec.kafka.config and ignores it, unless a "
        "plug-in reads it; correct the name, or leave it out"
    )
