"""Reads what can be read of an object that does not fit this controller's models as a whole."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

Model = TypeVar("Model", bound=BaseModel)

PROBLEMS_NAMED = 3
"""Problems of an object that a message names; the first usually causes the others."""


def read_fields(model: type[Model], document: Mapping[str, Any]) -> tuple[Model, frozenset[str]]:
    """Read the fields of an object one by one, without the rules across fields.

    Args:
        model: the model of the object.
        document: the object as JSON.

    Returns:
        The model with the fields that could be read, each other field by its default (a required
        one is absent), and the keys in the document of those that could not be read.
    """
    values, unread = {}, set()
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key not in document:
            continue
        annotation: Any = field.annotation
        if field.metadata:
            annotation = Annotated[(annotation, *field.metadata)]
        try:
            values[name] = TypeAdapter(annotation).validate_python(document[key])
        except ValidationError:
            unread.add(key)
    return model.model_construct(**values), frozenset(unread)


def problems(error: ValidationError) -> str:
    """What is wrong, by field, in one line."""
    found = [
        f"{'.'.join(str(part) for part in entry['loc']) or 'the object'}: {entry['msg']}"
        for entry in error.errors(include_url=False, include_context=False)
    ]
    rest = len(found) - PROBLEMS_NAMED
    named = "; ".join(found[:PROBLEMS_NAMED])
    return f"{named}; and {rest} more" if rest > 0 else named
