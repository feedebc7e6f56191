#!/usr/bin/env bash
# Submits a reassignment with Kafka's own tool and reports when it did, once Kafka has accepted it.
#
# usage: reassign.sh BOOTSTRAP [LOGIN]
#
# LOGIN is a file with the settings of a client that logs in.
# KRT_MOVES holds the tool's JSON. Exit 0: accepted, with the time as JSON in the termination
# message. Any other code: refused, with the tool's output in the termination message. Submitting the
# same reassignment again (--additional) changes nothing.
set -uo pipefail

readonly report=/dev/termination-log
readonly moves=/tmp/moves.json

login=()
[[ -z ${2-} ]] || login=(--command-config "$2")
readonly login

printf '%s' "$KRT_MOVES" >"$moves" || exit 2
# Before the tool ends, which takes longer than to move replicas that have next to no data.
at=${EPOCHREALTIME//[.,]/}
output=$(java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' \
  org.apache.kafka.tools.reassign.ReassignPartitionsCommand \
  --bootstrap-server "$1" "${login[@]}" --reassignment-json-file "$moves" --execute --additional 2>&1)
code=$?
printf '%s\n' "$output"
if ((code)); then
  printf '%s\n' "$output" | tail -c 2000 >"$report"
  exit "$code"
fi
printf '{"krt":"tool","event":"reassigning","at":%s}\n' "$at" >"$report"
