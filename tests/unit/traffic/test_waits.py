from __future__ import annotations

from krt_traffic.sending.waits import Waits

SECOND = 1_000_000


def test_update_while_acknowledgements_come_waits_for_nothing() -> None:
    waits = Waits([0, 1])
    for number in range(5):
        waits.update(number * SECOND, [0, 1], {0: number, 1: number})
    assert waits.micros == {0: 0, 1: 0}


def test_wait_grows_while_nothing_is_acknowledged_and_ends_with_the_next_acknowledgement() -> None:
    waits = Waits([0, 1])
    waits.update(0, [0, 1], {0: 5, 1: 5})
    waits.update(SECOND // 2, [0, 1], {0: 5, 1: 6})
    assert (waits.micros, waits.outages) == ({0: SECOND // 2, 1: 0}, 0)
    waits.update(SECOND, [0, 1], {0: 5, 1: 7})
    assert (waits.micros, waits.outages) == ({0: SECOND, 1: 0}, 1)
    waits.update(2 * SECOND, [0], {0: 6, 1: 8})
    assert (waits.micros, waits.outages) == ({0: 0, 1: 0}, 0)


def test_wait_goes_on_while_its_sends_are_given_up() -> None:
    waits = Waits([0])
    waits.update(0, [0], {})
    waits.update(SECOND, [], {})
    waits.update(3 * SECOND, [0], {})
    assert waits.micros == {0: 3 * SECOND}


def test_partition_without_a_due_send_is_not_waited_for() -> None:
    waits = Waits([0])
    waits.update(0, [], {0: 5})
    waits.update(9 * SECOND, [], {0: 5})
    assert waits.micros == {0: 0}
