# shellcheck shell=bash
# The kind cluster: what state it is in, and how to make and end it. Sourced; needs lib.sh,
# engine.sh, and the tools on PATH.
#
# $STATE/marker says what we made. It is written before the first container is, so that containers
# of a cluster without a marker are somebody else's, and a half-made cluster is known as ours.

KIND_LABEL=io.x-k8s.kind.cluster=$CLUSTER

node_containers() { docker ps --quiet --filter "label=$KIND_LABEL" "$@"; }

marker() { sed -n "s/^$1=//p" "$MARKER" 2>/dev/null; }

# write_marker KEY=VALUE...: what we made, replaced as a whole.
write_marker() {
  {
    echo "cluster=$CLUSTER"
    printf '%s\n' "$@"
    echo "date=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  } >"$MARKER.tmp"
  mv "$MARKER.tmp" "$MARKER"
}

engine_id() { docker info --format '{{.ID}}'; }

refuse_foreign_cluster() {
  if [[ -z $(node_containers --all) ]]; then return 0; fi
  if [[ -f $MARKER && $(marker engine) == "$(engine_id)" ]]; then return 0; fi
  die "there is a kind cluster '$CLUSTER' that was not made here (no marker of ours in $STATE)" \
    "give ours another name: KRT_CLUSTER=other hack/up; or end that one yourself: kind delete cluster --name $CLUSTER"
}

kubectl_here() { kubectl --kubeconfig "$KUBECONFIG_FILE" "$@"; }

# Every part of it that must be there: workloads of the system rolled out, nodes ready.
await_cluster() {
  local limit=$1 namespace workload
  # One call a namespace and kind of workload: rollout status waits by watching.
  for namespace in kube-system local-path-storage; do
    for workload in $(kubectl_here -n "$namespace" get daemonsets,deployments -o name); do
      kubectl_here -n "$namespace" rollout status "$workload" --timeout "${limit}s"
    done
  done
  kubectl_here wait --for=condition=Ready nodes --all --timeout "${limit}s"
}

nodes_wanted() { grep -c '^- role:' "$REPO/kind-config.yaml"; }

# cluster_recipe: a key of what decides how the cluster looks, the node image aside.
cluster_recipe() { content_key - "$HACK/storage" <"$REPO/kind-config.yaml"; }

# node_image_current IMAGE: whether nodes of it are what hack/up would make today, pulled or built.
node_image_current() {
  [[ $1 == "$KIND_NODE_IMAGE" || $1 == "$("$HACK/node-image.sh" --name)" ]]
}

# cluster_current: whether it was made as it would be made now.
cluster_current() {
  [[ $(marker config) == "$(cluster_recipe)" ]] && node_image_current "$(marker image)"
}

# cluster_ready: true where all of it runs and answers, within seconds.
cluster_ready() {
  local nodes
  [[ -f $KUBECONFIG_FILE && $(marker state) == ready ]] || return 1
  [[ $(node_containers | wc -l) -eq $(nodes_wanted) ]] || return 1
  nodes=$(kubectl_here get nodes --request-timeout=5s \
    -o jsonpath='{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' 2>/dev/null) || return 1
  [[ $(grep -c True <<<"$nodes") -eq $(nodes_wanted) ]]
}

create_nodes() {
  (cd "$STATE" && kind create cluster --name "$CLUSTER" --config "$REPO/kind-config.yaml" \
    --image "$1" --kubeconfig "$KUBECONFIG_FILE" --retain)
  # An engine that is started again must not bring back a dead cluster to eat the processors.
  if [[ $ENGINE == ours ]]; then
    # shellcheck disable=SC2046  # a list of containers
    docker update --restart no $(node_containers) >/dev/null
  fi
}

# storage: the shared class, on kind's own provisioner as on ours.
storage() {
  local wanted there
  wanted=$(cat "$HACK/storage/config.json")
  there=$(kubectl_here -n local-path-storage get configmap local-path-config -o jsonpath='{.data.config\.json}')
  if [[ $there != "$wanted" ]]; then
    kubectl_here -n local-path-storage create configmap local-path-config --dry-run=client -o json \
      --from-file "$HACK/storage/config.json" >"$STATE/storage.json"
    kubectl_here -n local-path-storage patch configmap local-path-config --type merge --patch-file "$STATE/storage.json"
    kubectl_here -n local-path-storage rollout restart deployment local-path-provisioner
  fi
  kubectl_here apply -f "$HACK/storage/krt-evidence.yaml"
}

cluster_create() {
  local image=$1
  mkdir -p "$EVIDENCE"
  # As /tmp: every pod may write, whatever its user, and nobody may take away another's.
  chmod 1777 "$EVIDENCE"
  write_marker state=creating "engine=$(engine_id)" "image=$image"
  step "create the cluster $CLUSTER: $(nodes_wanted) nodes of ${image%@*}" create_nodes "$image"
  step 'add the shared evidence storage' storage
  step 'wait for every node and system pod' await_cluster 180
  write_marker state=ready "engine=$(engine_id)" "image=$image" \
    "config=$(cluster_recipe)" "containers=$(node_containers --no-trunc | tr '\n' ' ')"
}

cluster_delete() {
  local container jobs=''
  # What `kind delete cluster` does, without needing kind and all nodes at once.
  for container in $(node_containers --all); do
    docker rm --force --volumes "$container" >/dev/null &
    jobs="$jobs $!"
  done
  for container in $jobs; do wait "$container"; done
  rm -f "$KUBECONFIG_FILE" "$KUBECONFIG_FILE.lock" "$MARKER"
}
