"""Files in the format of `java.util.Properties`, which Kafka and ZooKeeper read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ESCAPED: Final = {
    **{character: f"\\{character}" for character in "\\#!=:"},
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\f": "\\f",
}
"""Characters that end a key, begin a comment or end a line, to how they are written as data."""


def properties(settings: Mapping[str, str]) -> str:
    """A properties file that holds exactly these settings, whatever characters they contain.

    Keys are sorted, so the same settings give the same bytes.
    """
    return "".join(
        f"{_escape(key).replace(' ', _BLANK)}={_escape_value(value)}\n"
        for key, value in sorted(settings.items())
    )


_BLANK: Final = "\\ "


def _escape_value(value: str) -> str:
    # Java drops blanks before a value, and keeps those within it. An unescaped separator is data.
    text = value.lstrip(" ")
    escaped = "".join(
        character if character in "#!=:" else _escape(character) for character in text
    )
    return _BLANK * (len(value) - len(text)) + escaped


def _escape(text: str) -> str:
    return "".join(ESCAPED.get(character) or _ascii(character) for character in text)


def _ascii(character: str) -> str:
    """A character as Java reads it from a stream, which it takes for ISO 8859-1."""
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
