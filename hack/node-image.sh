#!/usr/bin/env bash
# The node image, made from Go modules and Debian packages where no image registry can be reached.
# Prints its reference, krt/node:<version>-<key>, on standard output. Built once per content; with
# --if-there it is never built, and nothing is printed where it is missing; with --name the reference
# is printed whether it is there or not.
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/engine.sh
. "$HACK/engine.sh"
# shellcheck source=hack/go.sh
. "$HACK/go.sh"
# shellcheck source=hack/node/oci.sh
. "$HACK/node/oci.sh"

# The modules a node is made of; each is built by toolchain.sh.
TOOLS='kubernetes containerd coredns flannel etcd local-path-provisioner cni-plugins'
# Nodes have nothing of Kafka's: another version of it makes no other node, and no other cluster.
KEY=$(grep -Ev '^(#|KAFKA_)' "$HACK/versions.env" | content_key - "$HACK/node" "$HACK/toolchain" \
  "$HACK/rootfs.sh" "$HACK/toolchain.sh" "$HACK/storage" "$HACK/node-image.sh")
IMAGE=krt/node:$KUBERNETES_VERSION-$KEY

bin_of() { "$HACK/toolchain.sh" "$1"; }

build_tools() {
  local tool
  # One after another: each of them keeps every core busy by itself.
  for tool in $TOOLS; do bin_of "$tool" >/dev/null; done
}

docker_build() { docker build --quiet --network host --build-arg "BASE=$1" --build-arg "PACKAGES=$2" --tag "$3" "$HACK/node"; }

# The two images that packages are installed in: the node's system, and what flanneld and kube-proxy run on.
build_systems() {
  local base
  base=$("$HACK/rootfs.sh")
  step 'build the system of the node' docker_build "$base" "$(grep -v '^#' "$HACK/node/packages" | tr '\n' ' ')" "$IMAGE-system"
  step 'build the system of the pods' docker_build "$base" 'iptables' "$IMAGE-net"
}

export_net() {
  local container
  container=$(docker create "$IMAGE-net")
  docker export --output "$1" "$container"
  docker rm "$container" >/dev/null
}

# static NAME PROGRAM-FILE ENTRYPOINT-JSON [LAYER]: an image of one program, on a lower layer or none.
static() {
  local name=$1 program=$2 entrypoint=$3 lower=${4:-} folder=$TMP/layer
  rm -rf "$folder"
  install -m 0755 -D -t "$folder/usr/local/bin" "$program"
  if [[ $name == krt.invalid/cni:* ]]; then install -m 0755 "$HACK/node/cni/cni-daemon" "$folder/usr/local/bin/"; fi
  oci_image "$name" "$entrypoint" ${lower:+"$lower"} "$(oci_layer_of "$folder")"
}

write_images() {
  local kubernetes net name program
  kubernetes=$(bin_of kubernetes)
  oci_begin "$TMP/images"
  export_net "$TMP/net.tar"
  net=$(oci_layer "$TMP/net.tar")
  oci_image krt.invalid/net:node '["/bin/sh"]' "$net"
  for name in kube-apiserver kube-controller-manager kube-scheduler; do
    static "registry.k8s.io/$name:$KUBERNETES_VERSION" "$kubernetes/$name" "[\"$name\"]"
  done
  static "registry.k8s.io/kube-proxy:$KUBERNETES_VERSION" "$kubernetes/kube-proxy" '["kube-proxy"]' "$net"
  static "krt.invalid/cni:$FLANNEL_VERSION" "$(bin_of flannel)/flanneld" '["cni-daemon"]' "$net"
  program=$(bin_of local-path-provisioner)/local-path-provisioner
  static "krt.invalid/local-path-provisioner:$LOCAL_PATH_VERSION" "$program" '["local-path-provisioner"]'
  # kubeadm names these two by versions of its own; the ones built here answer to those names.
  "$kubernetes/kubeadm" config images list --kubernetes-version "$KUBERNETES_VERSION" >"$TMP/wanted"
  static "$(grep /etcd: "$TMP/wanted")" "$(bin_of etcd)/etcd" '["etcd"]'
  static "$(grep /coredns: "$TMP/wanted")" "$(bin_of coredns)/coredns" '["coredns"]'
  gcc -Os -static -s -DVERSION="$PAUSE_VERSION" -o "$TMP/pause" \
    "$(module_dir kubernetes k8s.io/kubernetes)/build/pause/linux/pause.c"
  static "registry.k8s.io/pause:$PAUSE_VERSION" "$TMP/pause" '["/usr/local/bin/pause"]'
  tar -C "$TMP/images" -cf "$TMP/input/images.tar" .
}

# module_dir TOOL MODULE: where the sources of a pinned module lie.
module_dir() { (go_ready && cd "$HACK/toolchain/$1" && go mod download "$2" && go list -m -f '{{.Dir}}' "$2"); }

write_input() {
  mkdir -p "$TMP/input/manifests"
  cp -r --no-preserve=mode "$(module_dir kind sigs.k8s.io/kind)/images/base/files" "$TMP/input/kind-files"
  cp -r "$(bin_of containerd)" "$TMP/input/containerd"
  cp -r "$(bin_of cni-plugins)" "$TMP/input/cni"
  mkdir "$TMP/input/kubernetes"
  cp "$(bin_of kubernetes)"/kube{adm,let,ctl} "$TMP/input/kubernetes/"
  sed "s/@FLANNEL_VERSION@/$FLANNEL_VERSION/" "$HACK/node/cni/default-cni.yaml" >"$TMP/input/manifests/default-cni.yaml"
  sed 's/^/    /' "$HACK/storage/config.json" >"$TMP/config.indented"
  sed -e "s/@LOCAL_PATH_VERSION@/$LOCAL_PATH_VERSION/" -e "/@CONFIG_JSON@/r $TMP/config.indented" -e '/@CONFIG_JSON@/d' \
    "$HACK/node/default-storage.yaml" >"$TMP/input/manifests/default-storage.yaml"
  cp "$HACK/node/assemble" "$TMP/input/"
  chmod +x "$TMP/input/assemble"
}

assemble() {
  local container=krt-node-image
  TMP=$(fresh_tmp node)
  trap 'rm -rf "$TMP"; docker rm --force krt-node-image >/dev/null 2>&1' EXIT
  write_input
  write_images
  docker rm --force "$container" >/dev/null 2>&1 || :
  docker create --name "$container" --security-opt seccomp=unconfined --volume "$TMP/input:/input:ro" --network none \
    "$IMAGE-system" /input/assemble "$KUBERNETES_VERSION" "$PAUSE_VERSION"
  docker start --attach "$container"
  docker commit --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' --change 'CMD []' "$container" "$IMAGE"
  docker rm --force "$container" >/dev/null
  # Their layers are the node image's; only their names go.
  docker rmi "$IMAGE-net" "$IMAGE-system" >/dev/null
}

build() {
  side_by_side build_tools build_systems
  step "assemble the node image $IMAGE" assemble
}

if [[ ${1:-} == --name ]]; then
  echo "$IMAGE"
  exit 0
fi
engine_up
if ! docker image inspect "$IMAGE" >/dev/null 2>&1; then
  if [[ ${1:-} == --if-there ]]; then exit 0; fi
  with_lock node-image build >&2
fi
echo "$IMAGE"
