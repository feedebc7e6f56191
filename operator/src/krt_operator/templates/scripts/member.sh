#!/usr/bin/env bash
# PID 1 of a broker's, ZooKeeper server's or KRaft controller's container: starts java, outlives it and reports when and how it ended.
#
# usage: member.sh COMMAND ARGUMENT...
#
# Prints one JSON line per event on stdout: started, exited, held-down, released. While /run/krt/hold
# exists, the container runs without java (not ready, nothing listens). A crashed member stays down
# that way until its StatefulSet is scaled to 0, instead of being restarted by kubelet.
#
# Where java logged an error and failed, the termination message says which and how many starts in
# succession ended with the same one. Where it logged none, Kubernetes takes the end of the log.
set -uo pipefail

readonly run=/run/krt
readonly hold=$run/hold
# Written by log4j (errors only), and by this script; both outlive a restart of the container.
readonly errors=$run/errors.log
readonly failures=$run/failures
readonly termination_log=/dev/termination-log
readonly user_written=/data/user-written
# A line that begins with the full name of a class is that of an exception.
readonly exception='^(Caused by: )?([A-Za-z_][A-Za-z0-9_$]*[.])+[A-Z][A-Za-z0-9_$]*(: |$)'
readonly entry='^\[[^]]*\] [A-Z]+ (.*)$'
# A KRaft member shuts itself down after it and logs errors of that, too.
readonly fatal='Fatal error during [A-Za-z]+ startup'
stopping=0
interrupted=0
java=

report_event() { # report_event EVENT [MORE_JSON_FIELDS]
  printf '{"krt":"member","event":"%s","at":%s,"member":"%s"%s}\n' \
    "$1" "${EPOCHREALTIME/[.,]/}" "$KRT_MEMBER" "${2-}"
}

# shellcheck disable=SC2329  # called by the trap
stop() {
  stopping=1
  interrupted=1
  if [[ -n $java ]]; then
    kill -TERM "$java" 2>/dev/null
  fi
}
trap stop TERM INT

stay_down() {
  [[ -e $hold ]] || return 0
  report_event held-down
  while [[ -e $hold ]] && ((!stopping)); do
    # bash runs a trap only after a foreground command has ended.
    sleep 0.2 &
    wait $!
  done
  report_event released
}

# The error that ended java: the innermost exception of the entry that says so, else of the last one logged,
# else the last entry.
find_error() {
  local line thrown='' logged='' found=''
  [[ -s $errors ]] || return 0
  while IFS= read -r line; do
    if [[ $line =~ $exception ]]; then
      thrown=${line#Caused by: }
    elif [[ $line =~ $entry ]]; then
      [[ -z $found ]] || break
      logged=${BASH_REMATCH[1]}
      if [[ $logged =~ $fatal ]]; then
        found=1
        thrown=''
      fi
    fi
  done <"$errors"
  printf '%s' "${thrown:-$logged}"
}

report_failure() {
  local LC_ALL=C error count=1 earlier='' earlier_count=0
  error=$(find_error)
  # The message is JSON of at most 4096 bytes, of which Kubernetes keeps the end.
  error=${error//[^[:print:]]/ }
  error=${error:0:1000}
  [[ -n $error ]] || return 0
  if [[ -r $failures ]]; then
    { IFS= read -r earlier_count && IFS= read -r earlier; } <"$failures"
    [[ $earlier == "$error" ]] && count=$((earlier_count + 1))
  fi
  printf '%s\n%s\n' "$count" "$error" >"$failures"
  error=${error//\\/\\\\}
  error=${error//\"/\\\"}
  printf '{"krt":"member","failures":%s,"error":"%s"}\n' "$count" "$error" >"$termination_log"
}

stay_down
((stopping)) && exit 143

if [[ -n ${KRT_MYID-} ]]; then
  mkdir -p /data/zookeeper && printf '%s\n' "$KRT_MYID" >/data/zookeeper/myid || exit 1
fi

rm -f "$errors"

# What a tool of Kafka is run with before the member starts: NAME_arguments prints one argument a line, in
# quotes. Other processes see the arguments of a process, so java reads them from a pipe: one of them has a
# password in it.
# shellcheck disable=SC2329  # called by those that are called by name
scram_user() { # scram_user [MORE,]: what the user logs in with, as tools of Kafka take it
  printf '%s=[%spassword=%s]' "$KRT_SCRAM_MECHANISM" "${1-}" "$(<"$KRT_SCRAM_PASSWORD_FILE")"
}

# shellcheck disable=SC2329  # called by name
format_arguments() {
  printf '"%s"\n' kafka.tools.StorageTool format --ignore-formatted \
    --cluster-id "$KRT_CLUSTER_ID" --config "$KRT_FORMAT_FILE"
  [[ -n ${KRT_SCRAM_MECHANISM-} ]] || return 0
  printf '"%s"\n' --add-scram "$(scram_user "name=$KRT_SCRAM_USER,")"
}

# shellcheck disable=SC2329  # called by name
user_arguments() {
  printf '"%s"\n' kafka.admin.ConfigCommand --zookeeper "$KRT_ZOOKEEPER" \
    --zk-tls-config-file "$KRT_ZOOKEEPER_TLS_FILE" --alter --entity-type users \
    --entity-name "$KRT_SCRAM_USER" --add-config "$(scram_user)"
}

prepare() { # prepare NAME: runs the tool; where it fails, the member does not start
  local output code
  output=$(java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' \
    @<("$1_arguments") 2>&1)
  code=$?
  if [[ -n ${KRT_SCRAM_MECHANISM-} ]]; then
    # Kafka 4 shows the records that it writes, with the keys of the user; logs are evidence.
    output=$(grep -vE 'BootstrapMetadata|password=' <<<"$output")
  fi
  printf '%s\n' "$output"
  if ((stopping)); then exit 143; fi
  if ((code)); then
    output=${output//Exception in thread \"main\" /}
    printf '%s\n[%s] ERROR %s\n' "$output" "$1" "${output##*$'\n'}" >"$errors"
    report_failure
    exit "$code"
  fi
}

# The folders of a KRaft member carry the cluster's id before it starts. meta.properties is what Kafka
# writes last when it formats them; a member that is started again need not wait for another java.
if [[ -n ${KRT_CLUSTER_ID-} && ! -e $KRT_LOG_DIRECTORY/meta.properties ]]; then
  prepare format
fi
# In ZooKeeper mode, users are nodes of ZooKeeper. The file is on the volume of the broker: one that is
# started again has written its user.
if [[ -n ${KRT_ZOOKEEPER-} && ! -e $user_written ]]; then
  prepare user
  : >"$user_written"
fi

"$@" &
java=$!
printf '%s\n' "$java" >"$run/java.pid"
report_event started ",\"pid\":$java"

code=0
while :; do
  interrupted=0
  wait "$java"
  status=$?
  # 127: an earlier wait, which the trap interrupted, has already returned the exit code.
  ((status == 127)) || code=$status
  ((interrupted)) || break
done
report_event exited ",\"pid\":$java,\"exitCode\":$code"
rm -f "$run/java.pid"
# Above 128: ended by a signal, so what it logged before is not why.
((code > 0 && code < 128 && !stopping)) && report_failure

stay_down
exit "$code"
