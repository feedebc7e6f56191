from __future__ import annotations

import pytest
from tests.contract.tools import unavailable


def test_unavailable_in_ci_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="mvn is not on PATH"):
        unavailable("mvn is not on PATH")


@pytest.mark.parametrize("value", ["", "false"])
def test_unavailable_elsewhere_skips_the_test(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CI", value)
    with pytest.raises(pytest.skip.Exception, match="mvn is not on PATH"):
        unavailable("mvn is not on PATH")
