from __future__ import annotations

from krt_traffic.consumer.lost_positions import TRUNCATED_AT


def test_truncated_at_finds_the_broker_end_offset_in_the_clients_error() -> None:
    reason = (
        "Partition log truncation detected at offset 120 (leader epoch 3): "
        "broker end offset is 100 (offset leader epoch 3). Reset to INVALID."
    )
    found = TRUNCATED_AT.search(reason)
    assert found is not None
    assert found.group(1) == "100"
    assert not TRUNCATED_AT.search("broker end offset is -1 (offset leader epoch -1)")
