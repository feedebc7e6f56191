from __future__ import annotations

import random  # noqa: TC003 - hypothesis reads the annotation

from hypothesis import given, settings
from hypothesis import strategies as st

from krt_contract.object_layout import Part, parse_part, resolve
from krt_contract.stores.store import Entry

BUNDLE = "ns/test/uid"


def files(*names: str) -> dict[str, list[str]]:
    """Return each file of the bundle and the objects it is made of."""
    found = resolve(BUNDLE, [Entry(f"{BUNDLE}/{name}", 1) for name in names])
    return {
        source.path: [entry.key.removeprefix(f"{BUNDLE}/") for entry in source.entries]
        for source in found
    }


def test_parse_part_of_a_name_returns_what_it_was_made_of() -> None:
    part = Part("main-0-5f-000001", 12, 3, ".parquet")
    assert part.name == "main-0-5f-000001-000012.000003.parquet"
    assert parse_part(part.name) == part
    assert parse_part("scorecard.json") is None


def test_resolve_takes_the_highest_generation_of_each_number() -> None:
    assert files(
        "produce/p-u-000000.000002.parquet",
        "produce/p-u-000000.000010.parquet",
        "produce/p-u-000001.000000.parquet",
    ) == {
        "produce/p-u-000000.parquet": ["produce/p-u-000000.000010.parquet"],
        "produce/p-u-000001.parquet": ["produce/p-u-000001.000000.parquet"],
    }


def test_resolve_joins_chunks_of_a_text_in_order_of_their_numbers() -> None:
    assert files(
        "logs/kafka-0-u-000001.000000.log",
        "logs/kafka-0-u-000000.000000.log",
        "logs/kafka-0-u-000000.000001.log",
    ) == {
        "logs/kafka-0-u.log": [
            "logs/kafka-0-u-000000.000001.log",
            "logs/kafka-0-u-000001.000000.log",
        ]
    }


def test_resolve_takes_the_last_run_json_and_results_as_they_are() -> None:
    assert files("run-000000.000000.json", "run-000000.000001.json", "scorecard.json") == {
        "run.json": ["run-000000.000001.json"],
        "scorecard.json": ["scorecard.json"],
    }


def test_resolve_takes_the_log_of_the_attempt_that_wrote_its_ends() -> None:
    assert files(
        "log/t-scoring-1/part-0.parquet",
        "log/t-scoring-2/_SUCCESS",
        "log/t-scoring-2/_temporary/0/part-0.parquet",
        "log/t-scoring-2/part-0.parquet",
        "log_end_offsets/t-scoring-2-000000.000000.parquet",
    ) == {
        "log/part-0.parquet": ["log/t-scoring-2/part-0.parquet"],
        "log_end_offsets/scoring-000000.parquet": [
            "log_end_offsets/t-scoring-2-000000.000000.parquet"
        ],
    }


def test_resolve_takes_the_last_generation_of_a_log_that_the_driver_wrote() -> None:
    assert files(
        "log/t-scoring-1/scoring-000000.000000.parquet",
        "log/t-scoring-2/scoring-000000.000000.parquet",
        "log/t-scoring-2/scoring-000000.000001.parquet",
        "log_end_offsets/t-scoring-2-000000.000000.parquet",
    ) == {
        "log/scoring-000000.parquet": ["log/t-scoring-2/scoring-000000.000001.parquet"],
        "log_end_offsets/scoring-000000.parquet": [
            "log_end_offsets/t-scoring-2-000000.000000.parquet"
        ],
    }


def test_resolve_of_a_log_without_its_ends_leaves_it_out() -> None:
    assert not files("log/t-scoring-1/part-0.parquet")


def test_resolve_of_two_attempts_that_both_ended_takes_one_of_them_whole() -> None:
    assert files(
        "log/t-scoring-1/part-0.parquet",
        "log/t-scoring-2/part-1.parquet",
        "log_end_offsets/t-scoring-1-000000.000000.parquet",
        "log_end_offsets/t-scoring-2-000000.000000.parquet",
    ) == {
        "log/part-0.parquet": ["log/t-scoring-1/part-0.parquet"],
        "log_end_offsets/scoring-000000.parquet": [
            "log_end_offsets/t-scoring-1-000000.000000.parquet"
        ],
    }


@settings(deadline=None)
@given(
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1),
    st.randoms(use_true_random=False),
)
def test_resolve_of_late_puts_depends_neither_on_order_nor_on_lower_generations(
    written: set[tuple[int, int]], order: random.Random
) -> None:
    names = [f"consume/{Part('c-u', *item, '.parquet').name}" for item in written]
    order.shuffle(names)
    highest = {number: max(g for n, g in written if n == number) for number, _ in written}
    assert files(*names) == {
        f"consume/c-u-{number:06d}.parquet": [f"consume/c-u-{number:06d}.{generation:06d}.parquet"]
        for number, generation in highest.items()
    }
