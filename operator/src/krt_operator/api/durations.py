"""The contract's durations as a pydantic type, with the schema that the API server checks."""

from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from krt_contract import durations


class Duration(durations.Duration):
    """A duration as a field of the resource; it is written as text, such as `1m30s`."""

    __slots__ = ()

    @classmethod
    def _validate(cls, value: object) -> Self:
        return value if isinstance(value, cls) else cls.parse(value)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate from text or a Duration, serialise to text."""
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the string schema that the API server checks."""
        return {
            "type": "string",
            "pattern": durations.PATTERN,
            "minLength": durations.MIN_LENGTH,
            "maxLength": durations.MAX_LENGTH,
        }
