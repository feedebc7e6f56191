"""What the images are made of agrees with what the packages are locked to."""

import importlib.util
import re
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
import yaml

REPO = Path(__file__).parents[3]
IMAGES = REPO / "hack" / "images"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def locked(package: str) -> str:
    lock = tomllib.loads((REPO / "uv.lock").read_text())
    return str(next(entry["version"] for entry in lock["package"] if entry["name"] == package))


@pytest.mark.parametrize("jars", [1, 2, 300])
def test_class_path_manifest_folds_lines_and_loses_nothing(jars: int) -> None:
    module = load(IMAGES / "spark" / "class_path.py")
    class_path = " ".join(f"../all-jars/some-library-{n}.jar" for n in range(jars))

    manifest = module.manifest(class_path)

    lines = manifest.split("\n")
    assert all(len(line.encode()) <= 72 for line in lines)
    assert manifest.replace("\n ", "") == f"Manifest-Version: 1.0\nClass-Path: {class_path}\n\n"


def test_kafka_connector_matches_the_locked_spark() -> None:
    version = locked("pyspark")
    jars = (IMAGES / "spark" / "jars.sha256").read_text()

    assert f"<spark.version>{version}</spark.version>" in (IMAGES / "spark/pom.xml").read_text()
    assert f" spark-sql-kafka-0-10_2.13-{version}.jar" in jars
    # Not every patch release of the connector's helper for Kerberos tokens, of which nothing here
    # is used, was published; within a line they fit.
    line = version.rpartition(".")[0]
    assert f" spark-token-provider-kafka-0-10_2.13-{line}." in jars


@pytest.mark.parametrize(
    ("variable", "value"), [("KAFKA_VERSION", "kafka"), ("KAFKA_KRAFT_VERSION", "kafkaKRaft")]
)
def test_kafka_pulled_built_and_in_the_chart_is_one_version(variable: str, value: str) -> None:
    versions = (IMAGES.parent / "versions.env").read_text()
    (version,) = re.findall(rf"^{variable}=(.*)$", versions, re.MULTILINE)
    chart = yaml.safe_load((REPO / "helm/kafka-resilience/values.yaml").read_text())

    assert f":-docker.io/apache/kafka:${variable}}}" in (IMAGES / "lib.sh").read_text()
    assert chart["images"][value]["tag"] == version
    assert f" kafka_2.13-{version}.jar" in jars_of(version)


def jars_of(version: str) -> str:
    return (IMAGES / "kafka" / f"{version}.sha256").read_text()


def test_kafka_image_has_the_binding_that_its_version_logs_with() -> None:
    """The binding and the logging library below it, which Kafka brings, are of one version."""
    profiles = {
        name: re.findall(r"<value>(.*?)</value>.*?<version>(.*?)</version>", text, re.DOTALL)
        for name, text in re.findall(
            r"<profile>\s*<id>(.*?)</id>(.*?)</profile>",
            (IMAGES / "kafka/pom.xml").read_text(),
            re.DOTALL,
        )
    }
    ((with_log4j_1, _),) = profiles["log4j-1"]
    ((without, binding),) = profiles["log4j-2"]

    assert without == f"!{with_log4j_1}"
    assert (IMAGES / "kafka" / f"{with_log4j_1}.sha256").exists()
    for path in (IMAGES / "kafka").glob("*.sha256"):
        names = path.read_text()
        if path.stem == with_log4j_1:
            assert " slf4j-reload4j-" in names
        else:
            assert f" log4j-slf4j-impl-{binding}.jar" in names
            assert f" log4j-core-{binding}.jar" in names


def test_checksums_of_kafka_are_of_the_versions_in_use() -> None:
    versions = (IMAGES.parent / "versions.env").read_text()
    used = set(re.findall(r"^KAFKA_(?:KRAFT_)?VERSION=(.*)$", versions, re.MULTILINE))
    assert {path.stem for path in (IMAGES / "kafka").glob("*.sha256")} == used


def jar(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, f"content of {name}")
    return path


def test_unsign_signed_jar_loses_its_signatures_and_nothing_else(tmp_path: Path) -> None:
    module = load(IMAGES / "spark" / "unsign.py")
    kept = ("META-INF/MANIFEST.MF", "META-INF/services/a.SF", "org/Some.class", "notes.RSA")
    path = jar(tmp_path / "some.jar", *kept, "META-INF/DUMMY.SF", "META-INF/DUMMY.dsa")

    module.main([path])

    with zipfile.ZipFile(path) as archive:
        assert tuple(archive.namelist()) == kept
        assert archive.read("org/Some.class") == b"content of org/Some.class"
    assert list(tmp_path.iterdir()) == [path]


def test_unsign_unsigned_jar_is_refused(tmp_path: Path) -> None:
    module = load(IMAGES / "spark" / "unsign.py")
    path = jar(tmp_path / "some.jar", "META-INF/MANIFEST.MF")

    with pytest.raises(SystemExit, match=r"some\.jar is not signed"):
        module.main([path])
