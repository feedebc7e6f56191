# shellcheck shell=bash
# The kind cluster: its state, how to create and how to delete it. Sourced; needs lib.sh, engine.sh, and
# the tools on PATH.
#
# $STATE/marker says what was created. It is written before the first container is, so that a cluster
# without a marker belongs to somebody else, and an incomplete cluster of this project is recognised.

KIND_LABEL=io.x-k8s.kind.cluster=$CLUSTER

node_containers() { docker ps --quiet --filter "label=$KIND_LABEL" "$@"; }

marker() { sed -n "s/^$1=//p" "$MARKER" 2>/dev/null; }

# write_marker KEY=VALUE...: records what was created, in place of the previous record.
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
  die "there is a kind cluster '$CLUSTER' that hack/up has not created (no marker in $STATE)" \
    "use another name: KRT_CLUSTER=other hack/up; or delete that cluster: kind delete cluster --name $CLUSTER"
}

kubectl_here() { kubectl --kubeconfig "$KUBECONFIG_FILE" "$@"; }

# Waits until the system's workloads are rolled out and the nodes are ready.
await_cluster() {
  local limit=$1 namespace workload
  # One call for each workload: rollout status waits by watching.
  for namespace in kube-system local-path-storage; do
    for workload in $(kubectl_here -n "$namespace" get daemonsets,deployments -o name); do
      kubectl_here -n "$namespace" rollout status "$workload" --timeout "${limit}s"
    done
  done
  kubectl_here wait --for=condition=Ready nodes --all --timeout "${limit}s"
}

nodes_expected() { grep -c '^- role:' "$REPO/kind-config.yaml"; }

# cluster_recipe: a key of everything that defines the cluster, except the node image.
cluster_recipe() {
  if shared_storage; then
    content_key - "$HACK/storage" <"$REPO/kind-config.yaml"
  else
    content_key - <"$REPO/kind-config.yaml"
  fi
}

# shared_storage: whether the cluster gets a class of volumes that all nodes write.
shared_storage() {
  case ${KRT_STORAGE:-shared} in
    shared) return 0 ;;
    default) return 1 ;;
    *) die "KRT_STORAGE is '$KRT_STORAGE'" 'use shared or default, or leave it unset' ;;
  esac
}

# node_image_current IMAGE: whether it is the one that hack/up would use now, pulled or built.
node_image_current() {
  [[ $1 == "$KIND_NODE_IMAGE" || $1 == "$("$HACK/node-image.sh" --name)" ]]
}

# cluster_current: whether the cluster was created as it would be created now.
cluster_current() {
  [[ $(marker config) == "$(cluster_recipe)" ]] && node_image_current "$(marker image)"
}

# cluster_ready: whether all nodes run and the API server answers within seconds.
cluster_ready() {
  local nodes
  [[ -f $KUBECONFIG_FILE && $(marker state) == ready ]] || return 1
  [[ $(node_containers | wc -l) -eq $(nodes_expected) ]] || return 1
  nodes=$(kubectl_here get nodes --request-timeout=5s \
    -o jsonpath='{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' 2>/dev/null) || return 1
  [[ $(grep -c True <<<"$nodes") -eq $(nodes_expected) ]]
}

create_nodes() {
  (cd "$STATE" && kind create cluster --name "$CLUSTER" --config "$REPO/kind-config.yaml" \
    --image "$1" --kubeconfig "$KUBECONFIG_FILE" --retain)
  # An engine that is started again must not start a dead cluster, which would use the processors.
  if [[ $ENGINE == ours ]]; then
    # shellcheck disable=SC2046  # a list of containers
    docker update --restart no $(node_containers) >/dev/null
  fi
}

# storage: adds the shared storage class to the provisioner of the cluster, kind's or the built one.
storage() {
  local expected present
  expected=$(cat "$HACK/storage/config.json")
  present=$(kubectl_here -n local-path-storage get configmap local-path-config -o jsonpath='{.data.config\.json}')
  if [[ $present != "$expected" ]]; then
    kubectl_here -n local-path-storage create configmap local-path-config --dry-run=client -o json \
      --from-file "$HACK/storage/config.json" >"$STATE/storage.json"
    kubectl_here -n local-path-storage patch configmap local-path-config --type merge --patch-file "$STATE/storage.json"
    kubectl_here -n local-path-storage rollout restart deployment local-path-provisioner
  fi
  kubectl_here apply -f "$HACK/storage/krt-evidence.yaml"
}

# confine_services: has every node refuse packets to addresses of Services that kube-proxy did not send on
# to a pod. It updates one table after the other, so while the endpoints of a Service change, a connection
# may leave the cluster by its default route. Whoever answers there is taken for the Service: a proxy that
# answered HTTP had Kafka read four letters as the length of an answer, and its heap was too small for that.
confine_services() {
  local range node
  range=$(kubectl_here get servicecidrs kubernetes -o jsonpath='{.spec.cidrs[0]}')
  for node in $(node_containers); do
    # shellcheck disable=SC2016  # expanded in the node
    docker exec "$node" sh -euc '
      rule="--destination $1 --jump REJECT"
      iptables --wait --check FORWARD $rule 2>/dev/null || iptables --wait --insert FORWARD $rule
    ' _ "$range"
  done
}

cluster_create() {
  local image=$1
  mkdir -p "$EVIDENCE"
  # As /tmp: every pod may write, whatever its user, and none may delete another's files.
  chmod 1777 "$EVIDENCE"
  write_marker state=creating "engine=$(engine_id)" "image=$image"
  step "create the cluster $CLUSTER: $(nodes_expected) nodes of ${image%@*}" create_nodes "$image"
  if shared_storage; then step 'add the shared evidence storage' storage; fi
  step 'wait for every node and system pod' await_cluster 180
  step 'keep packets to Services inside the cluster' confine_services
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
