from __future__ import annotations

import json

from krt_traffic import termination


def test_message_with_too_many_positions_leaves_some_out_and_fits() -> None:
    positions = {f"topic-with-a-long-name-{number}": number for number in range(1000)}
    text = termination.message(
        "producer", {"acked": 1}, reason="fatal", positions=positions, error="e" * 9000
    )
    assert len(text.encode()) <= termination.LIMIT_BYTES
    body = json.loads(text)
    assert body["counts"] == {"acked": 1}
    assert len(body["positions"]) + body["positionsLeftOut"] == 1000
