# shellcheck shell=bash
# The Docker engine: the one that answers already, or, as root on Debian where none does, one of our
# own with a data root, sockets and a containerd that nobody else uses. Sourced; needs lib.sh.

# shellcheck source=hack/debian.sh
. "$HACK/debian.sh"

ENGINE_DATA=$CACHE/engine
# Under /run, so that nothing of it survives a reboot; named after the data it belongs to.
ENGINE_RUN=/run/krt-engine-$(printf '%s' "$CACHE" | sha256 | cut -c 1-8)
ENGINE_HOST=unix://$ENGINE_RUN/docker.sock
ENGINE_PACKAGES='docker.io iptables jq'
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

# engine_pids: the daemons and shims that carry our run directory in their command line.
engine_pids() {
  local proc words
  for proc in /proc/[0-9]*; do
    words=$({ tr '\0' ' ' <"$proc/cmdline"; } 2>/dev/null) || continue
    case $words in
      *dockerd*"$ENGINE_RUN/"* | *containerd*"$ENGINE_RUN/"*) echo "${proc#/proc/}" ;;
    esac
  done
}

gone() {
  local pid
  for pid in "$@"; do
    if kill -0 "$pid" 2>/dev/null; then return 1; fi
  done
}

# engine_end: ends what is left of our engine, by process id, and clears what it left behind.
engine_end() {
  local pids signal deadline
  for signal in TERM KILL; do
    pids=$(engine_pids)
    if [[ -z $pids ]]; then break; fi
    # shellcheck disable=SC2086  # a list of process ids
    kill "-$signal" $pids 2>/dev/null || :
    # 20 s: dockerd gives its containers 15 s to end.
    deadline=$((SECONDS + 20))
    # shellcheck disable=SC2086
    until gone $pids || ((SECONDS > deadline)); do sleep 0.2; done
  done
  local mount
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

# await SECONDS WHAT LOG COMMAND...: until the command succeeds, while the process started last lives.
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
  # An empty file of ours: without it dockerd would read the machine's /etc/docker/daemon.json.
  echo '{}' >"$ENGINE_RUN/daemon.json"
  printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >"$ENGINE_RUN/containerd.toml"
  # setsid and no inherited files: the engine outlives the script and the terminal that started it.
  setsid containerd --config "$ENGINE_RUN/containerd.toml" --root "$ENGINE_DATA/containerd" \
    --state "$ENGINE_RUN/containerd" --address "$ENGINE_RUN/containerd.sock" \
    >"$containerd" 2>&1 </dev/null &
  await 30 containerd "$containerd" test -S "$ENGINE_RUN/containerd.sock"
  if lacks_cap_sys_resource; then
    runtime=(--add-runtime "krt=$HACK/engine/runc-without-cap" --default-runtime krt)
  fi
  # nofile: the hard limit here is handed on to the nodes, whose containerd wants as much as there is.
  setsid dockerd --host "$ENGINE_HOST" --data-root "$ENGINE_DATA/docker" \
    --exec-root "$ENGINE_RUN/exec" --pidfile "$ENGINE_RUN/docker.pid" \
    --containerd "$ENGINE_RUN/containerd.sock" --storage-driver overlay2 --config-file "$ENGINE_RUN/daemon.json" \
    "${runtime[@]+"${runtime[@]}"}" >"$dockerd" 2>&1 </dev/null &
  await 60 dockerd "$dockerd" engine_answers "$ENGINE_HOST"
}

# Two scripts may have found no engine at the same time; the second finds the first one's.
engine_start_once() { engine_answers "$ENGINE_HOST" || engine_start; }

# engine_up: an engine that answers, and DOCKER_HOST set where it is ours.
engine_up() {
  engine_find
  if [[ $ENGINE != none ]]; then return 0; fi
  if ! root_on_debian; then
    die "no Docker engine answers${DOCKER_HOST:+ at $DOCKER_HOST}" \
      "start Docker (on Linux or macOS), or run as root on Debian, where hack/up can start one of its own"
  fi
  log "No Docker engine answers; starting one of our own (data: $ENGINE_DATA, sockets: $ENGINE_RUN)."
  debian_provide "$ENGINE_PACKAGES"
  step 'start the engine' with_lock engine engine_start_once
  ENGINE=ours
  export DOCKER_HOST=$ENGINE_HOST
}
