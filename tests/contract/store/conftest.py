from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The modules beside this file are imported by their path in the repository, as mypy knows them.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.contract.store import hadoop
from tests.contract.store.server import KEY, SECRET, Server, program

from krt_contract.stores.folder import FolderStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_contract.stores.store import Store


@pytest.fixture(scope="session")
def executable() -> Path:
    return program()


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> str:
    return hadoop.class_path(tmp_path_factory.mktemp("hadoop"))


@pytest.fixture
def server(executable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    started = Server(tmp_path / "objects", executable)
    started.start()
    yield started
    started.kill()


@pytest.fixture(params=["folder", "objects"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        return FolderStore(tmp_path)
    found: Server = request.getfixturevalue("server")
    return found.store()
