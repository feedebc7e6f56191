from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from krt_operator.api.durations import Duration


class Model(BaseModel):
    wait: Duration


def test_duration_field_reads_text_and_writes_it_back() -> None:
    model = Model.model_validate({"wait": "90s"})
    assert model.wait == Duration(90_000_000)
    assert model.model_dump(mode="json") == {"wait": "1m30s"}
    assert Model(wait=model.wait).wait is model.wait


@pytest.mark.parametrize("value", ["5", 5, None])
def test_duration_field_of_another_value_names_the_remedy(value: object) -> None:
    with pytest.raises(ValidationError, match="write it like 20s"):
        Model.model_validate({"wait": value})


def test_duration_schema_is_a_bounded_pattern() -> None:
    schema = Model.model_json_schema()["properties"]["wait"]
    assert (schema["type"], schema["minLength"], schema["maxLength"]) == ("string", 2, 25)
    assert schema["pattern"].startswith("^")
