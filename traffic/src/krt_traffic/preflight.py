"""Whether clients can do their work: the library takes their settings, and brokers are reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract.exits import TrafficExit
from krt_traffic import termination
from krt_traffic.client import consumer_field, make_consumer, make_producer, producer_field
from krt_traffic.consumer.settings import client_settings as consumer_settings
from krt_traffic.errors import UnusableError
from krt_traffic.login import read_login
from krt_traffic.reach import check_reach
from krt_traffic.sending.settings import client_settings as producer_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from krt_contract.clients import ProducerSpec
    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan
    from krt_traffic.environment import Environment


@dataclass(frozen=True, slots=True)
class _Client:
    """How a client is made: with all its settings, some of which the user gave as `config`."""

    make: Callable[[dict[str, Any], str], object]
    settings: dict[str, Any]
    config: Mapping[str, str]
    field: str

    def check(self) -> None:
        """Make the client.

        Raises:
            UnusableError: it refuses its settings; the error names the one that it refuses alone.
        """
        try:
            self.make(self.settings, self.field)
        except UnusableError:
            own = {key: value for key, value in self.settings.items() if key not in self.config}
            for key, value in self.config.items():
                # librdkafka may report a setting by another of its names.
                self.make(own | {key: value}, f"{self.field}[{key}]")
            raise


def run(environment: Environment, plan: Plan) -> int:
    """Make every client of the run, none of which connects, and return the exit status.

    Where somebody else runs the cluster, its brokers are there already, so each is connected to.

    Raises:
        UnusableError: a client refuses its settings, or a broker cannot be reached.
    """
    login = read_login(environment, plan)
    clients = list(_clients(plan, login))
    for client in clients:
        client.check()
    if plan.metadata.referenced:
        check_reach(plan.bootstrap, login)
    text = termination.message("clients", {"checked": len(clients)}, reason="checked")
    termination.write(environment.termination_log, text)
    return TrafficExit.DONE


def _clients(plan: Plan, login: Login) -> Iterator[_Client]:
    for producer in plan.producers:
        yield _producing(plan, producer, login)
    for consumer in plan.consumers:
        settings = consumer_settings(plan, consumer, f"{consumer.name}-0", login)
        yield _Client(make_consumer, settings, consumer.config, consumer_field(consumer))
        if consumer.output is not None:
            yield _producing(plan, consumer.output, login)


def _producing(plan: Plan, entry: ProducerSpec, login: Login) -> _Client:
    settings = producer_settings(plan, entry, f"{entry.name}-0", login)
    return _Client(make_producer, settings, entry.config, producer_field(plan, entry))
