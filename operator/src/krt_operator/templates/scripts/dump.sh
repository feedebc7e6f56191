#!/usr/bin/env bash
# Prints what the segments of a broker's replicas hold, by Kafka's own DumpLogSegments, into a pipe
# whose other end turns it into evidence.
#
# usage: dump.sh FOLDER PIPE TOPIC...
#
# FOLDER is the broker's log.dirs, PIPE is made by the reader. Around the tool's own lines:
#   krt partition TOPIC NUMBER SEGMENTS   what follows is of this replica
#   krt end CODE [WHY]                    the tool's exit code, and its last word where that is not 0
#   krt done                              there are no more replicas
# One call a replica: the tool gives up at the first damaged batch, and the others are whole.
set -uo pipefail

readonly folder=$1 pipe=$2
shift 2
readonly said=/tmp/said

# why: the exception the tool ended by, or the last thing it said.
why() {
  local line last=
  while IFS= read -r line; do
    last=$line
    [[ $line == Exception* ]] && break
  done <"$said"
  printf '%s' "${last:0:500}"
}

until [[ -p $pipe ]]; do
  sleep 0.1
done
exec >"$pipe"
for topic; do
  for replica in "$folder/$topic"-*; do
    number=${replica#"$folder/$topic-"}
    # Also there: replicas being deleted, and those of topics whose names go on.
    [[ -d $replica && $number =~ ^[0-9]+$ ]] || continue
    segments=("$replica"/*.log)
    printf 'krt partition %s %s %s\n' "$topic" "$number" "${#segments[@]}"
    java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' \
      kafka.tools.DumpLogSegments --print-data-log --max-message-size 104857600 \
      --files "$(IFS=, && printf '%s' "${segments[*]}")" 2>"$said"
    code=$?
    if ((code)); then
      printf '\nkrt end %s %s\n' "$code" "$(why)"
      # For whoever reads the container's log.
      cat "$said" >&2
    else
      printf '\nkrt end 0\n'
    fi
  done
done
printf 'krt done\n'
