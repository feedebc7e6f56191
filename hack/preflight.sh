# shellcheck shell=bash
# What a cluster needs of the machine, checked before anything is created. Sourced; needs lib.sh.
# The figures were measured on two cores with the commands named in docs/how-to/clusters.md.

# GiB of disk: 18 in the volumes of seven nodes (our images in each), 5 of images in the engine, evidence.
# A build's caches (10, with the tools) are deleted before the nodes exist.
DISK_GIB=25
# GiB of memory: seven nodes, a run of the sample and its scoring.
MEMORY_GIB=6
# inotify, for root's processes in all containers: seven idle nodes have 122 instances (the kernel's usual
# limit is 128) and 1 400 watches, and every pod adds some.
INOTIFY_INSTANCES=512
INOTIFY_WATCHES=65536

free_gib() { df -Pk "$1" | awk 'NR == 2 {print int($4 / 1048576)}'; }

check_disk() {
  local needed=$1 folder=$2 there
  mkdir -p "$folder"
  there=$(free_gib "$folder")
  if ((there < needed)); then
    die "$folder has $there GiB free, and $needed GiB are needed" \
      "free some, or put the caches elsewhere: KRT_CACHE=/some/where KRT_STATE=/some/where hack/up"
  fi
}

check_memory() {
  local there
  if [[ -r /proc/meminfo ]]; then
    there=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)
  else
    # Docker Desktop's virtual machine, not the computer around it, is what counts.
    there=$(docker info --format '{{.MemTotal}}' | awk '{print int($1 / 1073741824)}')
  fi
  if ((there < MEMORY_GIB)); then
    die "$there GiB of memory are free, and $MEMORY_GIB GiB are needed" \
      'end other programs, or give Docker more memory (Docker Desktop: Settings, Resources)'
  fi
}

check_inotify() {
  local name needed present file
  for name in instances:$INOTIFY_INSTANCES watches:$INOTIFY_WATCHES; do
    needed=${name#*:}
    name=max_user_${name%:*}
    file=/proc/sys/fs/inotify/$name
    # Not Linux: Docker's virtual machine has limits of its own, which its makers have raised.
    if [[ ! -r $file ]]; then continue; fi
    present=$(cat "$file")
    if ((present >= needed)); then continue; fi
    if [[ $(id -u) == 0 && -w $file ]] && echo "$needed" 2>/dev/null >"$file"; then
      log "  raised fs.inotify.$name from $present to $needed (until the next boot)"
    else
      die "fs.inotify.$name is $present, and seven nodes need $needed" "sudo sysctl fs.inotify.$name=$needed"
    fi
  done
}

# preflight: after engine_find.
preflight() {
  local data=$CACHE
  if [[ $ENGINE == given ]]; then data=$(docker info --format '{{.DockerRootDir}}'); fi
  # The engine's data may be in a virtual machine (Docker Desktop), or not ours to look at.
  if [[ $data == "$CACHE" || ! -r $data ]]; then
    check_disk "$DISK_GIB" "$CACHE"
  else
    check_disk "$DISK_GIB" "$data"
  fi
  check_memory
  check_inotify
}
