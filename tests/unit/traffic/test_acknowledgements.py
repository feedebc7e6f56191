"""Acknowledged sends, packed by one thread and taken as columns by another."""

from __future__ import annotations

import threading

from hypothesis import given, settings
from hypothesis import strategies as st

from krt_traffic.producer.schedule import Schedule
from krt_traffic.sending.acknowledgements import NO_OFFSET, PACK, Acknowledgements

NUMBERS = st.integers(0, 2**62)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=20)

ADDED = 200_000
"""Rows that a thread adds while another takes: many switches between the two (5 ms each)."""


def packed(rows: list[tuple[int, ...]]) -> Acknowledgements:
    found = Acknowledgements()
    for row in rows:
        found.packed.extend(PACK(*row))
    return found


@settings(deadline=None)
@given(ROWS)
def test_take_gives_what_was_packed_and_leaves_nothing(rows: list[tuple[int, ...]]) -> None:
    waiting = packed(rows)
    assert waiting.count == len(rows)
    taken = waiting.take()
    columns = (
        *(taken.seq, taken.sent_at, taken.sent_mono),
        *(taken.done_at, taken.done_mono, taken.offset),
    )
    assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == rows
    assert (waiting.count, len(waiting.take())) == (0, 0)


def test_offset_that_no_broker_said_is_null() -> None:
    taken = packed([(0, 1, 2, 3, 4, NO_OFFSET), (1, 1, 2, 3, 4, 0)]).take()
    assert taken.offset.to_pylist() == [None, 0]


def test_scheduled_time_and_latency_count_from_when_a_record_was_due() -> None:
    taken = packed([(3, 5_000_000, 4_000, 5_000_900, 4_900, 0)]).take()
    schedule = Schedule(1_000, 1_000)
    assert taken.scheduled_at(schedule).to_pylist() == [5_000_000]
    assert taken.latencies(schedule).to_pylist() == [900]
    late = packed([(1, 5_000_000, 4_000, 5_000_900, 4_900, 0)]).take()
    assert late.scheduled_at(schedule).to_pylist() == [5_000_000 - 2_000]
    assert late.latencies(schedule).to_pylist() == [2_900]


def test_without_a_schedule_a_record_is_due_when_it_is_sent() -> None:
    taken = packed([(3, 5_000_000, 4_000, 5_000_900, 4_900, 0)]).take()
    assert taken.scheduled_at(None).to_pylist() == [5_000_000]
    assert taken.latencies(None).to_pylist() == [900]


def test_rows_added_while_others_are_taken_are_each_taken_once_and_whole() -> None:
    waiting = Acknowledgements()

    def add() -> None:
        for seq in range(ADDED):
            waiting.packed.extend(PACK(seq, seq, seq, seq, seq, seq))

    adding = threading.Thread(target=add)
    adding.start()
    seen: list[int] = []
    while adding.is_alive() or waiting.count:
        taken = waiting.take()
        assert taken.seq.equals(taken.offset)
        seen += taken.seq.to_pylist()
    adding.join()
    assert seen == list(range(ADDED))
