#!/usr/bin/env bash
# Startup probe of a broker: succeeds once the broker has the cluster's metadata from the controller.
#
# usage: serves.sh PORT
#
# Until then a broker that has just started answers that there are no brokers and no topics, which
# librdkafka takes for a deleted topic: it drops every record that it holds for the topic.
set -euo pipefail

exec 3<>"/dev/tcp/127.0.0.1/$1"
# A Metadata request, version 1, without topics: length 14, key 3, version 1, correlation id 0, no
# client id, an empty array. The answer begins with its length, the id, and the number of brokers.
printf '\000\000\000\016\000\003\000\001\000\000\000\000\377\377\000\000\000\000' >&3
read -r -a bytes <<<"$(head -c 12 <&3 | od -An -v -tu1)"
((${#bytes[@]} == 12 && bytes[8] + bytes[9] + bytes[10] + bytes[11] > 0))
