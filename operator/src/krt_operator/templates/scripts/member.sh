#!/usr/bin/env bash
# PID 1 of a Kafka or ZooKeeper container: starts java, outlives it and reports when and how it ended.
#
# usage: member.sh COMMAND ARGUMENT...
#
# Prints one JSON line per event on stdout: started, exited, held-down, released. While /run/krt/hold
# exists, the container runs without java (not ready, nothing listens). A crashed member stays down
# that way until its StatefulSet is scaled to 0, instead of being restarted by kubelet.
set -uo pipefail

readonly run=/run/krt
readonly hold=$run/hold
stopping=0
interrupted=0
java=

report_event() { # report_event EVENT [MORE_JSON_FIELDS]
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

stay_down() {
  [[ -e $hold ]] || return 0
  report_event held-down
  while [[ -e $hold ]] && ((!stopping)); do
    # bash runs a trap only after a foreground command has ended.
    sleep 0.2 &
    wait $!
  done
  report_event released
}

stay_down
((stopping)) && exit 143

if [[ -n ${KRT_MYID-} ]]; then
  mkdir -p /data/zookeeper && printf '%s\n' "$KRT_MYID" >/data/zookeeper/myid || exit 1
fi

"$@" &
java=$!
printf '%s\n' "$java" >"$run/java.pid"
report_event started ",\"pid\":$java"

code=0
while :; do
  interrupted=0
  wait "$java"
  status=$?
  # 127: an earlier wait, which the trap interrupted, has already returned the exit code.
  ((status == 127)) || code=$status
  ((interrupted)) || break
done
report_event exited ",\"pid\":$java,\"exitCode\":$code"
rm -f "$run/java.pid"

stay_down
exit "$code"
