from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krt_traffic.recorder.logs import last_timestamp, later, parse_member_line

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("time", "last", "is_later"),
    [
        ("2026-11-21T04:03:19.12Z", "", True),
        ("2026-11-21T04:03:19.12Z", "2026-11-21T04:03:19.119999999Z", True),
        ("2026-11-21T04:03:19.12Z", "2026-11-21T04:03:19.120000000Z", False),
        ("2026-11-21T04:03:19Z", "2026-11-21T04:03:18.9Z", True),
    ],
)
def test_later_compares_timestamps_of_different_precision(
    time: str, last: str, is_later: bool
) -> None:
    assert later(time, last) is is_later


def test_last_timestamp_of_a_log_is_that_of_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "p.log"
    assert not last_timestamp(path, "")
    path.write_text("2026-11-21T04:03:19.1Z a\n2026-11-21T04:03:19.2Z [krt-1] b\n")
    assert last_timestamp(path, "") == "2026-11-21T04:03:19.2Z"
    assert last_timestamp(path, "krt-1") == "2026-11-21T04:03:19.2Z"


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ('{"krt":"member","event":"killed","at":5,"member":"kafka-0"}', "killed"),
        ('{"krt":"other","event":"killed","at":5}', None),
        ('{"krt":"member","event":"killed"}', None),
        ('{"krt":', None),
    ],
)
def test_parse_member_line_takes_only_lines_of_the_wrapper(text: str, event: str | None) -> None:
    parsed = parse_member_line(text.encode())
    assert (parsed or {}).get("event") == event
