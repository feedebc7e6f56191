"""Reaching every broker of a cluster at the address that it advertises, on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.ports import free_port

from krt_traffic.errors import UnusableError
from krt_traffic.reach import FIELD, check_reach

if TYPE_CHECKING:
    from tests.contract.traffic.local_kafka import LocalKafka


def test_check_reach_of_a_broker_that_answers_passes(kafka: LocalKafka) -> None:
    check_reach(kafka.bootstrap)


def test_check_reach_without_a_broker_names_the_bootstrap_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("krt_traffic.reach.METADATA_SECONDS", 2.0)
    bootstrap = f"127.0.0.1:{free_port()}"
    with pytest.raises(UnusableError, match=bootstrap) as caught:
        check_reach(bootstrap)
    assert caught.value.field == FIELD
