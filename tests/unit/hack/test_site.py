"""The layout of the site: what pages link to is there, and nothing else."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def load() -> Any:
    spec = importlib.util.spec_from_file_location("site_layout", ROOT / "hack/site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site = load()


def write(root: Path, name: str, text: str = "") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_links_leave_out_anchors_addresses_and_code() -> None:
    text = "[a](b.md#c) [d](https://e.org) [f](#g) `[h](i.md)`\n```\n[j](k.md)\n```\n![l](m.png)"
    assert site.links(text) == ["b.md", "m.png"]


def test_reachable_follows_links_of_pages_and_lists_folders(tmp_path: Path) -> None:
    write(tmp_path, "README.md", "[a](docs/a.md) [folder](data)")
    write(tmp_path, "docs/a.md", "[back](../README.md) [b](b.yaml)")
    write(tmp_path, "docs/b.yaml", "[not](a-link.md)")
    write(tmp_path, "docs/unlinked.md")
    write(tmp_path, "data/one.json")
    found = [str(path) for path in site.reachable(tmp_path, Path("README.md"))]
    assert found == ["README.md", "data", "data/one.json", "docs/a.md", "docs/b.yaml"]


def test_reachable_with_a_link_that_leads_nowhere_names_it(tmp_path: Path) -> None:
    write(tmp_path, "README.md", "[a](docs/missing.md)")
    with pytest.raises(FileNotFoundError, match=r"docs/missing\.md is linked"):
        site.reachable(tmp_path, Path("README.md"))


def test_lay_out_puts_built_pages_of_scenarios_in_place_of_the_table(tmp_path: Path) -> None:
    write(tmp_path, "README.md", "[table](docs/scenarios/README.md) [folder](data)")
    write(tmp_path, "docs/scenarios/README.md", "from git")
    write(tmp_path, "data/one.json", "{}")
    write(tmp_path, "build/docs/scenarios/README.md", "[m](../../../manifests/a.yaml) [a](a.md)")
    write(tmp_path, "build/docs/scenarios/reports/a.html", "<html>")
    out = tmp_path / "build/site-source"
    write(out, "old.md")
    site.lay_out(tmp_path, out)
    table = (out / "docs/scenarios/README.md").read_text()
    assert table == "[m](../../manifests/a.yaml) [a](a.md)"
    assert (out / "docs/scenarios/reports/a.html").read_text() == "<html>"
    assert "[one.json](one.json)" in (out / "data/index.md").read_text()
    assert not (out / "old.md").exists()
