#!/usr/bin/env bash
# Startup probe of a broker: succeeds once the broker has the cluster's metadata from the controller.
#
# usage: serves.sh PORT [ID]
#
# With ID, the broker must be in its metadata itself: a KRaft controller lists a broker that has
# registered only when it is not fenced any more.
# Until then a broker that has just started answers that there are no brokers and no topics, which
# librdkafka takes for a deleted topic: it drops every record that it holds for the topic.
set -euo pipefail

readonly id=${2:-}
exec 3<>"/dev/tcp/127.0.0.1/$1"
# A Metadata request, version 1, without topics: length 14, key 3, version 1, correlation id 0, no
# client id, an empty array. The answer begins with its length, the id, and the number of brokers.
printf '\000\000\000\016\000\003\000\001\000\000\000\000\377\377\000\000\000\000' >&3

bytes=()
take() { # take COUNT: the next bytes of the answer, as numbers
  read -r -a bytes <<<"$(head -c "$1" <&3 | od -An -v -tu1 | tr '\n' ' ')"
  ((${#bytes[@]} == $1))
}
number() { # number INDEX: the four bytes from there
  printf '%s' $((bytes[$1] << 24 | bytes[$1 + 1] << 16 | bytes[$1 + 2] << 8 | bytes[$1 + 3]))
}

take 4
take "$(number 0)"
count=$(number 4)
((count > 0))
[[ -n $id ]] || exit 0
at=8
for ((broker = 0; broker < count; broker++)); do
  [[ $(number "$at") != "$id" ]] || exit 0
  # Past its id, its host's length and host, its port, and its rack's length and rack.
  at=$((at + 6 + (bytes[at + 4] << 8 | bytes[at + 5]) + 4))
  rack=$((bytes[at] << 8 | bytes[at + 1]))
  at=$((at + 2 + (rack == 65535 ? 0 : rack)))
done
exit 1
