"""A real Prometheus as a process of this machine."""

from __future__ import annotations

import json
import subprocess
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from tests.contract.tools import unavailable
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
INTERVAL_SECONDS = 1


def programs() -> Path:
    """Return the folder of prometheus and promtool, built where they are not there yet."""
    built = subprocess.run([ROOT / "hack/prometheus"], check=True, capture_output=True, text=True)
    if not built.stdout:
        unavailable("there is no Go to build Prometheus with; install Go, or run hack/up on Debian")
    return Path(built.stdout.strip())


class Prometheus:
    """Scrapes fixed targets of this machine.

    Args:
        folder: of its configuration and data.
        targets: name of a pod → port of its metrics.
    """

    def __init__(self, folder: Path, targets: dict[str, int]) -> None:
        self.port = free_port()
        folder.mkdir()
        config = {
            "global": {"scrape_interval": f"{INTERVAL_SECONDS}s", "scrape_timeout": "1s"},
            "scrape_configs": [
                {
                    "job_name": "krt",
                    "static_configs": [
                        {
                            "targets": [f"127.0.0.1:{port}"],
                            "labels": {"namespace": "ns", "pod": pod},
                        }
                        for pod, port in targets.items()
                    ],
                }
            ],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(programs() / "prometheus"),
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an instant query; none while Prometheus starts."""
        answer = self._get(f"query?query={quote(expression)}")
        return answer["data"]["result"] if answer else []

    def value(self, expression: str) -> float | None:
        """Return the value of a query that has one series; None where it has none."""
        found = self.query(expression)
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else None

    def names(self) -> set[str]:
        """Return the names of all metrics."""
        answer = self._get("label/__name__/values")
        return set(answer["data"]) if answer else set()

    def until(self, expression: str, expected: float, seconds: float = 60) -> None:
        """Wait until a query has that value."""
        deadline = time.monotonic() + seconds
        while (found := self.value(expression)) != expected:
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, f"{expression} is {found}, not {expected}"
            time.sleep(0.2)

    def _get(self, path: str) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", f"/api/v1/{path}")
            answer = json.loads(connection.getresponse().read())
        except (OSError, ValueError):
            # It does not listen yet, or answers in words that it is not ready.
            return None
        finally:
            connection.close()
        assert answer["status"] == "success", answer
        return answer
