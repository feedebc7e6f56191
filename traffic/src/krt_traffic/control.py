"""The controller's instructions, from the run's control ConfigMap."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krt_contract.control import END_OFFSETS_KEY, ENDING, ControlState, state_of
from krt_traffic.kubernetes.objects import ConfigMap
from krt_traffic.kubernetes.watch import Watch, daemon

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_traffic.kubernetes.client import KubernetesClient

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One reading of the control ConfigMap.

    Attributes:
        state: where the run is.
        end_offsets: topic → partition → offset that consumers read up to (exclusive); while
            transforms drain, only for the topics that those read.
    """

    state: ControlState
    end_offsets: dict[str, dict[int, int]] = field(default_factory=dict)

    @property
    def producers_stop(self) -> bool:
        """Whether no further record may be sent."""
        return self.state is not ControlState.PRODUCE


def parse(data: Mapping[str, str]) -> Instruction | None:
    """Return the instruction in the ConfigMap's data, or None where it is to wait for one.

    Raises:
        ValueError: the state is unknown, or the offsets are not those of partitions.
    """
    state = state_of(data)
    if state is ControlState.WAIT:
        return None
    offsets = json.loads(data.get(END_OFFSETS_KEY) or "{}")
    return Instruction(
        state,
        {
            topic: {int(partition): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in offsets.items()
        },
    )


class Control:
    """The newest instruction, and a way to wait for it.

    While the API server cannot be reached, the last instruction applies. SIGTERM is one, too:
    ``terminate``.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._instruction: Instruction | None = None
        self.terminated = False

    @property
    def instruction(self) -> Instruction | None:
        """The newest instruction; None until one was read."""
        return self._instruction

    @property
    def aborted(self) -> bool:
        """Whether to end at once, by instruction or by SIGTERM."""
        return self.terminated or (
            self._instruction is not None and self._instruction.state is ControlState.ABORT
        )

    @property
    def interrupted(self) -> bool:
        """Whether SIGTERM came while the run was neither done nor aborted: more will happen."""
        ending = self._instruction is not None and self._instruction.state in ENDING
        return self.terminated and not ending

    def aborted_within(self, seconds: float) -> bool:
        """Wait that many seconds for the instruction to end at once; return whether it came."""
        with self._changed:
            return self._changed.wait_for(lambda: self.aborted, seconds)

    def current(self) -> Instruction:
        """Return the newest instruction, waiting for the first; SIGTERM counts as ABORT."""
        with self._changed:
            self._changed.wait_for(lambda: self._instruction is not None or self.terminated)
            return self._instruction or Instruction(ControlState.ABORT)

    def wait_for_end(self) -> None:
        """Wait until the run is done or aborted, or SIGTERM came."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self.terminated
                    or (self._instruction is not None and self._instruction.state in ENDING)
                )
            )

    def update(self, instruction: Instruction) -> None:
        """Take a new instruction."""
        with self._changed:
            self._instruction = instruction
            self._changed.notify_all()

    def terminate(self) -> None:
        """End at once, as SIGTERM asks."""
        with self._changed:
            self.terminated = True
            self._changed.notify_all()

    def listed(self, items: list[ConfigMap]) -> None:
        """Take the ConfigMap as listed; its absence changes nothing."""
        for item in items:
            self.changed("ADDED", item)

    def changed(self, kind: str, item: ConfigMap) -> None:
        """Take a change of the ConfigMap; its deletion changes nothing."""
        if kind == "DELETED":
            return
        try:
            instruction = parse(item.data)
        except ValueError as error:
            log.error(  # noqa: TRY400 - the error is its text
                "control ConfigMap cannot be read, keeping the last instruction; check that image "
                "and controller are of the same version: %s",
                error,
            )
            return
        if instruction is not None:
            self.update(instruction)


def follow(
    client: KubernetesClient,
    name: str,
    control: Control,
    thread: Callable[[Callable[[], None], str], threading.Thread] = daemon,
) -> Watch[ConfigMap]:
    """Start following the run's control ConfigMap ``name`` and return its watch."""
    selector = {"fieldSelector": f"metadata.name={name}"}
    watch = Watch(client, ConfigMap, selector, control, thread=thread)
    watch.start()
    return watch
