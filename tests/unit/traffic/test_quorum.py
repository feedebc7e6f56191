from __future__ import annotations

import pytest

from krt_traffic.recorder.quorum import SILENT, WITHOUT, leader_of, parse_mode


def test_parse_mode_of_a_member_without_quorum_is_without() -> None:
    assert parse_mode("Zookeeper version: 3.8\nMode: leader\n") == "leader"
    assert parse_mode("This ZooKeeper instance is not currently serving requests\n") == WITHOUT


@pytest.mark.parametrize(
    ("reported", "leader"),
    [
        (("follower", "leader", "follower"), "zk-1"),
        (("standalone",), "zk-0"),
        (("follower", SILENT, "follower"), None),  # a slow leader is no lost quorum
        ((SILENT, SILENT, SILENT), None),
        ((WITHOUT, WITHOUT, SILENT), ""),
        ((WITHOUT, SILENT, SILENT), None),
        ((WITHOUT, WITHOUT, "follower"), None),  # it will say so itself, in a tick or two
    ],
)
def test_leader_of_is_lost_only_where_it_is_certain(
    reported: tuple[str, ...], leader: str | None
) -> None:
    assert leader_of({f"zk-{number}": mode for number, mode in enumerate(reported)}) == leader
