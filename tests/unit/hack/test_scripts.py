"""What the scripts in hack/ rely on: steps, locks, keys, pins, and the shape of the cluster."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).parents[3]
HACK = REPO / "hack"
BASH = shutil.which("bash") or "bash"

# The variable of versions.env, the module below hack/toolchain, and the Go module pinned there.
PINS = [
    ("KIND_VERSION", "kind", "sigs.k8s.io/kind"),
    ("KUBERNETES_VERSION", "kubernetes", "k8s.io/kubernetes"),
    ("HELM_VERSION", "helm", "helm.sh/helm/v3"),
    ("ETCD_VERSION", "etcd", "go.etcd.io/etcd/server/v3"),
    ("COREDNS_VERSION", "coredns", "github.com/coredns/coredns"),
    ("CONTAINERD_VERSION", "containerd", "github.com/containerd/containerd/v2"),
    ("CNI_PLUGINS_VERSION", "cni-plugins", "github.com/containernetworking/plugins"),
    ("FLANNEL_VERSION", "flannel", "github.com/flannel-io/flannel"),
    ("LOCAL_PATH_VERSION", "local-path-provisioner", "github.com/rancher/local-path-provisioner"),
]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Give an environment whose caches and state are the test's own."""
    return {
        **os.environ,
        "KRT_CACHE": str(tmp_path / "cache"),
        "KRT_STATE": str(tmp_path / "state"),
        "KRT_CLUSTER": "unit",
    }


def run(script: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script that has sourced hack/lib.sh and hack/go.sh, as those in hack/ have."""
    prelude = f"set -Eeuo pipefail\n. {HACK}/lib.sh\n. {HACK}/go.sh\n"
    return subprocess.run(
        [BASH, "-c", prelude + script], env=env, capture_output=True, text=True, check=False
    )


def test_a_step_that_fails_shows_its_last_lines_and_ends_the_script(home: dict[str, str]) -> None:
    done = run("work() { echo doing; false; echo not reached; }\nstep 'the work' work", home)
    assert done.returncode == 1
    assert "FAILED the work" in done.stderr
    assert "| doing" in done.stderr
    assert "not reached" not in done.stderr


def test_a_step_tells_how_long_it_took_and_leaves_standard_output_alone(
    home: dict[str, str],
) -> None:
    done = run("step 'the work' echo noise; echo result", home)
    assert done.returncode == 0
    assert done.stdout == "result\n"
    assert re.search(r"ok the work \(\d+ s\)", done.stderr)


def test_one_failing_job_of_several_side_by_side_is_a_failure(home: dict[str, str]) -> None:
    done = run("good() { :; }\nbad() { return 3; }\nside_by_side bad good", home)
    assert done.returncode == 1


def test_a_command_without_end_is_ended_when_its_reader_is_done(home: dict[str, str]) -> None:
    script = """
    endless() { printf '%s\\n' "$BASHPID" one two; exec sleep 600; }
    upto() { local word; read -r pid; echo "$pid" >"$TMPDIR/pid"; while read -r word; do
      echo "$word"; if [[ $word == "$1" ]]; then return "$2"; fi; done; }
    export TMPDIR; TMPDIR=$(mktemp -d)
    rc=0; read_by "upto two 3" endless || rc=$?
    echo "rc $rc"
    kill -0 "$(cat "$TMPDIR/pid")" 2>/dev/null && echo 'still there'
    rm "$TMPDIR/pid"; ls "$TMPDIR"
    """
    done = run(script, home)
    assert done.stdout == "one\ntwo\nrc 3\n"


def test_a_lock_whose_holder_is_gone_is_broken(home: dict[str, str]) -> None:
    script = """
    mkdir -p "$CACHE/locks/build.lock"
    true & wait $!
    echo $! >"$CACHE/locks/build.lock/pid"
    with_lock build echo got it
    test ! -e "$CACHE/locks/build.lock"
    """
    done = run(script, home)
    assert (done.returncode, done.stdout) == (0, "got it\n")


def test_a_failure_under_a_lock_gives_the_lock_back_and_is_not_swallowed(
    home: dict[str, str],
) -> None:
    script = """
    work() { false; echo not reached; }
    trap 'test ! -e "$CACHE/locks/build.lock" && echo given back' EXIT
    with_lock build work
    """
    done = run(script, home)
    assert (done.returncode, done.stdout) == (1, "given back\n")


def test_the_key_of_a_folder_follows_contents_and_names(home: dict[str, str]) -> None:
    script = f"""
    HACK={home["KRT_CACHE"]}
    mkdir -p "$HACK/d"
    echo one >"$HACK/d/a"
    content_key "$HACK/d"
    content_key "$HACK/d"
    echo two >"$HACK/d/a"
    content_key "$HACK/d"
    mv "$HACK/d/a" "$HACK/d/b"
    content_key "$HACK/d"
    echo flags | content_key - "$HACK/d"
    """
    keys = run(script, home).stdout.split()
    assert keys[0] == keys[1]
    assert len(set(keys)) == len(keys) - 1


def test_a_killed_build_leaves_nothing_that_counts_as_built(home: dict[str, str]) -> None:
    script = """
    first=$(fresh_tmp tool)
    echo half >"$first/bin"
    second=$(fresh_tmp tool)
    test ! -e "$first" && test -d "$second"
    publish "$second" "$CACHE/entry"
    third=$(fresh_tmp tool)
    echo later >"$third/bin"
    publish "$third" "$CACHE/entry"
    test ! -e "$CACHE/entry/bin" && test ! -e "$third"
    """
    assert run(script, home).returncode == 0


@pytest.mark.parametrize(
    ("version", "minimum", "enough"),
    [
        ("1.25", "1.25", True),
        ("1.26.8", "1.25", True),
        ("1.9", "1.25", False),
        ("1.24.13", "1.25", False),
        ("2.0", "1.25", True),
    ],
)
def test_versions_compare_as_numbers(
    home: dict[str, str], version: str, minimum: str, *, enough: bool
) -> None:
    done = run(f"version_at_least {version} {minimum}", home)
    assert (done.returncode == 0) is enough


@pytest.mark.parametrize("name", ["Upper", "-dash", "a b", "x" * 33])
def test_a_cluster_name_that_cannot_be_one_is_refused(home: dict[str, str], name: str) -> None:
    done = run("", home | {"KRT_CLUSTER": name})
    assert done.returncode == 2
    assert "KRT_CLUSTER" in done.stderr


@pytest.mark.parametrize(("variable", "folder", "module"), PINS)
def test_every_tool_is_pinned_twice_and_alike(variable: str, folder: str, module: str) -> None:
    versions = (HACK / "versions.env").read_text()
    found = re.search(rf"^{variable}=(\S+)$", versions, re.MULTILINE)
    assert found
    pinned = (HACK / "toolchain" / folder / "go.mod").read_text()
    assert re.search(rf"{re.escape(module)} {re.escape(found[1])}\b", pinned)
    assert f"{module} {found[1]} h1:" in (HACK / "toolchain" / folder / "go.sum").read_text()


def test_the_cluster_is_three_zones_of_two_and_every_node_has_the_evidence() -> None:
    nodes = yaml.safe_load((REPO / "kind-config.yaml").read_text())["nodes"]
    zones = [n["labels"]["topology.kubernetes.io/zone"] for n in nodes if n["role"] == "worker"]
    assert sorted(zones) == ["zone-a", "zone-a", "zone-b", "zone-b", "zone-c", "zone-c"]
    mount = {"hostPath": "./evidence", "containerPath": "/evidence"}
    assert all(node["extraMounts"] == [mount] for node in nodes)


def test_the_wrapper_takes_out_one_capability_and_hands_on_the_rest(tmp_path: Path) -> None:
    if not shutil.which("jq"):
        pytest.skip("the wrapper needs jq, which only machines without an engine of their own need")
    (tmp_path / "runc").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "runc").chmod(0o755)
    asked = ["CAP_CHOWN", "CAP_SYS_RESOURCE", "CAP_SYS_ADMIN"]
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    config = bundle / "config.json"
    config.write_text(json.dumps({"process": {"args": ["x"], "capabilities": {"bounding": asked}}}))
    process = tmp_path / "process.json"
    process.write_text(json.dumps({"args": ["y"], "capabilities": {"effective": asked}}))
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    words: list[list[str]] = [
        ["--root", "/r", "create", "--bundle", str(bundle), "id"],
        ["--root", "/r", "exec", "--process", str(process), "id"],
        ["--root", "/r", "delete", "id"],
    ]
    for arguments in words:
        done = subprocess.run(
            [HACK / "engine" / "runc-without-cap", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == arguments
    left = ["CAP_CHOWN", "CAP_SYS_ADMIN"]
    assert json.loads(config.read_text())["process"] == {
        "args": ["x"],
        "capabilities": {"bounding": left},
    }
    assert json.loads(process.read_text())["capabilities"] == {"effective": left}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(
            "https://mirror/debian/ bookworm\nhttps://mirror/debian/ bookworm-updates\n"
            "https://mirror/security/ bookworm-security",
            "deb https://mirror/debian/ bookworm main\n"
            "deb https://mirror/debian/ bookworm-updates main\n"
            "deb https://mirror/security/ bookworm-security main\n",
            id="the machine's own mirror",
        ),
        pytest.param(
            "https://mirror/debian/ trixie\nhttps://mirror/security/ trixie-security",
            "deb https://mirror/debian/ bookworm main\n"
            "deb https://mirror/security/ bookworm-security main\n",
            id="a machine of another release, without updates",
        ),
        pytest.param("", "", id="no archive of Debian's"),
    ],
)
def test_an_image_installs_from_where_the_machine_does(
    home: dict[str, str], tmp_path: Path, known: str, expected: str
) -> None:
    tool = tmp_path / "bin" / "apt-get"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\nprintf '{known}\n'\n")
    tool.chmod(0o755)
    env = {**home, "PATH": f"{tool.parent}:{home['PATH']}"}
    done = run(". $HACK/debian.sh\ndebian_sources bookworm", env)
    assert done.stdout == expected, done.stderr


def test_a_cluster_of_another_recipe_is_outdated(home: dict[str, str]) -> None:
    script = """
    . "$HACK/engine.sh"
    . "$HACK/cluster.sh"
    mkdir -p "$STATE"
    write_marker "image=$KIND_NODE_IMAGE" "config=$(cluster_recipe)"
    cluster_current && echo pulled: current
    write_marker "image=$("$HACK/node-image.sh" --name)" "config=$(cluster_recipe)"
    cluster_current && echo built: current
    write_marker "image=krt/node:older" "config=$(cluster_recipe)"
    cluster_current || echo another image: outdated
    write_marker "image=$KIND_NODE_IMAGE" config=older
    cluster_current || echo another recipe: outdated
    """
    assert run(script, home).stdout.splitlines() == [
        "pulled: current",
        "built: current",
        "another image: outdated",
        "another recipe: outdated",
    ]
