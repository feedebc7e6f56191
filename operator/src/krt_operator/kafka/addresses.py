"""The IP addresses of a host, as the cluster's DNS has them."""

from __future__ import annotations

import socket

from krt_operator.errors import TransientError


def resolve_host(host: str) -> frozenset[str]:
    """The addresses of a host; of an address itself, the address.

    Raises:
        TransientError: the name has no address, or no server answered.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise TransientError(f"host {host} cannot be resolved: {error}") from error
    return frozenset(str(address[0]) for *_, address in found)
