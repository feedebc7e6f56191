"""Credentials of a secured cluster: the same for every controller, and good for TLS."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.doubles.plans import sample_plan

from krt_contract.kafka_security import SecretFile
from krt_operator.build.cluster_secrets import build_cluster_secrets
from krt_operator.build.listeners import MEMBER
from krt_operator.engine.certificates import check_certificates
from krt_operator.engine.credentials import Credentials
from krt_operator.engine.login import UNQUOTABLE, own_login

if TYPE_CHECKING:
    from pathlib import Path

    from krt_operator.api.plan import Plan

ROOT_KEY = bytes(range(32))
NOW = datetime.now(UTC)
HOST = "t-kafka-0.tests.svc"


def made(root: bytes = ROOT_KEY, uid: str = "u-1", at: datetime = NOW) -> Credentials:
    return Credentials(root, uid, at)


def plan() -> Plan:
    security = {"tls": {}, "sasl": {"mechanism": "SCRAM-SHA-512"}}
    return sample_plan(lambda spec: spec["kafka"].update(security=security), "sample-kraft.yaml")


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """Connect both in memory; return the server's side."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = server.wrap_bio(up, down, server_side=True)
    asking = client.wrap_bio(down, up, server_hostname=host)
    done: set[ssl.SSLObject] = set()
    for _ in range(10):
        for side in (asking, serving):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                continue
    assert len(done) == 2
    return serving


def member_context(credentials: Credentials, folder: Path) -> ssl.SSLContext:
    """The context of a member, from the file that it mounts."""
    certificate = credentials.certificate(MEMBER, [HOST])
    (folder / "member.pem").write_text(certificate.key + certificate.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "member.pem")
    context.load_verify_locations(cadata=credentials.authority)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_credentials_of_another_controller_are_as_good(tmp_path: Path) -> None:
    later = made(at=NOW + timedelta(minutes=10))
    assert later.password == made().password
    client = own_login(plan(), later).ssl_context()
    assert client is not None
    serving = handshake(member_context(made(), tmp_path), client, HOST)
    peer: Any = serving.getpeercert()
    assert peer["subject"] == ((("commonName", "krt-client"),),)


@pytest.mark.parametrize("other", [made(uid="u-2"), made(root=bytes(32))])
def test_credentials_of_another_test_or_installation_are_refused(
    other: Credentials, tmp_path: Path
) -> None:
    assert other.password != made().password
    client = own_login(plan(), other).ssl_context()
    assert client is not None
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(member_context(made(), tmp_path), client, HOST)


def test_credentials_of_a_member_are_refused_for_another_host(tmp_path: Path) -> None:
    client = own_login(plan(), made()).ssl_context()
    assert client is not None
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(member_context(made(), tmp_path), client, "elsewhere.tests.svc")


def test_credentials_pass_the_checks_of_a_login() -> None:
    login = own_login(plan(), made())
    check_certificates(login, NOW)
    assert (login.user, login.password) == ("krt-client", made().password)
    assert len(login.password) == 32
    assert not UNQUOTABLE.search(login.password)
    assert login.password not in repr((login, made().certificate("a")))


def test_cluster_secrets_hold_what_clients_and_each_member_mount() -> None:
    found = plan()
    clients, members = build_cluster_secrets(found, made())
    assert clients["metadata"]["name"] == "leader-crash-kraft-kafka-clients-00000000"
    assert set(clients["stringData"]) == {"ca.crt", "tls.crt", "tls.key", "password"}
    names = {member.member for member in found.members}
    assert set(members["stringData"]) == {"ca.crt", "password", *names}
    assert members["stringData"]["password"] == clients["stringData"][SecretFile.PASSWORD]
    assert {one["metadata"]["ownerReferences"][0]["uid"] for one in (clients, members)} == {
        found.uid
    }
