#!/usr/bin/env bash
# Shows before anything is built that the evidence volume is one volume on every node: two pods on
# different nodes each write a file and wait for the other's.
#
# usage: preflight.sh MINE THEIRS
#
# Exit 0: shared and writable; 5: the other's file did not come; 6: not writable. The termination
# message says which, for the condition.
set -uo pipefail

readonly mine=$1 theirs=$2
readonly folder=$KRT_EVIDENCE/.preflight/$KRT_TEST_UID
# Seconds to wait: an NFS client may keep a listing for a minute (acdirmax).
readonly patience=65
umask 0002

tell() {
  printf '%s\n' "$1" >&2
  printf '%s\n' "$1" >/dev/termination-log
}

if ! mkdir -p "$folder" || ! printf '%s\n' "$KRT_POD" >"$folder/$mine"; then
  tell "user $(id -u) in group $(id -g) cannot write to the evidence volume"
  exit 6
fi
for ((SECONDS = 0; SECONDS < patience;)); do
  if [[ -s $folder/$theirs ]]; then
    # Each takes away what it waited for, which nobody else needs; the last one empties the folder.
    rm -f "$folder/$theirs"
    rmdir "$folder" 2>/dev/null
    tell "shared"
    exit 0
  fi
  sleep 0.1
done
tell "what one node wrote did not appear on another within $patience s"
exit 5
