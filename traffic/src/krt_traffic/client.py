"""Kafka clients with the settings of the resource, which only the client's library can check."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, libversion, version

from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from krt_contract.clients import ConsumerSpec, ProducerSpec
    from krt_contract.plan import Plan

log = logging.getLogger(__name__)

Client = TypeVar("Client", Producer, Consumer)

REFUSALS: Final = (TypeError, ValueError, AttributeError)
"""What the client raises, besides its own exception, for a setting that takes a function."""


def client_version() -> str:
    """Return the versions of the client and of the library below it."""
    return f"confluent-kafka {version()}, librdkafka {libversion()[0]}"


def make_producer(settings: dict[str, Any], field: str) -> Producer:
    """Return a producer with these settings.

    Args:
        settings: of librdkafka.
        field: path in the resource of the settings that the user gave.

    Raises:
        UnusableError: the client refuses a setting.
    """
    return _make(Producer, settings, field)


def make_consumer(settings: dict[str, Any], field: str) -> Consumer:
    """Return a consumer with these settings; otherwise as `make_producer`."""
    return _make(Consumer, settings, field)


def producer_field(plan: Plan, entry: ProducerSpec) -> str:
    """Return the path, in the resource, of the settings of a producer or of an output."""
    if any(producer.name == entry.name for producer in plan.producers):
        return f"spec.traffic.producers[{entry.name}].config"
    # The API server refuses an output whose consumer has the name of a producer.
    return f"spec.traffic.consumers[{entry.name}].output.config"


def consumer_field(entry: ConsumerSpec) -> str:
    """Return the path of a consumer's settings in the resource."""
    return f"spec.traffic.consumers[{entry.name}].config"


def _make(kind: type[Client], settings: dict[str, Any], field: str) -> Client:
    try:
        return kind(settings, logger=log)
    except KafkaException as error:
        raise _translated(error, field) from error
    except REFUSALS as error:
        raise _refused(str(error), field) from error


def _translated(exception: KafkaException, field: str) -> Exception:
    """Return what to raise: the same where another start may go well, as when memory is short."""
    error: KafkaError = exception.args[0]
    if error.code() != KafkaError._INVALID_ARG:  # noqa: SLF001 - no public name
        return exception
    return _refused(error.str().strip(), field)


def _refused(cause: str, field: str) -> UnusableError:
    return UnusableError(
        f"the Kafka client refuses {field}: {cause}; correct it or leave it out", field=field
    )
