"""What `krt watch` shows of the traffic of a test while it runs."""

from __future__ import annotations

import io
import json
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from krt_cli.api_proxy import api_proxy
from krt_cli.errors import KubectlError
from krt_cli.kubectl import Kubectl
from krt_cli.resource import Test
from krt_cli.watch import live
from krt_cli.watch.live import Live
from krt_cli.watch.remaining import describe_now
from krt_cli.watch.samples import Sample, read_sample
from krt_cli.watch.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PRODUCER = """\
# HELP krt_producer_sends_total Sends that ended.
# TYPE krt_producer_sends_total counter
krt_producer_sends_total{test="t",producer="idem",outcome="acked"} 1000.0
krt_producer_sends_total{test="t",producer="idem",outcome="failed"} 2.0
# TYPE krt_producer_wait_seconds gauge
krt_producer_wait_seconds{test="t",producer="idem",topic="foo",partition="0"} 3.5
krt_producer_wait_seconds{test="t",producer="idem",topic="foo",partition="1"} 0.004
"""
OTHER = 'krt_producer_sends_total{test="t",producer="plain",outcome="acked"} 500\n'
CONSUMER = """\
krt_consumer_lag_records{test="t",consumer="reader",group="readers",topic="foo",partition="0"} 7
krt_consumer_lag_records{test="t",consumer="reader",group="readers",topic="foo",partition="1"} 5
"""
RECORDER = 'krt_under_replicated_partitions{test="t"} 4\n'


def test_sample_adds_up_what_the_pods_say() -> None:
    found = read_sample(5.0, [PRODUCER, OTHER, CONSUMER, RECORDER])
    assert found.sends == {
        ("idem", "acked"): 1000,
        ("idem", "failed"): 2,
        ("plain", "acked"): 500,
    }
    assert found.lag == {"readers": 12}
    assert found.waits == {"foo-0 (idem)": 3.5, "foo-1 (idem)": 0.004}
    assert found.under_replicated == 4


def test_sample_without_the_recorder_does_not_know_what_is_under_replicated() -> None:
    assert read_sample(5.0, [PRODUCER]).under_replicated is None


def _sample(at: float, wait: float | None = 0.0, **sends: int) -> Sample:
    waits = {} if wait is None else {"foo-0 (idem)": wait}
    of_producer = {("idem", outcome): count for outcome, count in sends.items()}
    return Sample(at, of_producer, {"g": 3}, waits, 0)


def test_traffic_reports_an_outage_when_it_begins_and_when_it_ends() -> None:
    traffic = Traffic()
    assert list(traffic.update(_sample(0))) == []
    assert list(traffic.update(_sample(2, 0.9))) == []
    assert list(traffic.update(_sample(4, 1.0))) == [
        "writes unavailable: foo-0 (idem), for 1.0 s so far"
    ]
    assert traffic.outages == "foo-0 (idem) for 1.0 s"
    assert list(traffic.update(_sample(6, 3.0))) == []
    assert list(traffic.update(_sample(8, 5.0))) == []
    # Its producer does not answer: nothing is known.
    assert list(traffic.update(_sample(10, None))) == []
    assert traffic.outages == "foo-0 (idem) for 5.0 s"
    assert list(traffic.update(_sample(12, 0.1))) == [
        "writes available: foo-0 (idem), after 5.0 s or more"
    ]
    assert traffic.outages == ""


def test_traffic_names_few_of_many_partitions() -> None:
    traffic = Traffic()
    waits = {f"foo-{number} (p)": 1.0 + number for number in range(9)}
    assert list(traffic.update(Sample(0, {}, {}, waits, 0))) == [
        "writes unavailable: foo-0 (p), foo-1 (p), foo-2 (p) and 6 more, for 9.0 s so far"
    ]
    assert traffic.outages == "foo-0 (p), foo-1 (p), foo-2 (p) and 6 more for 9.0 s"
    after = dict.fromkeys(waits, 0.0) | {"foo-3 (p)": 20.0}
    assert list(traffic.update(Sample(2, {}, {}, after, 0))) == [
        "writes available: foo-0 (p), foo-1 (p), foo-2 (p) and 5 more, after 9.0 s or more"
    ]


def test_traffic_gives_rates_from_the_second_sample_on_and_none_after_a_restart() -> None:
    traffic = Traffic()
    list(traffic.update(_sample(0, acked=100)))
    assert traffic.rates == ""
    list(traffic.update(_sample(2, acked=300, failed=4)))
    assert traffic.rates.startswith("sends per second: 100 acked, 2 failed, 0 unknown; lag: g 3;")
    list(traffic.update(_sample(4, acked=20)))
    assert traffic.rates == "lag: g 3; under-replicated partitions: 0"
    list(traffic.update(_sample(6)))
    assert traffic.rates == "", "no producer answers"


def test_traffic_gives_no_rates_while_other_producers_answer_than_before() -> None:
    traffic = Traffic()
    both = [{("a", "acked"): 100_000 + n, ("b", "acked"): 100_000 + n} for n in (0, 200, 400)]
    one = {("a", "acked"): 100_100}
    shown = []
    for at, sends in enumerate([both[0], one, both[1], both[2]]):
        list(traffic.update(Sample(at, sends, {}, {}, None)))
        shown.append(traffic.rates)
    assert shown == ["", "", "", "sends per second: 400 acked, 0 failed, 0 unknown"]


BEGIN = datetime(2026, 11, 21, 4, tzinfo=UTC)


def _test(phase: str, **status: Any) -> Test:
    return Test(
        {
            "metadata": {
                "name": "t",
                "namespace": "ns",
                "uid": "u",
                "creationTimestamp": BEGIN.isoformat(),
            },
            "spec": {
                "warmup": "15s",
                "faults": [
                    {"name": "down", "duration": "20s"},
                    {"name": "killed", "duration": "0s"},
                ],
            },
            "status": {"phase": phase, **status},
        }
    )


def _active(name: str, state: str = "Active") -> dict[str, Any]:
    return {"name": name, "state": state, "injectedAt": BEGIN.isoformat()}


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (_test("Provisioning"), "Provisioning"),
        (_test("Injecting", faults=[_active("down")]),
         "Injecting: fault down is active, reverted in 12 s"),
        (_test("Injecting", faults=[_active("down"), _active("killed")]),
         "Injecting: fault down is active, reverted in 12 s, fault killed is active"),
        (_test("Injecting", faults=[_active("down", "Reverted")]), "Injecting"),
        (_test("Injecting", faults=[{"name": "down", "state": "Pending"}]), "Injecting"),
        (_test("Warmup"), "Warmup"),
        (_test("Warmup", conditions=[{"type": "TrafficEstablished", "status": "True",
                                      "lastTransitionTime": BEGIN.isoformat()}]),
         "Warmup: faults begin in 7 s"),
    ],
)  # fmt: skip
def test_describe_now_says_what_is_left_of_what_has_a_length(test: Test, text: str) -> None:
    assert describe_now(test, BEGIN + timedelta(seconds=8)) == text


SERVER = """#!{python}
import pathlib, socketserver, sys
home = pathlib.Path({home!r})
words = dict(word.split("=", 1) for word in sys.argv if word.startswith("--") and "=" in word)
(home / "arguments").write_text(chr(10).join(sys.argv[1:]))
if (home / "refuse").exists():
    sys.exit("error: no context")

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        path = self.rfile.readline().split()[1].decode()
        while self.rfile.readline().strip():
            pass
        name = path.partition("?")[0].rpartition("/pods")[2].strip("/").replace("/", "_") or "list"
        page = home / name
        body = page.read_bytes() if page.exists() else b"not ready"
        status = b"200 OK" if page.exists() else b"503 Service Unavailable"
        self.wfile.write(b"HTTP/1.0 " + status + b"\\r\\n\\r\\n" + body)

socketserver.ThreadingUnixStreamServer(words["--unix-socket"], Handler).serve_forever()
"""
"""A kubectl that serves the files of a folder as the API server's answers."""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(SERVER.format(python=sys.executable, home=str(tmp_path)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    names = ("t-producer-idem-0", "t-recorder", "t-consumer-reader-0")
    listed = {"items": [{"metadata": {"name": name}} for name in names]}
    (tmp_path / "list").write_text(json.dumps(listed))
    return tmp_path


def test_proxy_serves_reads_of_the_named_paths_only(served: Path) -> None:
    with api_proxy(Kubectl("ns", context="c"), "^/api/v1/namespaces/ns/pods") as proxy:
        assert "t-recorder" in proxy.get("/api/v1/namespaces/ns/pods?labelSelector=a")
        with pytest.raises(KubectlError, match=r"HTTP 503 from .*/absent: not ready"):
            proxy.get("/api/v1/namespaces/ns/pods/absent")
    given = (served / "arguments").read_text().splitlines()
    assert given[:4] == ["--context", "c", "--namespace", "ns"]
    assert "--accept-paths=^/api/v1/namespaces/ns/pods" in given
    assert "--reject-methods=^(POST|PUT|PATCH|DELETE)$" in given


def test_proxy_that_does_not_listen_says_what_kubectl_said(served: Path) -> None:
    (served / "refuse").touch()
    with (
        pytest.raises(KubectlError, match="does not listen: error: no context"),
        api_proxy(Kubectl(), "^/"),
    ):
        pass


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "INTERVAL_S", 0.05)
    monkeypatch.setattr(live, "RATES_EVERY_S", 0.0)


def _page(served: Path, pod: str, text: str) -> None:
    written = served / "written"
    written.write_text(text)
    written.rename(served / f"{pod}:9090_proxy_metrics")


@pytest.mark.usefixtures("quick")
def test_live_prints_outages_and_rates_of_the_pods_that_answer(served: Path) -> None:
    out = io.StringIO()
    with Live(Kubectl("ns"), Console(file=out, width=200)) as shown:
        shown.show(_test("Pending"))
        _page(served, "t-producer-idem-0", PRODUCER)
        shown.show(_test("Injecting"))
        _until(lambda: "sends per second: 0 acked" in out.getvalue())
        _page(served, "t-producer-idem-0", PRODUCER.replace(" 3.5", " 0.01"))
        _page(served, "t-recorder", RECORDER)
        _until(lambda: "under-replicated partitions: 4" in out.getvalue())
    assert "s    writes unavailable: foo-0 (idem), for 3.5 s so far\n" in out.getvalue()
    assert "s    writes available: foo-0 (idem), after 3.5 s or more\n" in out.getvalue()


@pytest.mark.usefixtures("quick", "served")
def test_live_without_answers_says_so_once() -> None:
    out = io.StringIO()
    with Live(Kubectl("ns"), Console(file=out, width=200)) as shown:
        shown.show(_test("Injecting"))
        _until(lambda: "not shown" in out.getvalue())
    (line,) = out.getvalue().splitlines()
    assert "rates and outages are not shown from here on: HTTP 503" in line


@pytest.mark.usefixtures("quick")
def test_live_of_a_test_without_traffic_starts_no_proxy(served: Path) -> None:
    with Live(Kubectl("ns"), Console(file=io.StringIO())) as shown:
        shown.show(_test("Scoring"))
        time.sleep(0.2)
    assert not (served / "arguments").exists()
