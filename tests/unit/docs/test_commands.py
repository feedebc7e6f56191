"""Whatever the documents tell people to type exists: targets, commands, options, files, values."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
import yaml
from tests.unit.docs.test_paths import documents

from krt_cli.main import app
from krt_operator.api.crd import crd
from krt_operator.api.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    page
    for page in documents()
    if page.relative_to(ROOT).parts[0] in {"README.md", "helm", "cli"}
    or page.relative_to(ROOT).parts[:2] in {("docs", "tutorial"), ("docs", "how-to")}
]
"""What users read; pages for developers name files that are to be written."""

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`((?:krt|make|hack/[\w-]+|helm|kubectl) [^`\n]+)`(?!`)")
SHELL = {"", "sh", "bash"}
PLAIN = {
    *("cd", "docker", "echo", "eval", "exit", "export", "git", "java", "kill", "ls", "test", "tar")
}
"""Commands of any machine."""

PLACEHOLDER = re.compile(r"^[A-Z][A-Z-]*$|^(test|orders)\.yaml$|^resilience/")
"""Words that stand for something of the reader's own."""

KUBECTL = {"apply", "auth", "create", "delete", "describe", "get", "krt", "label", "patch", "wait"}
HELM = {"install", "package", "push", "test", "uninstall", "upgrade"}
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, flags=re.MULTILINE))
VARIABLES = set(re.findall(r"\$\(?\{?([A-Z]+)\b", MAKEFILE))
VALUES: dict[str, Any] = yaml.safe_load((ROOT / "helm/kafka-resilience/values.yaml").read_text())

WITH_EXECUTABLES = 5
"""Words of `tool install PROJECT --with-executables-from PACKAGE`."""

Words = list[str]


def lines(page: Path) -> Iterator[str]:
    """Yield the commands of a page, of blocks and within sentences."""
    text = page.read_text(encoding="utf-8")
    for language, block in FENCE.findall(text):
        if language in SHELL:
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip():
                    yield line.strip()
    yield from INLINE.findall(FENCE.sub("", text))


def words_of(line: str) -> Words:
    """Return the words of a command, without comment."""
    return shlex.split(line, comments=True)


def is_command(line: str) -> bool:
    """Whether a line of a block is one: output and diagrams are not."""
    return bool(re.match(r"^(\.?[a-z][\w./-]*)( |$)", line))


def check_make(words: Words) -> str:
    for word in words[1:]:
        name, given, _ = word.partition("=")
        if given and name not in VARIABLES:
            return f"make has no variable {name}"
        if not given and word not in TARGETS and not PLACEHOLDER.match(word):
            return f"make has no target {word}"
    return ""


def check_krt(words: Words) -> str:
    command: Any = typer.main.get_command(app)
    rest = list(words[1:])
    while rest and hasattr(command, "commands"):
        if rest[0].startswith("-"):
            break
        found = command.commands.get(rest[0])
        if found is None:
            return f"krt has no command {rest[0]}"
        command = found
        rest.pop(0)
    known = {option for parameter in command.params for option in parameter.opts}
    known |= {option for parameter in command.params for option in parameter.secondary_opts}
    for word in rest:
        if word.startswith("-") and word.partition("=")[0] not in known | {"--help", "-"}:
            return f"{command.name} has no option {word}"
    return check_files(rest)


def check_files(words: Sequence[str]) -> str:
    for word in words:
        if re.match(r"^(manifests|helm|docs|cli)/", word) and not (ROOT / word).exists():
            return f"there is no {word}"
        made = PLACEHOLDER.match(word) or word == "build/images.values.yaml"
        if word.endswith(".yaml") and not made and not (ROOT / word).exists():
            return f"there is no {word}"
    return ""


def check_script(words: Words) -> str:
    script = ROOT / words[0]
    if not os.access(script, os.X_OK):
        return f"{words[0]} cannot be executed"
    if words[0] == "hack/uv":
        return check_uv(words)
    text = script.read_text(encoding="utf-8", errors="replace")
    for word in words[1:]:
        if word.startswith("-") and word not in text:
            return f"{words[0]} has no option {word}"
    if words[0] == "hack/release" and f"hack/release {words[1]}" not in text:
        return f"hack/release has no step {words[1]}"
    return check_files(words[1:])


def check_uv(words: Words) -> str:
    rest = [word for word in words[1:] if word != "--frozen"]
    if rest[0] == "run":
        if rest[1] == "krt":
            return check_krt(rest[1:])
        scripts = "".join(path.read_text() for path in ROOT.glob("*/pyproject.toml"))
        return (
            "" if f"\n{rest[1]} = " in scripts or rest[1] == "pytest" else f"uv runs no {rest[1]}"
        )
    if rest[:2] == ["tool", "install"]:
        if len(rest) == WITH_EXECUTABLES and rest[3] == "--with-executables-from":
            names = "".join(path.read_text() for path in ROOT.glob("*/pyproject.toml"))
            if f'\nname = "{rest.pop()}"\n' not in names:
                return f"{words[-1]} is no package of this repository"
            rest.pop()
        path, _, extra = rest[-1].partition("[")
        project = ROOT / path / "pyproject.toml"
        if not project.is_file():
            return f"there is no project {path}"
        return "" if f"\n{extra.rstrip(']')} = [" in project.read_text() or not extra else extra
    return "" if rest[0] in {"sync", "tool"} else f"uv {rest[0]} is not known"


def check_helm(words: Words) -> str:
    if words[1] not in HELM:
        return f"helm {words[1]} is not known"
    for option, value in itertools.pairwise(words):
        if option == "--set":
            found: Any = VALUES
            for part in value.partition("=")[0].split("."):
                if not isinstance(found, dict) or part not in found:
                    return f"the chart has no value {value}"
                found = found[part]
    return check_files(words[2:])


def check_kubectl(words: Words) -> str:
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:]
    if rest[0] not in KUBECTL:
        return f"kubectl {rest[0]} is not known"
    if rest[0] == "krt":
        return check_krt(rest)
    return check_files(rest[1:])


CHECKS: dict[str, Callable[[Words], str]] = {
    "make": check_make,
    "krt": check_krt,
    "uv": check_uv,
    "helm": check_helm,
    "kubectl": check_kubectl,
}


def problem(line: str) -> str:
    """Return what is wrong with a command; empty if nothing is."""
    if not is_command(line):
        return ""
    words = words_of(line)
    while words and re.match(r"^[A-Z_]+=", words[0]):
        words.pop(0)
    if not words or words[0] in PLAIN:
        return ""
    if words[0] in CHECKS:
        return CHECKS[words[0]](words) if len(words) > 1 else ""
    if words[0] == "krt-score":
        return check_files(words[1:])
    if words[0].startswith(("hack/", ".ci/")):
        return check_script(words)
    return f"{words[0]} is not known: add it to the test, or correct the page"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_page_exist(page: Path) -> None:
    found = [f"{line}: {words}" for line in lines(page) if (words := problem(line))]
    assert not found, "\n".join(found)


def test_pages_include_readme_tutorial_and_how_to() -> None:
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "docs/tutorial/first-test.md", "docs/how-to/install.md"} <= names
    assert sum(1 for page in PAGES for line in lines(page) if line.startswith("krt ")) > 30


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("make demmo", "no target demmo"),
        ("make images PUSHTO=x", "no variable PUSHTO"),
        ("krt rum FILE", "no command rum"),
        ("krt run FILE --acept Degraded", "no option --acept"),
        ("krt run manifests/none.yaml", "there is no manifests/none.yaml"),
        ("hack/none", "cannot be executed"),
        ("hack/ci-run --none FILE", "no option --none"),
        ("hack/release ship", "no step ship"),
        ("helm upgrade krt helm/none", "there is no helm/none"),
        ("helm upgrade krt x --set evidence.class=y", "no value evidence.class"),
        ("kubectl aply -f x.yaml", "kubectl aply is not known"),
        ("uv tool install './cli[none]'", "none"),
        (
            "uv tool install ./cli --with-executables-from krt-none",
            "krt-none is no package",
        ),
        ("frobnicate", "not known"),
    ],
)
def test_command_that_does_not_exist_is_found(line: str, words: str) -> None:
    assert words in problem(line)


@pytest.mark.parametrize(
    "line",
    [
        "make scenarios SCENARIOS=baseline REPEAT=3   # some",
        "krt run manifests/sample.yaml --namespace krt-demo --replace",
        "hack/uv run --frozen krt scenarios run --list",
        "kubectl krt list -A",
        "helm upgrade krt helm/kafka-resilience --set evidence.storageClass=MY-CLASS",
        'eval "$(hack/env)"',
    ],
)
def test_command_that_exists_passes(line: str) -> None:
    assert not problem(line)


SCHEMA: dict[str, Any] = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]


def unknown_fields(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    """Yield the fields of a part of a resource that the CRD does not have."""
    if isinstance(value, list):
        for item in value:
            yield from unknown_fields(item, schema.get("items", {}), f"{path}[]")
    elif isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            if name not in schema["properties"]:
                yield f"{path}.{name}"
            else:
                yield from unknown_fields(inner, schema["properties"][name], f"{path}.{name}")


def fragments(page: Path) -> Iterator[Any]:
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "yaml":
            yield yaml.safe_load(textwrap.dedent(block))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_resources_of_page_are_valid(page: Path) -> None:
    spec = SCHEMA["spec"]
    parts = {"spec": spec} | {
        f"spec.{name}": inner for name, inner in spec["properties"].items() if "properties" in inner
    }
    for found in fragments(page):
        if not isinstance(found, dict):
            continue
        if found.get("kind") == "KafkaResilienceTest":
            Spec.model_validate(found["spec"])
        elif set(found) == {"spec"}:
            assert list(unknown_fields(found["spec"], spec, "spec")) == []
        elif page.parent.name == "tutorial":
            path, schema = next(
                (path, schema)
                for path, schema in parts.items()
                if set(found) <= set(schema["properties"])
            )
            assert list(unknown_fields(found, schema, path)) == []


def tutorial() -> Iterator[dict[str, Any]]:
    """Yield the test of the tutorial after each of its steps."""
    body: dict[str, Any] = {}
    for found in fragments(ROOT / "docs/tutorial/first-test.md"):
        if found.get("kind"):
            body = found["spec"]
        elif "producers" in found:
            body = body | {"traffic": body["traffic"] | found}
        else:
            body = body | found
        yield body


def test_tutorial_is_valid_after_each_step() -> None:
    steps = [Spec.model_validate(body) for body in tutorial()]
    assert len(steps) == 4
    assert [len(step.faults) for step in steps] == [0, 1, 1, 1]
