# shellcheck shell=bash disable=SC2034
# What the scripts in hack/ share: where things lie, and how steps are reported, timed and logged.
# Sourced, never run. Works with bash 3.2, which is what macOS has.

if [[ -n ${KRT_LIB:-} ]]; then return 0; fi
KRT_LIB=1
HACK=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO=$(dirname "$HACK")
# shellcheck source=hack/versions.env
. "$HACK/versions.env"

CLUSTER=${KRT_CLUSTER:-krt}
CACHE=${KRT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/krt}
STATE_ROOT=${KRT_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/krt}
STATE=$STATE_ROOT/$CLUSTER
LOGS=$STATE/logs
KUBECONFIG_FILE=$STATE/kubeconfig
EVIDENCE=$STATE/evidence
MARKER=$STATE/marker
BIN=$CACHE/bin

if [[ ! $CLUSTER =~ ^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$ ]]; then
  echo "KRT_CLUSTER is '$CLUSTER': use lower case letters, digits and dashes, at most 32." >&2
  exit 2
fi

log() { printf '%s\n' "$*" >&2; }

# die WHAT REMEDY: ends the script with what was wrong and what to do about it.
die() {
  log "error: $1"
  if [[ -n ${2:-} ]]; then log "  remedy: $2"; fi
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# step TITLE COMMAND...: runs the command with its output in a log, reports how long it took, shows
# the last line of the log every 20 s, and on failure the log's tail and where the rest is. Not to be
# used in a condition (`if step`, `step ||`): there bash ignores `set -e` within the command.
step() {
  local title=$1 slug started=$SECONDS file ticker rc=0
  shift
  slug=$(printf '%s' "$title" | tr -cs 'A-Za-z0-9.\n' '-')
  file=$LOGS/$slug.log
  mkdir -p "$LOGS"
  : >"$file"
  log "  .. $title"
  (
    trap 'kill "$pause" 2>/dev/null; exit 0' TERM
    while kill -0 "$$" 2>/dev/null; do
      sleep 20 &
      pause=$!
      wait "$pause"
      log "     $title: $((SECONDS - started)) s: $(tail -n 1 "$file" | tr -d '\r' | cut -c 1-120)"
    done
  ) &
  ticker=$!
  # A subshell of its own, so that `set -e` holds inside the command although we look at its result.
  set +e
  (
    set -Eeuo pipefail
    "$@"
  ) >"$file" 2>&1
  rc=$?
  set -e
  kill "$ticker" 2>/dev/null || :
  wait "$ticker" 2>/dev/null || :
  if ((rc != 0)); then
    log "FAILED $title after $((SECONDS - started)) s (exit $rc). The end of $file:"
    tail -n 30 "$file" | sed 's/^/    | /' >&2
    return "$rc"
  fi
  log "  ok $title ($((SECONDS - started)) s)"
}

# end_tree PID: ends a process and what it started.
end_tree() {
  local child
  for child in $(pgrep -P "$1" || :); do end_tree "$child"; done
  kill "$1" 2>/dev/null || :
}

# side_by_side COMMAND...: runs functions or scripts at once and fails if any of them failed.
side_by_side() {
  local pids='' job rc=0
  # Jobs of a script do not receive an interrupt from the keyboard by themselves.
  trap 'for job in $pids; do end_tree "$job"; done; exit 130' INT TERM
  for job in "$@"; do
    # shellcheck disable=SC2086  # a job is a command with its words
    $job &
    pids="$pids $!"
  done
  for job in $pids; do wait "$job" || rc=1; done
  trap - INT TERM
  return "$rc"
}

sha256() {
  if have sha256sum; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# content_key PATH... : one short key of the contents (and names) of files and folders, and of
# whatever else comes in on standard input when the first argument is `-`.
content_key() {
  {
    if [[ $1 == - ]]; then
      cat
      shift
    fi
    local path
    for path in "$@"; do
      (cd "$HACK" && find "${path#"$HACK"/}" -type f | LC_ALL=C sort | while read -r f; do sha256 "$f"; done)
    done
  } | sha256 | cut -c 1-12
}

# fresh_tmp NAME: an empty folder to build in; what a killed build left is removed. Only while holding the
# lock of what is built.
fresh_tmp() {
  mkdir -p "$CACHE/tmp"
  rm -rf "$CACHE/tmp/$1".*
  mktemp -d "$CACHE/tmp/$1.XXXXXX"
}

# publish TMP FINAL: gives a finished entry its name; the second of two builds keeps the first one's.
publish() {
  if [[ -e $2 ]]; then rm -rf "$1"; else mv "$1" "$2"; fi
}

# lock_descriptor [--nonblock]: takes the lock of the file that is open as descriptor 8. It belongs to the
# open file, so it outlives the program that takes it, and the kernel releases it whatever becomes of us.
# macOS has no flock, but perl.
lock_descriptor() {
  if have flock; then
    flock "$@" 8
    return
  fi
  if ! have perl; then
    die "neither flock nor perl is on PATH, one of which takes locks" "install util-linux, or perl"
  fi
  # shellcheck disable=SC2016  # perl's variables
  perl -MFcntl=:flock -e '
    open(my $file, ">&=", 8) or die "descriptor 8: $!\n";
    exit !flock($file, LOCK_EX | (@ARGV ? LOCK_NB : 0));
  ' -- "$@"
}

# with_lock NAME COMMAND...: runs the command while no other process of this project has the lock.
with_lock() {
  local name=$1
  shift
  mkdir -p "$CACHE/locks"
  (
    exec 8>"$CACHE/locks/$name.flock"
    if ! lock_descriptor --nonblock; then
      log "  waiting for another process that does the same work ($CACHE/locks/$name.flock)"
      lock_descriptor || exit
    fi
    (
      # What the command leaves running must not keep the lock.
      exec 8>&-
      set -e
      "$@"
    )
  )
}
