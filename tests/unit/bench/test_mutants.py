from __future__ import annotations

import pytest

from bench.mutation.mutants import mutants


def alterations(text: str) -> list[str]:
    return [f"{mutant.before} → {mutant.after}" for mutant in mutants(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a < b", ["a < b → a <= b"]),
        ("x = a <= b < c", ["a <= b < c → a < b < c", "a <= b < c → a <= b <= c"]),
        ("x = a and b", ["a and b → a or b"]),
        ("x = a & b", ["a & b → a | b", "a & b → a", "a & b → b"]),
        ("x = ~a", ["~a → a"]),
        ("x = a + 1", ["a + 1 → a - 1", "1 → 2"]),
        ("x = a.where(b)", ["a.where(b) → a"]),
        ("x = sf.filter(a, b)", []),
        ("x = a.isNull()", ["a.isNull() → a.isNotNull()"]),
        ("x = a.join(b, c, 'left_anti')", ["'left_anti' → 'left_semi'"]),
        (
            "x = sf.coalesce('a', b)",
            ["sf.coalesce('a', b) → sf.col('a')", "sf.coalesce('a', b) → b"],
        ),
        ("def f(x: int = 3) -> int: return x", ["3 → 4"]),
    ],
)
def test_mutants_of_a_condition_alter_it(text: str, expected: list[str]) -> None:
    assert alterations(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring with 1."""',
        "raise ValueError(1 < 2)",
        "x = f'{a + 1}'",
        "x = 'a' + b",
        "field = StructField('a', LongType(), nullable=True)",
        "x: Literal[1]",
    ],
)
def test_mutants_of_what_decides_nothing_are_none(text: str) -> None:
    assert alterations(text) == []


def test_mutants_differ_from_the_module_in_one_place() -> None:
    text = "def f(a, b):\n    return a < b and b > 3\n"
    found = list(mutants(text))
    assert [mutant.number for mutant in found] == list(range(len(found)))
    assert len({mutant.text for mutant in found}) == len(found) == 4
    assert all(mutant.line == 2 for mutant in found)
    for mutant in found:
        compile(mutant.text, "mutant", "exec")
