#!/usr/bin/env bash
# Runs in an ephemeral container that shares the target container's process namespace: sends a signal
# to the process under test and reports the time, as JSON in the termination message and on stdout,
# which the recorder follows.
#
#   signal.sh KILL PROCESS [hold|release]
#   signal.sh STOP PROCESS
#   signal.sh CONT PROCESS [SECONDS]
#
# PROCESS  how the command of the process begins: java, python. Where KRT_ARGUMENT is set, one of its
#          arguments must be that: a container of somebody else may run several of the name
# SECONDS  waits until the process is stopped, and then for this many seconds
# hold     the wrapper keeps running without the process until the pod is deleted
# release  the wrapper may exit once the report is written: it is process 1 of this namespace, and
#          its exit would end this script before the report
#
# KRT_NOT_AFTER, where it is set, is the time until which a process may be killed or stopped, in
# microseconds since 1970. A container that starts later, because its image had to be pulled, comes
# when nobody waits for its report any more: what it stopped would never be continued.
#
# The report of a kill is written before the signal: where process 1 ends with the process, this
# script ends at that moment, too.
#
# Exit 0: done. 3: no such process, or several. 4: the process cannot be signalled, or it is too late. 5: it survived
# SIGKILL, or did not stop. 6: it was never stopped.
set -u

signal=$1 process=$2 mode=${3:-}
run=/run/krt
report=/dev/termination-log
member=${KRT_MEMBER:-}
argument=${KRT_ARGUMENT:-}
described=$process${argument:+ with argument $argument}

micros() { # EPOCHREALTIME has six decimals, after a comma or a point as the locale defines
  local now=${EPOCHREALTIME:-$(date +%s.%6N)} # bash 4 has none
  printf '%s' "${now//[.,]/}"
}

format_event() { # format_event EVENT AT PID
  printf '{"krt":"member","event":"%s","at":%s,"member":"%s","pid":%s}\n' \
    "$1" "$2" "$member" "$3"
}

report_event() { # report_event EVENT AT PID
  format_event "$@" >"$report"
  format_event "$@"
}

fail() { # fail EXIT_CODE MESSAGE
  printf '%s\n' "$2" >"$report"
  printf '%s\n' "$2" >&2
  exit "$1"
}

matches() { # matches DIRECTORY: whether it is that of the process
  local -a words=()
  local word
  { mapfile -d '' -t words <"$1/cmdline"; } 2>/dev/null
  [[ ${words[0]+set} && ${words[0]##*/} == "$process"* ]] || return 1
  [[ -n $argument ]] || return 0
  for word in "${words[@]:1}"; do
    [[ $word == "$argument" ]] && return 0
  done
  return 1
}

find_processes() { # into the array pids
  local dir
  pids=()
  for dir in /proc/[0-9]*; do
    if matches "$dir"; then
      pids+=("${dir#/proc/}")
    fi
  done
}

field() { # field PID NAME: its first word in /proc, empty where the process is gone
  local key word
  { while read -r key word _; do
    if [[ $key == "$2:" ]]; then
      printf '%s' "$word"
      return
    fi
  done <"/proc/$1/status"; } 2>/dev/null
}

state() { # state PID: its letter in /proc, empty where the process is gone
  field "$1" State
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

if [[ -n ${KRT_NOT_AFTER:-} && $signal != CONT ]] && (($(micros) > KRT_NOT_AFTER)); then
  fail 4 "the container started after the fault had been given up, so $described got no signal: its \
image was pulled late, or the clock of the node is ahead"
fi

if [[ $signal == KILL && -n $mode ]]; then
  : >"$run/hold"
fi

find_processes
((${#pids[@]})) || fail 3 "no process $described to signal"
[[ -z $argument ]] || ((${#pids[@]} == 1)) || fail 3 "several processes $described: ${pids[*]}"
pid=${pids[0]}
((pid != 1)) || fail 4 "$process is process 1 of its container, and that ignores signals sent from \
inside; start it below an init such as tini, or set shareProcessNamespace in the pod"

if [[ $signal == CONT && -n $mode ]]; then
  exec {never}<> <(:)
  await_freeze "$pid" || fail 6 "process $pid was never stopped"
  nap "$mode"
fi

at=$(micros)
[[ $signal != KILL ]] || format_event killed "$at" "$pid" >"$report"
kill -s "$signal" "$pid" || fail 4 "signal $signal to process $pid was refused: this script has user \
$UID, the process $(field "$pid" Uid)"

case $signal in
  KILL)
    format_event killed "$at" "$pid"
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
