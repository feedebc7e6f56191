from __future__ import annotations

import os
import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest
from kit import artifacts
from kit.controller import Controller
from kit.controller_log import ControllerLog
from kit.kubectl import Kubectl

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

OPERATOR_NAMESPACE = os.environ.get("KRT_OPERATOR_NAMESPACE", "krt-system")
FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session", autouse=True)
def _only_the_kind_cluster() -> None:
    """Refuse any cluster that hack/up has not created: these tests break things."""
    context = subprocess.run(
        ["kubectl", "config", "current-context"], capture_output=True, text=True, check=False
    ).stdout.strip()
    expected = f"kind-{os.environ.get('KRT_CLUSTER', 'krt')}"
    if context != expected:
        pytest.exit(
            f"the kubectl context is {context!r}, not {expected!r}: run through hack/e2e", 2
        )


@pytest.fixture(scope="session")
def controller() -> Controller:
    return Controller(Kubectl(OPERATOR_NAMESPACE))


@pytest.fixture(scope="session", autouse=True)
def _no_error_in_the_log_of_a_controller(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Fail the session's last test if any controller of the session logged an error."""
    log = ControllerLog(Kubectl(OPERATOR_NAMESPACE), tmp_path_factory.mktemp("controllers"))
    with log:
        yield
    assert log.containers, "the log of no controller was followed"
    wrong = log.wrong_lines()
    assert not wrong, "\n".join(["a controller logged errors:", *wrong[:20]])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
        for node in (item.parent, item.parent.parent if item.parent else None):
            if node is not None:
                node.stash[FAILED] = True
    return report


def _namespace(request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    name = f"krt-e2e-{uuid.uuid4().hex[:6]}"
    cluster = Kubectl("default")
    cluster("create", "namespace", name)
    cluster("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    yield Kubectl(name)
    if request.node.stash.get(FAILED, False):
        stem = request.node.nodeid.replace("/", "_").replace("::", "--")
        folder = artifacts.collect(stem, name, OPERATOR_NAMESPACE)
        print(f"\nartifacts of the failure: {folder}")  # noqa: T201 - for the person who reads CI
    # The tests first: only our controller removes their finalizers.
    Kubectl(name)("delete", "krt", "--all", "--wait", "--timeout=120s", timeout=130)
    cluster("delete", "namespace", name, "--wait=false")


@pytest.fixture
def kubectl(request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A namespace of the test's own under restricted pod security."""
    yield from _namespace(request)


@pytest.fixture(scope="module")
def module_kubectl(request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A namespace shared by the tests of one module, which look at one run."""
    yield from _namespace(request)


@pytest.fixture(scope="module")
def other_kubectl(request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """Another namespace shared by the tests of one module."""
    yield from _namespace(request)
