from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from krt_contract.control import ControlState
from krt_traffic.control import Control, Instruction, parse
from krt_traffic.kubernetes.objects import ConfigMap

if TYPE_CHECKING:
    from collections.abc import Callable


def config_map(**data: str) -> ConfigMap:
    return ConfigMap(data=data)


def test_parse_reads_state_and_end_offsets() -> None:
    instruction = parse({"state": "Drain", "endOffsets": '{"foo": {"0": 5}}'})
    assert instruction == Instruction(ControlState.DRAIN, {"foo": {0: 5}})
    assert instruction is not None
    assert instruction.producers_stop
    assert parse({}) is None
    assert parse({"state": "Wait"}) is None


@pytest.mark.parametrize("kind", ["DELETED", "MODIFIED"])
def test_changed_with_a_deleted_or_unreadable_control_keeps_the_last_instruction(kind: str) -> None:
    control = Control()
    control.changed("ADDED", config_map(state="Produce"))
    control.changed(kind, config_map(state="nonsense"))
    assert control.instruction == Instruction(ControlState.PRODUCE)


def test_wait_ends_with_the_state_an_abort_or_sigterm() -> None:
    instructions: list[Callable[[Control], None]] = [
        lambda control: control.update(Instruction(ControlState.DONE)),
        lambda control: control.update(Instruction(ControlState.SCORE)),
        lambda control: control.update(Instruction(ControlState.ABORT)),
        lambda control: control.terminate(),
    ]
    for instruct in instructions:
        control = Control()
        control.update(Instruction(ControlState.PRODUCE))
        waiter = threading.Thread(target=control.wait_for_end)
        waiter.start()
        instruct(control)
        waiter.join(10)
        assert not waiter.is_alive()
