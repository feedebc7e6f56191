#!/usr/bin/env bash
# The registry beside the cluster, as kind documents one: a container the nodes know as
# krt-registry:5000 and this machine as localhost:5001 ($KRT_REGISTRY_PORT).
#   hack/registry.sh up        starts it, pulled or built; needs the engine only
#   hack/registry.sh connect   joins it to the cluster's network and configures every node to use it
#   hack/registry.sh down      deletes it, unless another cluster uses it (its images are kept)
#   hack/registry.sh purge     deletes its images too
#   hack/registry.sh mirror    serves what was built under the names that are pulled elsewhere, and
#                              prints the settings that make hack/up and hack/images.sh pull them
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/engine.sh
. "$HACK/engine.sh"
engine_up
# shellcheck source=hack/images/lib.sh
. "$HACK/images/lib.sh"

LABEL=kafkaresilience.dev/part=registry
# The network kind puts its nodes on.
NETWORK=kind

image() {
  local base reference
  if can_pull "$REGISTRY_IMAGE"; then
    echo "$REGISTRY_IMAGE"
    return
  fi
  base=$("$HACK/rootfs.sh")
  reference=krt/registry:$(sources_key "$base" hack/images/registry)
  build_image "$reference" "$IMAGES/registry" --build-arg "BASE=$base"
  echo "$reference"
}

ours() { [[ -n $(docker ps --all --quiet --filter "name=^$REGISTRY_NAME\$" --filter "label=$LABEL" "$@") ]]; }

refuse_foreign() {
  if docker container inspect "$REGISTRY_NAME" >/dev/null 2>&1 && ! ours; then
    die "a container named $REGISTRY_NAME exists that hack/registry.sh has not created" \
      "delete it or rename it: docker rename $REGISTRY_NAME something-else"
  fi
}

# In plain bash: neither the image nor this machine need have an HTTP client.
answers() {
  local status
  status=$(
    exec 3<>"/dev/tcp/127.0.0.1/$REGISTRY_HOST_PORT" || exit
    printf 'GET /v2/ HTTP/1.0\r\n\r\n' >&3
    head -n 1 <&3
  ) 2>/dev/null || return 1
  [[ $status == *' 200 '* ]]
}

port_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$REGISTRY_HOST_PORT") 2>/dev/null; }

start() {
  local image
  image=$(image)
  docker rm --force "$REGISTRY_NAME" >/dev/null 2>&1 || :
  # Loopback only: whoever reaches the port may write to it.
  if port_taken; then
    die "port $REGISTRY_HOST_PORT of this machine is taken" 'set KRT_REGISTRY_PORT to a free one'
  fi
  docker run --detach --name "$REGISTRY_NAME" --label "$LABEL" --restart no \
    --publish "127.0.0.1:$REGISTRY_HOST_PORT:5000" --volume "$REGISTRY_NAME:/var/lib/registry" "$image"
  local deadline=$((SECONDS + 30))
  until answers; do
    if ((SECONDS > deadline)) || ! ours --filter status=running; then
      docker logs --tail 20 "$REGISTRY_NAME"
      die 'the registry ended or does not answer' 'read its log above'
    fi
    sleep 0.1
  done
}

up() {
  refuse_foreign
  if ours --filter status=running; then return 0; fi
  step "start the registry at $REGISTRY_ON_HOST" start
}

configure_nodes() {
  local node
  for node in $(docker ps --filter "label=io.x-k8s.kind.cluster=$CLUSTER" --format '{{.Names}}'); do
    # shellcheck disable=SC2016  # expanded in the node
    docker exec --interactive "$node" sh -euc '
      mkdir -p "/etc/containerd/certs.d/$1"
      cat >"/etc/containerd/certs.d/$1/hosts.toml"' configure "$REGISTRY_IN_CLUSTER" <<EOT
server = "http://$REGISTRY_IN_CLUSTER"

[host."http://$REGISTRY_IN_CLUSTER"]
  capabilities = ["pull", "resolve"]
EOT
  done
}

connect() {
  up
  if [[ -z $(docker network inspect "$NETWORK" --format \
    "{{range .Containers}}{{if eq .Name \"$REGISTRY_NAME\"}}yes{{end}}{{end}}") ]]; then
    docker network connect "$NETWORK" "$REGISTRY_NAME"
  fi
  step 'nodes use the registry' configure_nodes
}

# users: other clusters in this engine whose nodes use the registry, whoever created them.
users() {
  local node
  docker ps --filter label=io.x-k8s.kind.role=control-plane \
    --format '{{.Names}} {{.Label "io.x-k8s.kind.cluster"}}' | while read -r node cluster; do
    if [[ $cluster != "$CLUSTER" ]] &&
      docker exec "$node" test -e "/etc/containerd/certs.d/$REGISTRY_IN_CLUSTER/hosts.toml" </dev/null; then
      echo "$cluster"
    fi
  done
}

down() {
  local users
  refuse_foreign
  users=$(users | tr '\n' ' ')
  if [[ -n $users ]]; then
    log "The registry is kept for the clusters: $users"
    return 0
  fi
  docker rm --force --volumes "$REGISTRY_NAME" >/dev/null 2>&1 || :
}

# serve IMAGE NAME: pushes an image built here as NAME and removes that name here, so that it is pulled.
serve() {
  docker tag "$1" "$REGISTRY_ON_HOST/$2"
  docker push --quiet "$REGISTRY_ON_HOST/$2"
  docker rmi "$REGISTRY_ON_HOST/$2"
}

# newest REPOSITORY: prints the reference of its image that was built last.
newest() {
  local reference
  reference=$(docker images --format '{{.Repository}}:{{.Tag}}' "$1" | head -n 1)
  [[ -n $reference ]] || die "there is no image $1 to serve" 'run KRT_IMAGES=build hack/up and hack/images.sh first'
  echo "$reference"
}

mirror() {
  local node kafka kraft
  up
  node=$(newest krt/node)
  kafka=$(newest "$REGISTRY_ON_HOST/krt-kafka")
  kraft=$(newest "$REGISTRY_ON_HOST/krt-kafka-kraft")
  step 'serve Debian' serve "$("$HACK/rootfs.sh")" "debian:$DEBIAN_SUITE-slim"
  step 'serve the registry' serve "$(newest krt/registry)" registry:2.8.3
  step "serve Kafka $KAFKA_VERSION" serve "$kafka" "apache/kafka:$KAFKA_VERSION"
  step "serve Kafka $KAFKA_KRAFT_VERSION" serve "$kraft" "apache/kafka:$KAFKA_KRAFT_VERSION"
  step 'serve the node image' serve "$node" "kindest/node:$KUBERNETES_VERSION"
  cat <<EOT
export KRT_IMAGES=pull
export KRT_DEBIAN_IMAGE=$REGISTRY_ON_HOST/debian:$DEBIAN_SUITE-slim
export KRT_REGISTRY_IMAGE=$REGISTRY_ON_HOST/registry:2.8.3
export KRT_KAFKA_IMAGE=$REGISTRY_IN_CLUSTER/apache/kafka:$KAFKA_VERSION
export KRT_KAFKA_KRAFT_IMAGE=$REGISTRY_IN_CLUSTER/apache/kafka:$KAFKA_KRAFT_VERSION
export KRT_NODE_IMAGE=$REGISTRY_ON_HOST/kindest/node:$KUBERNETES_VERSION
EOT
}

case ${1:-} in
  up | connect | down | mirror) "$1" ;;
  purge)
    down
    docker volume rm --force "$REGISTRY_NAME" >/dev/null
    ;;
  *) die "hack/registry.sh has the commands up, connect, down, purge and mirror, not '${1:-}'" ;;
esac
