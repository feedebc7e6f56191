"""A store whose certificate a private CA has signed: both clients, with that CA and without."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest
from tests.certificates import authority, certificate
from tests.contract.store import hadoop
from tests.contract.store.server import KEY, ROOT, SECRET
from tests.contract.store.tls import TlsFront, write

from krt_contract.stores.objects import ObjectStore
from krt_contract.stores.store import StoreError
from krt_scoring.engine import trust_store
from krt_traffic import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.store.server import Server

FIELD = "spec.evidence.objectStore.ca"
OF_AN_EXECUTOR = (
    *("SPARK_DRIVER_URL", "SPARK_HOME", "SPARK_EXECUTOR_MEMORY", "SPARK_EXECUTOR_ID"),
    *("SPARK_EXECUTOR_CORES", "SPARK_APPLICATION_ID", "SPARK_EXECUTOR_POD_IP"),
    *("SPARK_RESOURCE_PROFILE_ID", "SPARK_EXECUTOR_POD_NAME"),
)
"""What Spark gives an executor in its environment."""
KEYS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}


class Tls(NamedTuple):
    """A front, the CA that has signed its certificate, and another one."""

    port: int
    ca: Path
    other: Path


@pytest.fixture(scope="session")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("ca")
    ours = authority("ours")
    return (
        write(folder, "ours", ours),
        write(folder, "other", authority("other")),
        write(folder, "server", certificate("store", ours)),
    )


@pytest.fixture
def tls(server: Server, authorities: tuple[Path, Path, Path]) -> Iterator[Tls]:
    ca, other, own = authorities
    front = TlsFront(server.port, own)
    yield Tls(front.port, ca, other)
    front.close()


def test_put_through_tls_of_a_ca_that_is_named_is_read_back(server: Server, tls: Tls) -> None:
    store = ObjectStore(server.tls_settings(tls.port, tls.ca))
    store.put("ns/test/uid/run.json", b"{}")
    assert server.store().read("ns/test/uid/run.json") == b"{}"
    assert store.read("ns/test/uid/run.json") == b"{}"


def test_put_with_a_bundle_of_many_cas_finds_the_one_that_signed(
    server: Server, tls: Tls, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_bytes(tls.other.read_bytes() + tls.ca.read_bytes())
    ObjectStore(server.tls_settings(tls.port, bundle)).put("a", b"1")
    assert server.store().read("a") == b"1"


@pytest.mark.parametrize("named", ["other", "none"])
def test_put_through_tls_of_a_ca_that_is_unknown_names_the_field(
    server: Server, tls: Tls, named: str
) -> None:
    store = ObjectStore(server.tls_settings(tls.port, tls.other if named == "other" else None))
    with pytest.raises(StoreError, match=f"CA that is not trusted here.*{FIELD}"):
        store.put("a", b"1")


def test_put_with_a_ca_that_is_no_certificate_names_the_field(
    server: Server, tls: Tls, tmp_path: Path
) -> None:
    wrong = tmp_path / "ca.crt"
    wrong.write_text("no certificate")
    with pytest.raises(StoreError, match=f"no certificate in PEM .*{FIELD}"):
        ObjectStore(server.tls_settings(tls.port, wrong)).put("a", b"1")


def test_preflight_of_a_store_of_an_unknown_ca_ends_with_the_field(
    server: Server, tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = tmp_path / "termination"
    variables = {
        **server.tls_settings(tls.port, tls.other).variables(),
        "KRT_TERMINATION_LOG": str(message),
        "KRT_TEST_UID": "uid-1",
        "KRT_POD": "pod",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(exchange, "PATIENCE_SECONDS", 0.5)
    assert exchange.main(["write", "read"]) == exchange.REFUSED
    assert FIELD in message.read_text()


def test_executor_makes_the_trust_store_that_the_driver_names_before_java_starts(
    authorities: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\nls "$TMPDIR"\n')
    java.chmod(0o755)
    variables = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "TMPDIR": str(tmp_path),
        "KRT_STORE_BUCKET": "evidence",
        "KRT_STORE_CA_FILE": str(authorities[0]),
        **dict.fromkeys(OF_AN_EXECUTOR, "x"),
    }
    done = subprocess.run(
        ["bash", ROOT / "hack/images/spark/executor"],
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
        text=True,
    )
    assert trust_store.FILE.name in done.stdout.splitlines()


def trusting(ca: Path, folder: Path) -> list[str]:
    """Return Java's flags, as a session has them, with a trust store in this folder."""
    trusted = folder / "ca.p12"
    trust_store.write(ca, trusted)
    return trust_store.FLAGS.replace(str(trust_store.FILE), str(trusted)).split()


def test_sparks_client_with_the_trust_store_of_the_ca_reads(
    server: Server, tls: Tls, classes: str, tmp_path: Path
) -> None:
    server.store().put("part-0", b"rows")
    store = server.tls_settings(tls.port, tls.ca)
    done = hadoop.read(classes, store, "part-0", KEYS, trusting(tls.ca, tmp_path))
    assert (done.returncode, done.stdout) == (0, "rows"), done.stderr


def test_sparks_client_with_the_trust_store_of_another_ca_is_refused(
    server: Server, tls: Tls, classes: str, tmp_path: Path
) -> None:
    server.store().put("part-0", b"rows")
    store = server.tls_settings(tls.port, tls.other)
    done = hadoop.read(classes, store, "part-0", KEYS, trusting(tls.other, tmp_path))
    assert done.returncode != 0
    assert "unable to find valid certification path" in done.stderr
