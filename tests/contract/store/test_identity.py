"""Pods without keys: both clients take the identity that a cloud provider gives a pod.

A server of this machine answers as the agent of EKS Pod Identity, as ECS, and as AWS STS do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import pytest
from tests.contract.store import hadoop
from tests.contract.store.server import KEY, SECRET

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.store.server import Server

TOKEN, ROLE = "token-of-the-pod", "arn:aws:iam::111122223333:role/krt"
ELSEWHERE: Final = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1"}
"""No credentials by the machine that the tests run on."""

SESSION: Final = f"""
<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult><Credentials>
    <AccessKeyId>{KEY}</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey>
    <SessionToken>session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>
  </Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>
"""
CREDENTIALS: Final = json.dumps(
    {"AccessKeyId": KEY, "SecretAccessKey": SECRET, "Expiration": "2099-01-01T00:00:00Z"}
)

CLIENT: Final = """
import os, sys
from pyarrow import fs
from krt_contract.stores.objects import ObjectStore
from krt_contract.stores.settings import ObjectStoreSettings
if "trace" in sys.argv:
    fs.initialize_s3(fs.S3LogLevel.Trace)
sys.stdout.write(ObjectStore(ObjectStoreSettings.read(os.environ)).read("part-0").decode())
"""
"""A program that reads a key as traffic and driver do."""


class Provider:
    """Gives credentials, and keeps what was asked.

    Attributes:
        asked: token of a request for credentials, or form of one for a session.
    """

    def __init__(self) -> None:
        self.asked: list[str | dict[str, list[str]]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked.append(self.headers.get("Authorization", ""))
                self._answer("application/json", CREDENTIALS)

            def do_POST(self) -> None:
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                provider.asked.append(parse_qs(form))
                self._answer("text/xml", SESSION)

            def _answer(self, kind: str, body: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    started = Provider()
    yield started
    started.close()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    return file


def container(provider: Provider, token: Path) -> dict[str, str]:
    """Return what the webhook of EKS Pod Identity adds to the environment of a pod."""
    return {
        **ELSEWHERE,
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{provider.url}/v1/credentials",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token),
    }


def web_identity(provider: Provider, token: Path) -> dict[str, str]:
    """Return what the webhook of IAM roles for service accounts adds, and where STS is."""
    return {
        **ELSEWHERE,
        "AWS_ROLE_ARN": ROLE,
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_ENDPOINT_URL_STS": provider.url,
    }


def read(
    server: Server, variables: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [sys.executable, "-c", CLIENT, *arguments],
        env={**kept, **server.settings().variables(), **variables},
        check=False,
        capture_output=True,
        text=True,
    )


def test_python_client_reads_with_the_identity_of_a_pod(
    server: Server, provider: Provider, token: Path
) -> None:
    server.store().put("part-0", b"rows")
    done = read(server, container(provider, token))
    assert done.stdout == "rows", done.stderr
    assert provider.asked == [TOKEN]


def test_sparks_client_reads_with_the_identity_of_a_pod(
    server: Server, provider: Provider, token: Path, classes: str
) -> None:
    server.store().put("part-0", b"rows")
    variables = container(provider, token)
    done = hadoop.read(classes, server.settings(), "part-0", variables)
    assert done.stdout == "rows", done.stderr
    assert provider.asked == [TOKEN]


def test_python_client_takes_the_role_of_a_service_account(
    server: Server, provider: Provider, token: Path
) -> None:
    # It asks AWS, and no other address: this is as far as it goes, with a region that AWS has not.
    variables = {**web_identity(provider, token), "AWS_DEFAULT_REGION": "nowhere-1"}
    trace = read(server, variables, "trace").stdout
    assert f"role_arn from profile_config or environment variable to be {ROLE}" in trace
    assert "Retrieving credentials from https://sts.nowhere-1.amazonaws.com" in trace


def test_sparks_client_takes_the_role_of_a_service_account(
    server: Server, provider: Provider, token: Path, classes: str
) -> None:
    server.store().put("part-0", b"rows")
    variables = web_identity(provider, token)
    done = hadoop.read(classes, server.settings(), "part-0", variables)
    assert provider.asked
    form = provider.asked[0]
    assert isinstance(form, dict)
    assert (form["RoleArn"], form["WebIdentityToken"]) == ([ROLE], [TOKEN])
    # The store refuses sessions, with another status than requests without credentials (403).
    assert "Status Code: 400" in done.stderr
