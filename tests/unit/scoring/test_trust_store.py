"""The trust store of Java, from the certificates of CAs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from krt_scoring.engine import trust_store
from krt_scoring.errors import StoreReadError

if TYPE_CHECKING:
    from pathlib import Path

CA = """\
-----BEGIN CERTIFICATE-----
MIIBcTCCARegAwIBAgIUJpmfEJycB5O/m5/0hKQR4j/HXbAwCgYIKoZIzj0EAwIw
DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI2MDgyMjI4WhgPMjA1NzAxMDcwODIyMjha
MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwXQI1bCE
oqrqbSJZCYnH3IH/UvHMvaS7TCYpuVBHxm88Seu9eFycr6j/1fNOs88URLvkkqjT
9wiUKtd3d0g7XaNTMFEwHQYDVR0OBBYEFGXOiu9c8mqF1cGLLPtCmfvcbZHmMB8G
A1UdIwQYMBaAFGXOiu9c8mqF1cGLLPtCmfvcbZHmMA8GA1UdEwEB/wQFMAMBAf8w
CgYIKoZIzj0EAwIDSAAwRQIgAjmlXL+opR7r27Oh7SZREYVYo58TTvnXKXqMQzzp
3NMCIQDEodqk9UeYBrhDPT+IeuLF4uK0qc3+VZnpO934MGlbfQ==
-----END CERTIFICATE-----
"""
"""A CA, valid until 2056."""


@pytest.fixture
def ca_file(tmp_path: Path) -> Path:
    file = tmp_path / "ca.crt"
    file.write_text(f"# comment of a bundle\n{CA}\n{CA}")
    return file


@pytest.mark.parametrize("system", [True, False])
def test_write_puts_every_certificate_of_the_file_and_of_the_system_into_the_store(
    ca_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, system: bool
) -> None:
    trusted = tmp_path / "ca-certificates.crt"
    monkeypatch.setattr(trust_store, "SYSTEM", trusted)
    if system:
        trusted.write_text(CA)
    trust_store.write(ca_file, tmp_path / "ca.p12")
    data = (tmp_path / "ca.p12").read_bytes()
    found = pkcs12.load_pkcs12(data, trust_store.PASSWORD.encode()).additional_certs
    assert [certificate.friendly_name for certificate in found] == [
        *(b"ca-0", b"ca-1"),
        *([b"ca-2"] if system else []),
    ]


@pytest.mark.parametrize("text", [None, "no certificate", ""])
def test_write_of_a_file_without_a_certificate_names_the_field(
    text: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "ca.crt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(StoreReadError, match=r"spec\.evidence\.objectStore\.ca"):
        trust_store.write(file, tmp_path / "ca.p12")
    assert not (tmp_path / "ca.p12").exists()


def test_trusting_adds_its_flags_to_those_of_both_jvms() -> None:
    settings = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC", "spark.app.name": "a"}
    found = trust_store.trusting(settings)
    assert found["spark.app.name"] == "a"
    assert found["spark.driver.extraJavaOptions"] == f"-XX:+UseSerialGC {trust_store.FLAGS}"
    assert found["spark.executor.extraJavaOptions"] == trust_store.FLAGS


def test_main_of_a_pod_makes_the_store_that_the_flags_name(
    ca_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made.p12"
    monkeypatch.setenv("KRT_STORE_BUCKET", "evidence")
    monkeypatch.setenv("KRT_STORE_CA_FILE", str(ca_file))
    monkeypatch.setattr(trust_store, "FILE", made)
    assert trust_store.main() == 0
    assert made.exists()


def test_main_without_a_certificate_fails_with_the_field(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KRT_STORE_BUCKET", "evidence")
    monkeypatch.setenv("KRT_STORE_CA_FILE", "/nowhere/ca.crt")
    assert trust_store.main() == 1
    assert "spec.evidence.objectStore.ca" in capsys.readouterr().err
