"""Tests that a release before this one has stored are read, written and deleted under this CRD."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.crd.cases import OLD_NAMES, sample
from tests.contract.crd.conftest import ask_until, definition_of, install

from krt_operator.engine.reading import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.crd.cases import Refused
    from tests.contract.crd.conftest import Answer, ApiServer

GROUP = "upgrade.kafkaresilience.dev"
RESOURCE = f"kafkaresiliencetests.{GROUP}"
FINALIZER = f"{GROUP}/cleanup"
UNKNOWN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
NOW = datetime(2026, 11, 28, tzinfo=UTC)


def earlier() -> dict[str, Any]:
    """Return a CRD as an earlier release may have had it: it knows no field of this one."""
    definition = definition_of(GROUP)
    (version,) = definition["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    del schema["x-kubernetes-validations"]
    schema["properties"] |= {"spec": UNKNOWN, "status": UNKNOWN}
    return definition


@pytest.fixture(scope="module")
def upgraded(server: ApiServer) -> Iterator[ApiServer]:
    """The API server with this CRD, and tests that were stored under an earlier one."""
    install(server, earlier())
    for case in OLD_NAMES:
        resource = server.test(case.name.lower(), sample(), GROUP)
        case.change(resource["spec"])
        resource["metadata"]["finalizers"] = [FINALIZER]
        stored = server.run("create", "-f", "-", body=resource)
        assert stored.ok, stored.text
        written = patch(server, case, {"status": {"phase": "Warmup"}}, "--subresource=status")
        assert written.ok, written.text
    install(server, definition_of(GROUP))
    # Until then, the API server validates by the earlier CRD.
    unknown = server.test("probe", {"gone": 1}, GROUP)
    ask_until(lambda: server.run("create", "--dry-run=server", "-f", "-", body=unknown), ok=False)
    yield server
    server.run("delete", f"crd/{RESOURCE}", "--wait=false")


def name_of(case: Refused) -> str:
    return f"{RESOURCE}/{case.name.lower()}"


def patch(server: ApiServer, case: Refused, change: dict[str, Any], *options: str) -> Answer:
    kind = ("--type=merge", "--patch-file=/dev/stdin")
    return server.run("patch", name_of(case), *kind, *options, body=change)


@pytest.mark.parametrize("case", OLD_NAMES, ids=lambda case: case.name)
def test_test_stored_under_an_earlier_crd_is_read_written_and_deleted(
    upgraded: ApiServer, case: Refused
) -> None:
    name = name_of(case)
    stored = upgraded.run("get", name, "-o", "json")
    assert stored.ok, stored.text
    run = read_run(stored.json(), NOW)
    # It says what was renamed, and its phase is known, so that it can be brought to an end.
    assert case.says[1] in str(run.problem)
    assert run.status.phase == "Warmup"
    ended = patch(
        upgraded, case, {"status": {"phase": "Error", "summary": "old"}}, "--subresource=status"
    )
    assert ended.ok, ended.text
    freed = patch(upgraded, case, {"metadata": {"finalizers": None}})
    assert freed.ok, freed.text
    deleted = upgraded.run("delete", name, "--wait", "--timeout=30s")
    assert deleted.ok, deleted.text
    assert not upgraded.run("get", name).ok
