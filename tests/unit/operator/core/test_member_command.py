from __future__ import annotations

import pytest

from krt_contract.members import MemberKind
from krt_operator.api.resources import Resources
from krt_operator.api.spec import Controllers, Kafka, ZooKeeper
from krt_operator.build.member_files import build_command


@pytest.mark.parametrize(
    ("kind", "resources", "heap"),
    [
        (MemberKind.KAFKA, Kafka().resources, "-Xmx384m"),
        (MemberKind.KAFKA, Resources.of(cpu="1", memory="1Gi", limit="4Gi"), "-Xmx2048m"),
        (MemberKind.KAFKA, Resources(), "-Xmx384m"),
        (MemberKind.ZOOKEEPER, ZooKeeper().resources, "-Xmx160m"),
        (MemberKind.CONTROLLER, Controllers().resources, "-Xmx192m"),
    ],
)
def test_heap_of_a_member_is_half_of_its_memory_limit(
    kind: MemberKind, resources: Resources, heap: str
) -> None:
    assert heap in build_command(kind, resources, kraft=kind is MemberKind.CONTROLLER)
