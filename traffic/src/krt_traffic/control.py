"""What the controller wants of us, from the run's control ConfigMap."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.control import END_OFFSETS_KEY, ControlState
from krt_traffic.watch import Watch

if TYPE_CHECKING:
    from krt_traffic.environment import Environment
    from krt_traffic.kube import Api

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """One reading of the control ConfigMap.

    Attributes:
        state: where the run is.
        end_offsets: topic → partition → offset that consumers read up to; set from transforming
            on, then only for those who transform.
    """

    state: ControlState
    end_offsets: dict[str, dict[int, int]] = field(default_factory=dict)

    @property
    def producers_stop(self) -> bool:
        """Whether no further record may be sent."""
        return self.state is not ControlState.PRODUCE


def parse(data: dict[str, str]) -> Order | None:
    """Return the order in the ConfigMap's data, or None where it holds none yet.

    Raises:
        ValueError: the state or the offsets are not what the contract says.
    """
    if not data.get("state"):
        return None
    offsets = json.loads(data.get(END_OFFSETS_KEY) or "{}")
    return Order(
        ControlState(data["state"]),
        {
            topic: {int(partition): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in offsets.items()
        },
    )


class Control:
    """The newest order, and a way to wait for it.

    A gap in the API leaves the last order standing. SIGTERM is an order too: ``terminate``.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._order: Order | None = None
        self.terminated = False

    @property
    def order(self) -> Order | None:
        """The newest order; None until one was read."""
        return self._order

    @property
    def aborted(self) -> bool:
        """Whether to close at once, by order or by SIGTERM."""
        return self.terminated or (
            self._order is not None and self._order.state is ControlState.ABORT
        )

    def aborted_within(self, seconds: float) -> bool:
        """Wait so long for the order to close at once, and return whether it came."""
        with self._changed:
            return self._changed.wait_for(lambda: self.aborted, seconds)

    def first(self) -> Order:
        """Return the first order, waiting for it; SIGTERM counts as aborted."""
        with self._changed:
            self._changed.wait_for(lambda: self._order is not None or self.terminated)
            return self._order or Order(ControlState.ABORT)

    def wait(self, state: ControlState) -> None:
        """Wait until the run is in ``state`` or aborted, or SIGTERM came."""
        with self._changed:
            self._changed.wait_for(
                lambda: self.aborted or (self._order is not None and self._order.state is state)
            )

    def give(self, order: Order) -> None:
        """Take a new order."""
        with self._changed:
            self._order = order
            self._changed.notify_all()

    def terminate(self) -> None:
        """Close at once, as SIGTERM asks."""
        with self._changed:
            self.terminated = True
            self._changed.notify_all()

    def listed(self, items: list[dict[str, Any]]) -> None:
        """Take the ConfigMap as listed; its absence changes nothing."""
        for item in items:
            self.changed("ADDED", item)

    def changed(self, kind: str, item: dict[str, Any]) -> None:
        """Take a change of the ConfigMap; its deletion changes nothing."""
        if kind == "DELETED":
            return
        try:
            order = parse(item.get("data") or {})
        except ValueError as error:
            log.error("the control ConfigMap is garbled, the last order stands: %s", error)  # noqa: TRY400 - the message says it all
            return
        if order is not None:
            self.give(order)


def follow(api: Api, environment: Environment, control: Control) -> Watch:
    """Start following the run's control ConfigMap."""
    watch = Watch(
        api,
        f"/api/v1/namespaces/{environment.namespace}/configmaps",
        {"fieldSelector": f"metadata.name={environment.control}"},
        control,
    )
    watch.start()
    return watch
