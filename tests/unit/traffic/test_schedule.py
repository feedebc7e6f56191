from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from krt_traffic.producer.schedule import Schedule

RATES = st.integers(1, 100_000)


@given(RATES, st.integers(0, 10**7))
def test_due_counts_a_record_from_its_time_on_and_not_before(rate: int, seq: int) -> None:
    schedule = Schedule(1_000, rate)
    at = schedule.at(seq)
    assert schedule.due(at) >= seq + 1
    assert schedule.due(at - 1) <= seq


@settings(deadline=None)
@given(RATES, st.lists(st.integers(0, 10**12), max_size=20))
def test_at_all_is_at_of_each(rate: int, seqs: list[int]) -> None:
    schedule = Schedule(1_000, rate)
    found = schedule.at_all(pa.array(seqs, pa.int64())).to_pylist()
    assert found == [schedule.at(seq) for seq in seqs]


@given(RATES, st.integers(0, 600))
def test_due_keeps_the_rate_however_long_it_runs(rate: int, seconds: int) -> None:
    assert Schedule(0, rate).due(seconds * 1_000_000) == rate * seconds + 1


def test_due_before_the_start_is_nothing() -> None:
    assert Schedule(10, 1000).due(9) == 0
