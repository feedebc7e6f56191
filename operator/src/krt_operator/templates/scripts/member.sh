#!/usr/bin/env bash
# PID 1 of a Kafka or ZooKeeper container: starts java, outlives it, says when it ended and how.
#
# usage: member.sh COMMAND ARGUMENT...
#
# Prints one JSON line an event on stdout: started, exited, held-down, released. While /run/krt/hold
# exists the container stays up without java (not ready, nothing listens), so that a crashed member
# can be kept down until its StatefulSet is scaled to 0 instead of being restarted by kubelet.
set -uo pipefail

readonly run=/run/krt
readonly hold=$run/hold
stopping=0
interrupted=0
java=

say() {
  printf '{"krt":"member","event":"%s","at":%s,"member":"%s"%s}\n' \
    "$1" "${EPOCHREALTIME/[.,]/}" "$KRT_MEMBER" "${2-}"
}

# shellcheck disable=SC2329  # called by the trap
stop() {
  stopping=1
  interrupted=1
  if [[ -n $java ]]; then
    kill -TERM "$java" 2>/dev/null
  fi
}
trap stop TERM INT

stay_held() {
  [[ -e $hold ]] || return 0
  say held-down
  while [[ -e $hold ]] && ((!stopping)); do
    # A foreground sleep would keep bash from the trap until it ends.
    sleep 0.2 &
    wait $!
  done
  say released
}

stay_held
((stopping)) && exit 143

if [[ -n ${KRT_MYID-} ]]; then
  mkdir -p /data/zookeeper && printf '%s\n' "$KRT_MYID" >/data/zookeeper/myid || exit 1
fi

"$@" &
java=$!
printf '%s\n' "$java" >"$run/java.pid"
say started ",\"pid\":$java"

code=0
while :; do
  interrupted=0
  wait "$java"
  now=$?
  # 127: java was already waited for, the trap came in between; the first answer counts.
  ((now == 127)) || code=$now
  ((interrupted)) || break
done
say exited ",\"pid\":$java,\"exitCode\":$code"
rm -f "$run/java.pid"

stay_held
exit "$code"
