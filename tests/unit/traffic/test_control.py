from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest

from krt_contract.control import ControlState
from krt_traffic import termination
from krt_traffic.control import Control, Order, parse
from krt_traffic.kubernetes.objects import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable


def config_map(**data: str) -> ConfigMap:
    return ConfigMap(data=data)


def test_an_order_is_read() -> None:
    order = parse({"state": "Drain", "endOffsets": '{"foo": {"0": 5}}'})
    assert order == Order(ControlState.DRAIN, {"foo": {0: 5}})
    assert order is not None
    assert order.producers_stop
    assert parse({}) is None


@pytest.mark.parametrize("kind", ["DELETED", "MODIFIED"])
def test_a_deleted_or_garbled_control_leaves_the_last_order(kind: str) -> None:
    control = Control()
    control.changed("ADDED", config_map(state="Produce"))
    control.changed(kind, config_map(state="nonsense"))
    assert control.order == Order(ControlState.PRODUCE)


def test_waiting_ends_with_the_state_an_abort_or_sigterm() -> None:
    acts: list[Callable[[Control], None]] = [
        lambda control: control.give(Order(ControlState.DONE)),
        lambda control: control.give(Order(ControlState.ABORT)),
        lambda control: control.terminate(),
    ]
    for act in acts:
        control = Control()
        control.give(Order(ControlState.PRODUCE))
        waiter = threading.Thread(target=control.wait, args=(ControlState.DONE,))
        waiter.start()
        act(control)
        waiter.join(10)
        assert not waiter.is_alive()


def test_a_termination_message_always_fits() -> None:
    positions = {f"topic-with-a-long-name-{number}": number for number in range(1000)}
    text = termination.message(
        "producer", {"acked": 1}, reason="fatal", positions=positions, error="e" * 9000
    )
    assert len(text.encode()) <= termination.LIMIT_BYTES
    body = json.loads(text)
    assert body["counts"] == {"acked": 1}
    assert len(body["positions"]) + body["positionsLeftOut"] == 1000
