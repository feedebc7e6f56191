#!/usr/bin/env bash
# Shows before anything is built that the evidence volume is one volume on every node: two pods on
# different nodes each write a file and wait for the other's.
#
# usage: preflight.sh MINE THEIRS
#
# Exit 0: shared and writable; 6: not writable. The termination message says which, for the condition.
# For the other's file it waits as long as it is let: only the controller sees whether the other pod
# runs, and since when.
set -uo pipefail

readonly mine=$1 theirs=$2
readonly folder=$KRT_EVIDENCE/.preflight/$KRT_TEST_UID
umask 0002

tell() {
  printf '%s\n' "$1" >&2
  printf '%s\n' "$1" >/dev/termination-log
}

if ! mkdir -p "$folder" || ! printf '%s\n' "$KRT_POD" >"$folder/$mine"; then
  tell "user $(id -u) in group $(id -g) cannot write to the evidence volume"
  exit 6
fi
until [[ -s $folder/$theirs ]]; do
  sleep 0.1
done
# Each takes away what it waited for, which nobody else needs; the last one empties the folder.
rm -f "$folder/$theirs"
rmdir "$folder" 2>/dev/null
tell "shared"
