"""Names in a sentence: the first few of them, and how many more there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def short_list(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first ``most`` names joined, and how many others there are: ``a, b and 3 more``.

    Args:
        names: in the order in which they are named.
        most: of them that are named.
        separator: between two names.
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more
