# shellcheck shell=bash
# The Docker engine: the one that answers already, or, as root on Debian where none does, one started
# here with a data root, sockets and a containerd of its own. Sourced; needs lib.sh.

# shellcheck source=hack/debian.sh
. "$HACK/debian.sh"

ENGINE_DATA=$CACHE/engine
# Under /run, so that nothing of it survives a reboot; named after the data it belongs to.
ENGINE_RUN=/run/krt-engine-$(printf '%s' "$CACHE" | sha256 | cut -c 1-8)
ENGINE_HOST=unix://$ENGINE_RUN/docker.sock
# apparmor: a kernel with AppArmor needs its parser for every container.
ENGINE_PACKAGES='docker.io apparmor iptables jq procps'
# Bit 24 of the capability sets in /proc/self/status: CAP_SYS_RESOURCE.
CAP_SYS_RESOURCE_BIT=24

engine_answers() { DOCKER_HOST=$1 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# engine_find: sets ENGINE (ours | given | none) and, where it is ours, DOCKER_HOST.
engine_find() {
  ENGINE=none
  if ! have docker; then return 0; fi
  if [[ -S $ENGINE_RUN/docker.sock ]] && engine_answers "$ENGINE_HOST"; then
    ENGINE=ours
  elif [[ ${DOCKER_HOST:-} != "$ENGINE_HOST" ]] && docker version --format x >/dev/null 2>&1; then
    ENGINE=given
  fi
  if [[ $ENGINE == ours ]]; then export DOCKER_HOST=$ENGINE_HOST; fi
}

# engine_pids PROGRAM: the processes of that name with our run directory in their command line.
engine_pids() {
  local proc words
  for proc in /proc/[0-9]*; do
    words=$({ tr '\0' ' ' <"$proc/cmdline"; } 2>/dev/null) || continue
    if [[ ${words%% *} == *"$1" && $words == *"$ENGINE_RUN/"* ]]; then echo "${proc#/proc/}"; fi
  done
}

gone() {
  local pid
  for pid in "$@"; do
    if kill -0 "$pid" 2>/dev/null; then return 1; fi
  done
}

# end_processes SECONDS PID...: sends SIGTERM, waits, and sends SIGKILL.
end_processes() {
  local deadline=$((SECONDS + $1))
  shift
  if (($# == 0)); then return 0; fi
  kill "$@" 2>/dev/null || :
  until gone "$@" || ((SECONDS > deadline)); do sleep 0.1; done
  kill -KILL "$@" 2>/dev/null || :
}

# engine_end: ends the engine started here, or what is left of it, and removes its mounts and sockets.
engine_end() {
  local shim mount
  # 25 s: dockerd gives its containers 15 s.
  # shellcheck disable=SC2046  # lists of process ids
  end_processes 25 $(engine_pids dockerd)
  # A dockerd that was killed leaves containers running below their shims.
  for shim in $(engine_pids containerd-shim-runc-v2); do
    # shellcheck disable=SC2046
    kill -KILL $(pgrep -P "$shim") 2>/dev/null || :
    kill -KILL "$shim" 2>/dev/null || :
  done
  # shellcheck disable=SC2046
  end_processes 10 $(engine_pids containerd)
  while read -r mount; do umount -l "$mount" 2>/dev/null || :; done \
    < <(awk -v a="$ENGINE_RUN/" -v b="$ENGINE_DATA/" 'index($5, a) == 1 || index($5, b) == 1 {print $5}' \
      /proc/self/mountinfo | sort -r)
  rm -rf "$ENGINE_RUN"
}

lacks_cap_sys_resource() {
  local bounding
  bounding=$(awk '/^CapBnd:/ {print $2}' /proc/self/status)
  (((16#$bounding >> CAP_SYS_RESOURCE_BIT & 1) == 0))
}

# await SECONDS WHAT LOG COMMAND...: waits until the command succeeds, while the process started last lives.
await() {
  local limit=$((SECONDS + $1)) what=$2 file=$3
  shift 3
  until "$@"; do
    if ((SECONDS > limit)) || ! kill -0 "$!" 2>/dev/null; then
      tail -n 20 "$file"
      die "$what ended or did not answer" "read $file"
    fi
    sleep 0.1
  done
}

engine_start() {
  engine_end
  mkdir -p "$ENGINE_DATA" "$ENGINE_RUN" "$CACHE/logs"
  local containerd=$CACHE/logs/containerd.log dockerd=$CACHE/logs/dockerd.log runtime=()
  # An empty file: without it dockerd would read the machine's /etc/docker/daemon.json.
  echo '{}' >"$ENGINE_RUN/daemon.json"
  printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >"$ENGINE_RUN/containerd.toml"
  # setsid and no inherited files: the engine outlives the script and the terminal that started it.
  setsid containerd --config "$ENGINE_RUN/containerd.toml" --root "$ENGINE_DATA/containerd" \
    --state "$ENGINE_RUN/containerd" --address "$ENGINE_RUN/containerd.sock" \
    >"$containerd" 2>&1 </dev/null &
  await 30 containerd "$containerd" test -S "$ENGINE_RUN/containerd.sock"
  if lacks_cap_sys_resource; then
    # A copy, for the engine may outlive this working tree.
    install -m 0755 "$HACK/engine/runc-without-cap" "$ENGINE_DATA/runc-without-cap"
    runtime=(--add-runtime "krt=$ENGINE_DATA/runc-without-cap" --default-runtime krt)
  fi
  # nofile: the nodes inherit the hard limit, and their containerd needs as much as there is.
  setsid dockerd --host "$ENGINE_HOST" --data-root "$ENGINE_DATA/docker" \
    --exec-root "$ENGINE_RUN/exec" --pidfile "$ENGINE_RUN/docker.pid" \
    --containerd "$ENGINE_RUN/containerd.sock" --storage-driver overlay2 --config-file "$ENGINE_RUN/daemon.json" \
    "${runtime[@]+"${runtime[@]}"}" >"$dockerd" 2>&1 </dev/null &
  await 60 dockerd "$dockerd" engine_answers "$ENGINE_HOST"
}

# Two scripts may find no engine at the same time; the second uses the one that the first has started.
engine_start_once() { engine_answers "$ENGINE_HOST" || engine_start; }

# engine_up: an engine that answers, and DOCKER_HOST set where it is ours.
engine_up() {
  engine_find
  if [[ $ENGINE != none ]]; then return 0; fi
  if ! root_on_debian; then
    die "no Docker engine answers${DOCKER_HOST:+ at $DOCKER_HOST}" \
      "start Docker (on Linux or macOS), or run as root on Debian, where hack/up can start one"
  fi
  log "No Docker engine answers; starting one (data: $ENGINE_DATA, sockets: $ENGINE_RUN)."
  debian_provide "$ENGINE_PACKAGES"
  step 'start the engine' with_lock engine engine_start_once
  ENGINE=ours
  export DOCKER_HOST=$ENGINE_HOST
}
