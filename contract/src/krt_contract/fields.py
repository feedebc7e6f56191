"""Typed reading of a JSON document whose errors name the field and what it should hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from krt_contract.durations import Duration
from krt_contract.errors import ContractError

_Choice = TypeVar("_Choice", bound=StrEnum)


class Fields:
    """The fields of one object of a document.

    Every method raises ContractError where the field is missing or of another type. A field that
    is null counts as missing.

    Args:
        value: the object.
        path: where it stands in the document, such as ``spec.traffic.producers[main]``; empty at
            the root.
    """

    def __init__(self, value: Any, path: str = "") -> None:
        if not isinstance(value, Mapping):
            raise ContractError(f"{path or 'the document'} is not an object")
        self._value: Mapping[str, Any] = value
        self._path = path

    def where(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self._path}.{name}" if self._path else name

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._value.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; the default where the field is missing."""
        value = self._get(name, default)
        if not isinstance(value, str):
            raise self._unexpected(name, "a text")
        return value

    def word(self, name: str, default: str | None = None) -> str:
        """Return a required text that is not empty."""
        value = self.text(name, default)
        if not value:
            raise self._unexpected(name, "a text that is not empty")
        return value

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number, never negative."""
        value = self._get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._unexpected(name, "a whole number, 0 or more")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._get(name, default)
        if not isinstance(value, bool):
            raise self._unexpected(name, "true or false")
        return value

    def choice(self, name: str, choices: type[_Choice], default: _Choice | None = None) -> _Choice:
        """Return a member of an enum."""
        value = self._get(name, default)
        try:
            return choices(str(value))
        except ValueError as error:
            raise self._unexpected(name, f"one of {', '.join(choices)}") from error

    def choices(self, name: str, choices: type[_Choice]) -> tuple[_Choice, ...]:
        """Return a list of members of an enum; empty where the field is missing."""
        try:
            return tuple(choices(value) for value in self.texts(name))
        except ValueError as error:
            raise self._unexpected(name, f"a list of {', '.join(choices)}") from error

    def duration(self, name: str, default: str | None = None) -> Duration:
        """Return a duration."""
        try:
            return Duration.parse(self.text(name, default))
        except ContractError as error:
            raise ContractError(f"{self.where(name)}: {error}") from error

    def child(self, name: str) -> Fields:
        """Return an object; an empty one where the field is missing."""
        return Fields(self.document(name), self.where(name))

    def document(self, name: str) -> Mapping[str, Any]:
        """Return an object as it is; an empty one where the field is missing."""
        value = self._value.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self._unexpected(name, "an object")
        return value

    def items(self, name: str, key: str = "name") -> Iterator[Fields]:
        """Yield the objects of a list; none where the field is missing.

        Args:
            name: the field.
            key: the field of each object that names it in a path.
        """
        for place, item in enumerate(self._list(name)):
            named = item.get(key, place) if isinstance(item, Mapping) else place
            yield Fields(item, f"{self.where(name)}[{named}]")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty where the field is missing."""
        values = self._list(name)
        if not all(isinstance(value, str) for value in values):
            raise self._unexpected(name, "a list of texts")
        return tuple(values)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers; empty where the field is missing."""
        values = self._list(name)
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise self._unexpected(name, "a list of whole numbers")
        return tuple(values)

    def settings(self, name: str) -> dict[str, str]:
        """Return settings as texts, however the document writes their values."""
        return {str(key): str(value) for key, value in self.document(name).items()}

    def numbers(self, name: str) -> dict[str, int]:
        """Return an object of whole numbers, none negative; empty where the field is missing."""
        child = self.child(name)
        return {str(key): child.integer(key) for key in self.document(name)}

    def _get(self, name: str, default: object) -> Any:
        value = self._value.get(name)
        if value is None:
            value = default
        if value is None:
            raise ContractError(f"{self.where(name)} is missing")
        return value

    def _list(self, name: str) -> tuple[Any, ...]:
        value = self._value.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self._unexpected(name, "a list")
        return tuple(value)

    def _unexpected(self, name: str, expected: str) -> ContractError:
        return ContractError(
            f"{self.where(name)} is {self._value.get(name)!r}, expected {expected}"
        )
