"""What the scripts in hack/ rely on: steps, locks, keys, pins, and the shape of the cluster."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).parents[3]
HACK = REPO / "hack"
BASH = shutil.which("bash") or "bash"

# The variable of versions.env, the module below hack/toolchain, and the Go module pinned there.
PINS = [
    ("ACTIONLINT_VERSION", "actionlint", "github.com/rhysd/actionlint"),
    ("PROMETHEUS_VERSION", "prometheus", "github.com/prometheus/prometheus"),
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


def test_step_command_fails_shows_last_lines_and_ends_the_script(home: dict[str, str]) -> None:
    done = run("work() { echo doing; false; echo not reached; }\nstep 'the work' work", home)
    assert done.returncode == 1
    assert "FAILED the work" in done.stderr
    assert "| doing" in done.stderr
    assert "not reached" not in done.stderr


def test_step_command_succeeds_reports_seconds_and_leaves_standard_output_alone(
    home: dict[str, str],
) -> None:
    done = run("step 'the work' echo noise; echo result", home)
    assert done.returncode == 0
    assert done.stdout == "result\n"
    assert re.search(r"ok the work \(\d+ s\)", done.stderr)


def test_side_by_side_one_job_fails_is_a_failure(home: dict[str, str]) -> None:
    done = run("good() { :; }\nbad() { return 3; }\nside_by_side bad good", home)
    assert done.returncode == 1


NO_FLOCK = 'have() { [[ $1 != flock ]] && command -v "$1" >/dev/null 2>&1; }\n'
"""What a machine without flock answers, such as macOS."""

LOCKS = pytest.mark.parametrize("prelude", ["", NO_FLOCK], ids=["flock", "perl"])


@LOCKS
def test_with_lock_holder_killed_is_taken_over(home: dict[str, str], prelude: str) -> None:
    script = f"""{prelude}
    hold() {{ echo held; sleep 600; }}
    mkfifo "$CACHE.out"
    with_lock build hold >"$CACHE.out" &
    holder=$!
    read -r line <"$CACHE.out"
    end_tree "$holder"
    wait "$holder" || true
    with_lock build echo got it
    """
    Path(home["KRT_CACHE"]).parent.mkdir(parents=True, exist_ok=True)
    done = run(script, home)
    assert (done.returncode, done.stdout) == (0, "got it\n"), done.stderr


@LOCKS
def test_with_lock_taken_waits_until_it_is_free(home: dict[str, str], prelude: str) -> None:
    script = f"""{prelude}
    first() {{
      touch "$CACHE/first"
      until grep -qs 'waiting for' "$CACHE/said"; do sleep 0.05; done
      echo first
    }}
    with_lock build first &
    until [[ -e $CACHE/first ]]; do sleep 0.05; done
    with_lock build echo second 2>"$CACHE/said"
    wait
    """
    done = run(script, home)
    assert done.stdout == "first\nsecond\n", done.stderr


@LOCKS
def test_with_lock_command_fails_lock_is_released_and_failure_returned(
    home: dict[str, str], prelude: str
) -> None:
    script = f"""{prelude}
    work() {{ false; echo not reached; }}
    trap 'with_lock build echo released' EXIT
    with_lock build work
    """
    done = run(script, home)
    assert (done.returncode, done.stdout) == (1, "released\n"), done.stderr


@LOCKS
def test_with_lock_many_waiters_of_a_killed_holder_run_one_at_a_time(
    home: dict[str, str], prelude: str
) -> None:
    """Two waiters that both find the holder dead must not both take the lock."""
    script = f"""{prelude}
    hold() {{ echo held; sleep 600; }}
    work() {{
      mkdir "$CACHE/working" || echo overlap
      sleep 0.05
      rmdir "$CACHE/working"
      echo "done $1"
    }}
    mkfifo "$CACHE.out"
    with_lock build hold >"$CACHE.out" &
    holder=$!
    read -r line <"$CACHE.out"
    pids=""
    for number in 1 2 3 4 5 6 7 8; do
      with_lock build work "$number" &
      pids="$pids $!"
    done
    end_tree "$holder"
    wait "$holder" || true
    for pid in $pids; do wait "$pid"; done
    """
    Path(home["KRT_CACHE"]).parent.mkdir(parents=True, exist_ok=True)
    done = run(script, home)
    assert sorted(done.stdout.split("\n")[:-1]) == [f"done {n}" for n in range(1, 9)], done.stderr


@LOCKS
def test_with_lock_leftover_of_a_killed_process_is_no_lock(
    home: dict[str, str], prelude: str
) -> None:
    """Only the kernel knows who has the lock: a file that was left behind does not count."""
    left = Path(home["KRT_CACHE"]) / "locks"
    (left / "build.lock").mkdir(parents=True)
    (left / "build.flock").touch()
    done = run(f"{prelude}\nwith_lock build echo got it", home)
    assert (done.returncode, done.stdout) == (0, "got it\n"), done.stderr
    assert "waiting" not in done.stderr


def test_with_lock_without_flock_and_perl_ends_with_a_remedy(home: dict[str, str]) -> None:
    neither = 'have() { [[ $1 != flock && $1 != perl ]] && command -v "$1" >/dev/null 2>&1; }\n'
    done = run(f"{neither}with_lock build echo never", home)
    assert done.returncode != 0
    assert "never" not in done.stdout
    assert "remedy: install util-linux, or perl" in done.stderr


@LOCKS
def test_with_lock_background_process_left_does_not_keep_it(
    home: dict[str, str], prelude: str
) -> None:
    script = (
        prelude
        + """
    leave() { sleep 600 >/dev/null 2>&1 & echo $!; }
    with_lock build leave
    with_lock build echo again
    """
    )
    done = run(script, home)
    pid, again = done.stdout.split()
    os.kill(int(pid), signal.SIGKILL)
    assert again == "again"
    assert "waiting" not in done.stderr


def test_content_key_follows_contents_and_names(home: dict[str, str]) -> None:
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


def test_publish_after_a_killed_build_publishes_only_what_is_complete(home: dict[str, str]) -> None:
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
def test_version_at_least_compares_as_numbers(
    home: dict[str, str], version: str, minimum: str, *, enough: bool
) -> None:
    done = run(f"version_at_least {version} {minimum}", home)
    assert (done.returncode == 0) is enough


@pytest.mark.parametrize("name", ["Upper", "-dash", "a b", "x" * 33])
def test_lib_cluster_name_invalid_is_refused(home: dict[str, str], name: str) -> None:
    done = run("", home | {"KRT_CLUSTER": name})
    assert done.returncode == 2
    assert "KRT_CLUSTER" in done.stderr


@pytest.mark.parametrize(("variable", "folder", "module"), PINS)
def test_pins_of_versions_and_go_modules_agree(variable: str, folder: str, module: str) -> None:
    versions = (HACK / "versions.env").read_text()
    found = re.search(rf"^{variable}=(\S+)$", versions, re.MULTILINE)
    assert found
    pinned = (HACK / "toolchain" / folder / "go.mod").read_text()
    assert re.search(rf"{re.escape(module)} {re.escape(found[1])}\b", pinned)
    assert f"{module} {found[1]} h1:" in (HACK / "toolchain" / folder / "go.sum").read_text()


def test_kind_config_has_three_zones_of_two_nodes_with_the_evidence_mount() -> None:
    nodes = yaml.safe_load((REPO / "kind-config.yaml").read_text())["nodes"]
    zones = [n["labels"]["topology.kubernetes.io/zone"] for n in nodes if n["role"] == "worker"]
    assert sorted(zones) == ["zone-a", "zone-a", "zone-b", "zone-b", "zone-c", "zone-c"]
    mount = {"hostPath": "./evidence", "containerPath": "/evidence"}
    assert all(node["extraMounts"] == [mount] for node in nodes)


def test_runc_wrapper_removes_one_capability_and_passes_on_the_rest(tmp_path: Path) -> None:
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
def test_debian_sources_follow_the_machine(
    home: dict[str, str], tmp_path: Path, known: str, expected: str
) -> None:
    tool = tmp_path / "bin" / "apt-get"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\nprintf '{known}\n'\n")
    tool.chmod(0o755)
    env = {**home, "PATH": f"{tool.parent}:{home['PATH']}"}
    done = run(". $HACK/debian.sh\ndebian_sources bookworm", env)
    assert done.stdout == expected, done.stderr


def test_cluster_current_another_recipe_is_outdated(home: dict[str, str]) -> None:
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


def test_cluster_current_with_another_storage_is_outdated(home: dict[str, str]) -> None:
    script = """
    . "$HACK/engine.sh"
    . "$HACK/cluster.sh"
    mkdir -p "$STATE"
    write_marker "image=$KIND_NODE_IMAGE" "config=$(cluster_recipe)"
    export KRT_STORAGE=default
    cluster_current || echo shared storage: outdated
    write_marker "image=$KIND_NODE_IMAGE" "config=$(cluster_recipe)"
    cluster_current && echo default storage: current
    """
    assert run(script, home).stdout.splitlines() == [
        "shared storage: outdated",
        "default storage: current",
    ]


def test_shared_storage_with_an_unknown_word_ends_with_a_remedy(home: dict[str, str]) -> None:
    script = '. "$HACK/engine.sh"\n. "$HACK/cluster.sh"\nshared_storage || :\necho never'
    done = run(script, home | {"KRT_STORAGE": "none"})
    assert (done.returncode, done.stdout) == (1, "")
    assert "use shared or default" in done.stderr
