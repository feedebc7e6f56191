#!/usr/bin/env bash
# Hands a reassignment to Kafka by Kafka's own tool, and says when Kafka had accepted it.
#
# usage: reassign.sh BOOTSTRAP
#
# KRT_MOVES holds the tool's JSON. Exit 0: accepted, the time as JSON in the termination message.
# Another code: refused, the tool's words in the termination message. Handing the same over again
# (--additional) changes nothing.
set -uo pipefail

readonly report=/dev/termination-log
readonly moves=/tmp/moves.json

printf '%s' "$KRT_MOVES" >"$moves" || exit 2
said=$(java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' \
  org.apache.kafka.tools.reassign.ReassignPartitionsCommand \
  --bootstrap-server "$1" --reassignment-json-file "$moves" --execute --additional 2>&1)
code=$?
printf '%s\n' "$said"
if ((code)); then
  printf '%s\n' "$said" | tail -c 2000 >"$report"
  exit "$code"
fi
printf '{"krt":"tool","event":"reassigning","at":%s}\n' "${EPOCHREALTIME//[.,]/}" >"$report"
