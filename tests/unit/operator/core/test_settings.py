"""The values of the installation, as the chart passes them."""

from __future__ import annotations

import pytest

from krt_operator.app.settings import Settings
from krt_operator.errors import UserError

IMAGES = {
    "KRT_IMAGE_TRAFFIC": "traffic:1",
    "KRT_IMAGE_SCORING": "scoring:1",
    "KRT_IMAGE_KAFKA": "kafka:1",
}


def read(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in {**IMAGES, **variables}.items():
        monkeypatch.setenv(name, value)
    return Settings.from_environment()


def test_settings_from_images_alone_have_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(monkeypatch, KRT_MAX_CONCURRENT_TESTS="", KRT_WATCH_NAMESPACES="")
    assert settings.image_traffic == "traffic:1"
    assert settings.image_pull_policy == "IfNotPresent"
    assert settings.evidence_storage_class == "krt-evidence"
    assert settings.max_concurrent_tests == 8
    assert settings.watch_namespaces == ()


def test_settings_with_namespaces_are_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, KRT_WATCH_NAMESPACES="a, b,").watch_namespaces == ("a", "b")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("KRT_IMAGE_KAFKA", "", "KRT_IMAGE_KAFKA: is not set; set the chart value images.kafka"),
        ("KRT_IMAGE_SCORING", " ", "KRT_IMAGE_SCORING: .*set the chart value images.scoring"),
        (
            "KRT_TEST_NETWORK_POLICIES",
            '{"controller": {}}',
            "KRT_TEST_NETWORK_POLICIES: .*set the chart value networkPolicy",
        ),
        ("KRT_METRICS_PORT", "http", "KRT_METRICS_PORT: is 'http': .*chart value metrics.port"),
        ("KRT_MAX_CONCURRENT_TESTS", "-1", "KRT_MAX_CONCURRENT_TESTS: is '-1': .*Tests"),
        ("KRT_MAX_STARTING_TESTS", "x", "KRT_MAX_STARTING_TESTS: is 'x': .*maxStartingTests"),
    ],
)
def test_settings_with_wrong_variable_name_it_and_the_chart_value(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read(monkeypatch, **{variable: value})
