#!/usr/bin/env bash
# Prints what the segments of a broker's replicas hold, by Kafka's own DumpLogSegments, into a pipe
# whose reader writes it as evidence.
#
# usage: dump.sh FOLDER PIPE TOPIC...
#
# FOLDER is the broker's log.dirs, PIPE is created by the reader. Around the tool's own lines:
#   krt partition TOPIC NUMBER SEGMENTS   the following lines are of this replica
#   krt end CODE [ERROR]                  the tool's exit code, and its error where that is not 0
#   krt done                              there are no more replicas
# The tool runs once for each replica: it stops at the first damaged batch, and the other replicas
# may be intact.
set -uo pipefail

readonly folder=$1 pipe=$2
shift 2
readonly errors=/tmp/errors

# last_error: the exception that ended the tool, or the last line it printed.
last_error() {
  local line last=
  while IFS= read -r line; do
    last=$line
    [[ $line == Exception* ]] && break
  done <"$errors"
  printf '%s' "${last:0:500}"
}

# The tool moved to another package with Kafka 4.3.
tool=kafka.tools.DumpLogSegments
for jar in /opt/kafka/libs/kafka_2*.jar; do
  if [[ $jar =~ kafka_[0-9.]+-([0-9]+)\.([0-9]+) ]] &&
    ((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2] >= 4003)); then
    tool=org.apache.kafka.tools.DumpLogSegments
  fi
done
readonly tool

until [[ -p $pipe ]]; do
  sleep 0.1
done
exec >"$pipe"
for topic; do
  for replica in "$folder/$topic"-*; do
    number=${replica#"$folder/$topic-"}
    # The pattern also matches replicas that are being deleted, and topics with a longer name.
    [[ -d $replica && $number =~ ^[0-9]+$ ]] || continue
    segments=("$replica"/*.log)
    printf 'krt partition %s %s %s\n' "$topic" "$number" "${#segments[@]}"
    java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' \
      "$tool" --print-data-log --max-message-size 104857600 \
      --files "$(IFS=, && printf '%s' "${segments[*]}")" 2>"$errors"
    code=$?
    if ((code)); then
      printf '\nkrt end %s %s\n' "$code" "$(last_error)"
      # Also to the container's log.
      cat "$errors" >&2
    else
      printf '\nkrt end 0\n'
    fi
  done
done
printf 'krt done\n'
