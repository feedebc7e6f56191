"""The key that credentials are made from: made once, read by name, and never guessed."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from krt_operator.errors import ConflictError, KafkaAccessError, RefusedError
from krt_operator.kubernetes.installation_key import InstallationKey
from krt_operator.kubernetes.rest import NotFoundError

if TYPE_CHECKING:
    from krt_operator.engine.views import Json

PATH = "/api/v1/namespaces/krt-system/secrets"


class Api:
    """The part of the API server that keeps one Secret."""

    def __init__(self) -> None:
        self.stored: Json | None = None
        self.calls: list[str] = []
        self.refuses = False
        self.other: Json | None = None

    def call(self, method: str, path: str, *, body: Json | None = None, **_: Any) -> Json:
        self.calls.append(method)
        if self.refuses:
            raise RefusedError(f"HTTP 403: {path}")
        if method == "POST":
            assert path == PATH
            self.stored, self.other = self.other or self.stored or body, None
            if self.stored is None or self.stored is not body:
                raise ConflictError("HTTP 409: it exists")
            return self.stored
        assert path == f"{PATH}/krt-key"
        if self.stored is None:
            raise NotFoundError("HTTP 404")
        return self.stored


def key(api: Api, name: str = "krt-key") -> InstallationKey:
    rest: Any = api
    return InstallationKey(rest, "krt-system", name)


def test_key_is_made_once_and_is_the_same_for_every_controller() -> None:
    api = Api()
    first = key(api).read()
    assert len(first) == 32
    second = key(api)
    assert second.read() == second.read() == first
    assert api.calls == ["GET", "POST", "GET"]


def test_key_that_another_controller_made_meanwhile_is_taken() -> None:
    api = Api()
    api.other = {"data": {"key": base64.b64encode(bytes(32)).decode()}}
    assert key(api).read() == bytes(32)


def test_key_that_may_not_be_read_is_refused_with_its_name() -> None:
    api = Api()
    api.refuses = True
    with pytest.raises(KafkaAccessError, match="Secret krt-key in namespace krt-system"):
        key(api).read()


def test_key_without_a_place_is_refused() -> None:
    with pytest.raises(KafkaAccessError, match="KRT_KEY_SECRET"):
        key(Api(), "").read()


def test_key_that_is_too_short_is_refused() -> None:
    api = Api()
    api.stored = {"data": {"key": base64.b64encode(b"short").decode()}}
    with pytest.raises(KafkaAccessError, match="fewer than 32 bytes"):
        key(api).read()
