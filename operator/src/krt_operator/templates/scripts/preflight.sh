#!/usr/bin/env bash
# Checks before anything is built that the evidence volume is shared by all nodes: two pods on
# different nodes each write a file and wait for the file of the other pod.
#
# usage: preflight.sh OWN OTHER
#
# Exit 0: shared and writable; 6: not writable. The termination message is shown in a condition.
# The script waits for the other file without a limit: only the controller sees whether the other
# pod runs, and since when.
set -uo pipefail

readonly own=$1 other=$2
readonly folder=$KRT_EVIDENCE/.preflight/$KRT_TEST_UID
umask 0002

report() {
  printf '%s\n' "$1" >&2
  printf '%s\n' "$1" >/dev/termination-log
}

if ! mkdir -p "$folder" || ! printf '%s\n' "$KRT_POD" >"$folder/$own"; then
  report "user $(id -u) in group $(id -g) cannot write to the evidence volume"
  exit 6
fi
until [[ -s $folder/$other ]]; do
  sleep 0.1
done
# Each pod removes the file it waited for; the last one removes the empty folder.
rm -f "$folder/$other"
rmdir "$folder" 2>/dev/null
report "shared"
