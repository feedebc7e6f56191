"""The steps of a release, with doubles of the tools that they call."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).parents[3]
REGISTRY = "registry.example.com"
DIGEST = "sha256:" + "a" * 64
VERSIONS = dict(
    line.split("=", 1)
    for line in (REPO / "hack/versions.env").read_text().splitlines()
    if "=" in line and not line.startswith("#")
)
UV = re.search(r"UV_VERSION=(.+)", (REPO / "hack/uv").read_text())

DOUBLE = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$CALLS"
case "$(basename "$0") $1" in
  'docker image') echo "${@: -1}" | sed "s/:[^:]*$/@$DIGEST/" ;;
  'helm push') echo "Digest: $DIGEST" ;;
  'trivy image') exit "${TRIVY:-0}" ;;
  'go env') echo "go$GO" ;;
  'go run')
    case $2 in
      */gitleaks/*) exit "${GITLEAKS_EXIT:-0}" ;;
      */govulncheck@*) exit "${GOVULNCHECK_EXIT:-0}" ;;
      */syft@*)
        for word in "$@"; do
          case $word in cyclonedx-json=*) echo "$SYFT_FOUND" >"${word#*=}" ;; esac
        done
        ;;
    esac
    ;;
  'uv --version') echo "uv $UV" ;;
  'uv tool') exit "${PIP_AUDIT_EXIT:-0}" ;;
esac
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("docker", "helm", "trivy", "cosign", "go", "uv"):
        (folder / name).write_text(DOUBLE)
        (folder / name).chmod(0o755)
    images = "".join(
        f'  {name}: {{registry: "{REGISTRY}", repository: "{path}", tag: "{tag}"}}\n'
        for name, path, tag in (
            ("operator", "team/krt-operator", "0.1.0"),
            ("traffic", "team/krt-traffic", "0.1.0"),
            ("scoring", "team/krt-scoring", "0.1.0"),
            ("kafka", "apache/kafka", "3.9.1"),
            ("kafkaKRaft", "apache/kafka", "4.4.0"),
        )
    )
    (tmp_path / "images.values.yaml").write_text(f"images:\n{images}")
    out = tmp_path / "release"
    out.mkdir()
    for name in ("operator", "traffic", "scoring", "kafka"):
        (out / f"{name}.cdx.json").write_text("{}")
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "DIGEST": DIGEST,
        "GO": VERSIONS["GO_VERSION"],
        "UV": UV[1] if UV else "",
        "KRT_CACHE": str(tmp_path / "cache"),
        "KRT_STATE": str(tmp_path / "state"),
        "KRT_IMAGE_VALUES": str(tmp_path / "images.values.yaml"),
        "KRT_RELEASE_OUT": str(out),
    }


def release(home: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(REPO / "hack/release"), *arguments],
        env=home,
        capture_output=True,
        text=True,
        check=False,
    )


def calls(home: dict[str, str]) -> list[str]:
    return Path(home["CALLS"]).read_text().splitlines()


def test_check_of_another_version_names_the_files(home: dict[str, str]) -> None:
    done = release(home, "check", "v9.9.9")
    assert done.returncode == 1
    for name in ("operator/pyproject.toml=", "Chart.yaml:version=", "Chart.yaml:appVersion="):
        assert name in done.stderr


def test_check_of_this_version_lacks_its_section_of_the_changelog_alone(
    home: dict[str, str],
) -> None:
    chart = yaml.safe_load((REPO / "helm/kafka-resilience/Chart.yaml").read_text())
    done = release(home, "check", f"v{chart['version']}")
    if f"\n## {chart['version']}" in (REPO / "CHANGELOG.md").read_text():
        assert done.returncode == 0
    else:
        assert done.stderr.splitlines()[0].endswith("everywhere: CHANGELOG.md:no-section")


def test_scan_looks_at_every_image_and_fails_with_the_scanner(home: dict[str, str]) -> None:
    assert release(home, "scan").returncode == 0
    assert [call.split()[-1] for call in calls(home)] == [
        f"{REGISTRY}/team/krt-operator:0.1.0",
        f"{REGISTRY}/team/krt-traffic:0.1.0",
        f"{REGISTRY}/team/krt-scoring:0.1.0",
        f"{REGISTRY}/apache/kafka:3.9.1",
        f"{REGISTRY}/apache/kafka:4.4.0",
    ]
    assert release(home | {"TRIVY": "1"}, "scan").returncode == 1


def test_secrets_searches_the_whole_history_and_fails_with_the_search(
    home: dict[str, str],
) -> None:
    assert release(home, "secrets").returncode == 0
    [search] = [call.split() for call in calls(home) if call.startswith("go run")]
    assert "git" in search
    assert search[-1] == "."
    assert not any(word.startswith("--log-opts") for word in search)
    assert release(home | {"GITLEAKS_EXIT": "1"}, "secrets").returncode == 1


def test_audit_looks_at_every_pinned_package_and_at_the_store(home: dict[str, str]) -> None:
    assert release(home, "audit").returncode == 0
    export, audit, check = [
        call for call in calls(home) if call.startswith(("uv export", "uv tool", "go run"))
    ]
    for flag in ("--frozen", "--all-packages"):
        assert flag in export
    assert "--strict" in audit
    assert audit.split()[-1] in export.split()
    assert check.endswith("./...")


@pytest.mark.parametrize("tool", ["PIP_AUDIT_EXIT", "GOVULNCHECK_EXIT"])
def test_audit_fails_with_what_finds_a_vulnerability(home: dict[str, str], tool: str) -> None:
    assert release(home | {tool: "1"}, "audit").returncode == 1


def test_sbom_of_every_image_is_written_and_names_its_packages(
    home: dict[str, str], tmp_path: Path
) -> None:
    packages = ("pkg:deb/debian/bash@5.2", "pkg:maven/org.apache.kafka/kafka-clients@3.9.1")
    components = ",".join(f'{{"bom-ref":"{package}"}}' for package in packages)
    found = f'{{"components":[{{"bom-ref":"054714e0"}},{components}]}}'
    done = release(home | {"SYFT_FOUND": found}, "sbom")
    assert done.returncode == 0, done.stderr
    for name in ("operator", "traffic", "scoring", "kafka", "kafkaKRaft"):
        assert (tmp_path / f"release/{name}.cdx.json").read_text().strip() == found
    assert done.stderr.count("cdx.json: 2 packages") == 5
    images = [call.split()[-1] for call in calls(home) if "/syft@" in call]
    assert images[0] == f"{REGISTRY}/team/krt-operator:0.1.0"
    assert len(images) == 5


def test_sbom_without_a_package_is_refused(home: dict[str, str]) -> None:
    done = release(home | {"SYFT_FOUND": '{"components": []}'}, "sbom")
    assert done.returncode == 1
    assert "operator.cdx.json names no package" in done.stderr


def test_sign_signs_our_images_by_digest_with_their_bill_of_materials(
    home: dict[str, str],
) -> None:
    done = release(home, "sign")
    assert done.returncode == 0, done.stderr
    signed = [call for call in calls(home) if call.startswith("cosign")]
    assert [call.split()[1] for call in signed] == ["sign", "attest"] * 3
    assert all(f"/team/krt-{name}@{DIGEST}" in text for name, text in zip(
        ("operator", "operator", "traffic", "traffic", "scoring", "scoring"), signed, strict=True
    ))  # fmt: skip
    assert "apache" not in "".join(signed)


def test_sign_without_bill_of_materials_says_how_to_make_it(
    home: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "release/traffic.cdx.json").unlink()
    done = release(home, "sign")
    assert done.returncode == 1
    assert "run hack/release sbom" in done.stderr


def test_chart_is_packaged_with_the_images_and_pushed_and_signed(
    home: dict[str, str], tmp_path: Path
) -> None:
    done = release(home, "chart", f"{REGISTRY}/team/")
    assert done.returncode == 0, done.stderr
    values = yaml.safe_load((tmp_path / "release/chart/kafka-resilience/values.yaml").read_text())
    assert values["images"]["operator"] == {
        "registry": REGISTRY,
        "repository": "team/krt-operator",
        "tag": "0.1.0",
        "digest": "",
    }
    assert values["images"]["kafka"]["repository"] == "apache/kafka"
    assert values["global"]["imageRegistry"] == ""
    made = calls(home)
    assert any(f"oci://{REGISTRY}/team/charts" in call for call in made)
    assert made[-1] == f"cosign sign --yes {REGISTRY}/team/charts/kafka-resilience@{DIGEST}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "has no step ''"), (("ship",), "has no step 'ship'"), (("chart",), "usage")],
)
def test_release_with_wrong_arguments_says_what_there_is(
    home: dict[str, str], arguments: tuple[str, ...], message: str
) -> None:
    done = release(home, *arguments)
    assert done.returncode == 1
    assert message in done.stderr


def test_release_without_images_says_how_to_push_them(home: dict[str, str]) -> None:
    done = release(home | {"KRT_IMAGE_VALUES": "/nowhere/values.yaml"}, "sign")
    assert done.returncode == 1
    assert "run hack/release images TARGET" in done.stderr
