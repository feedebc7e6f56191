"""What the controller's client of Kafka leaves in its log."""

from __future__ import annotations

import logging
import socket

import pytest

from krt_operator.errors import TransientError
from krt_operator.kafka.reader import KafkaReader


def test_view_of_brokers_that_are_down_is_an_error_and_no_line_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Faults keep brokers down: each refused connection would be a line at level ERROR."""
    caplog.set_level(logging.DEBUG)
    with socket.socket() as closed:
        # Bound, so that nobody else gets the port, and listening to nobody.
        closed.bind(("127.0.0.1", 0))
        bootstrap = f"127.0.0.1:{closed.getsockname()[1]}"
        with KafkaReader(bootstrap) as reader, pytest.raises(TransientError):
            reader.view()
    assert caplog.messages == []
