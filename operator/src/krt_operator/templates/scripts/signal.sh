#!/usr/bin/env bash
# Runs in an ephemeral container that shares the target container's process namespace: sends a signal
# to the process under test and reports the time, as JSON in the termination message and on stdout,
# which the recorder follows.
#
#   signal.sh KILL PROCESS [hold|release]
#   signal.sh STOP PROCESS
#   signal.sh CONT PROCESS [SECONDS]
#
# PROCESS  how the command of the process begins: java, python
# SECONDS  waits until the process is stopped, and then for this many seconds
# hold     the wrapper keeps running without the process until the pod is deleted
# release  the wrapper may exit once the report is written: it is process 1 of this namespace, and
#          its exit would end this script before the report
#
# Exit 0: done. 3: no such process. 4: the process cannot be signalled. 5: it survived SIGKILL, or
# did not stop. 6: it was never stopped.
set -u

signal=$1 process=$2 mode=${3:-}
run=/run/krt
report=/dev/termination-log
member=${KRT_MEMBER:-}

micros() { # EPOCHREALTIME has six decimals, after a comma or a point as the locale defines
  printf '%s' "${EPOCHREALTIME//[.,]/}"
}

report_event() { # report_event EVENT AT PID
  local line
  line=$(printf '{"krt":"member","event":"%s","at":%s,"member":"%s","pid":%s}' \
    "$1" "$2" "$member" "$3")
  printf '%s\n' "$line" >"$report"
  printf '%s\n' "$line"
}

fail() { # fail EXIT_CODE MESSAGE
  printf '%s\n' "$2" >"$report"
  printf '%s\n' "$2" >&2
  exit "$1"
}

find_process() {
  local dir command
  for dir in /proc/[0-9]*; do
    command=
    { IFS= read -r -d '' command <"$dir/cmdline"; } 2>/dev/null
    if [[ ${command##*/} == "$process"* ]]; then
      printf '%s' "${dir#/proc/}"
      return 0
    fi
  done
  return 1
}

state() { # state PID: its letter in /proc, empty where the process is gone
  local key word
  { while read -r key word _; do
    if [[ $key == State: ]]; then
      printf '%s' "$word"
      return
    fi
  done <"/proc/$1/status"; } 2>/dev/null
}

await_state() { # await_state PID LETTER: at most 10 s; a process that is gone counts as Z
  local try current
  for ((try = 0; try < 1000; try++)); do
    current=$(state "$1")
    [[ $2 == "$current" || ($2 == Z && -z $current) ]] && return 0
    sleep 0.01
  done
  return 1
}

nap() { # nap SECONDS: a read that times out; `sleep` would start a process each time
  read -rt "$1" -u "$never" || true
}

await_freeze() { # await_freeze PID: at most 40 s, longer than the controller waits for the freeze
  local try
  for ((try = 0; try < 800; try++)); do
    [[ $(state "$1") == T ]] && return 0
    nap 0.05
  done
  return 1
}

if [[ $signal == KILL && -n $mode ]]; then
  : >"$run/hold"
fi

pid=$(find_process) || fail 3 "no process $process to signal"
((pid != 1)) || fail 4 "process 1 of a namespace ignores signals sent from inside it"

if [[ $signal == CONT && -n $mode ]]; then
  exec {never}<> <(:)
  await_freeze "$pid" || fail 6 "process $pid was never stopped"
  nap "$mode"
fi

at=$(micros)
kill -s "$signal" "$pid" || fail 4 "signal $signal to process $pid was refused"

case $signal in
  KILL)
    report_event killed "$at" "$pid"
    # A zombie is dead: its parent has not read its exit code yet.
    await_state "$pid" Z || fail 5 "process $pid survived SIGKILL for 10 s"
    if [[ $mode == release ]]; then
      rm -f "$run/hold"
    fi
    ;;
  STOP)
    await_state "$pid" T || fail 5 "process $pid did not stop"
    report_event frozen "$at" "$pid"
    ;;
  CONT)
    report_event thawed "$at" "$pid"
    ;;
esac
exit 0
