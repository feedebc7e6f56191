#!/usr/bin/env bash
# toolchain.sh NAME: builds the Go programs of toolchain/NAME (its own module, so that no two tools
# fight over a dependency) and prints the folder they are in. Built once per content of that folder.
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/go.sh
. "$HACK/go.sh"

NAME=${1:?usage: toolchain.sh NAME}
MODULE=$HACK/toolchain/$NAME
# One program of Kubernetes, for where no node image is built.
if [[ $NAME == kubectl ]]; then MODULE=$HACK/toolchain/kubernetes; fi
if [[ ! -f $MODULE/go.mod ]]; then die "no module toolchain/$NAME" "ls $HACK/toolchain"; fi

# What is stamped into the programs; each project's own build does the same.
LDFLAGS='-s -w' TAGS='' CGO=0 VERSION='' PACKAGE=''
case $NAME in
  kubernetes | kubectl)
    VERSION=$KUBERNETES_VERSION PACKAGE=k8s.io/kubernetes TAGS=providerless
    stamp=k8s.io/component-base/version
    minor=${VERSION#v*.}
    LDFLAGS="$LDFLAGS -X $stamp.gitVersion=$VERSION -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}"
    LDFLAGS="$LDFLAGS -X $stamp.gitTreeState=clean"
    ;;
  actionlint) VERSION=$ACTIONLINT_VERSION PACKAGE=github.com/rhysd/actionlint ;;
  prometheus)
    # Without service discovery: tests name their targets.
    VERSION=$PROMETHEUS_VERSION PACKAGE=github.com/prometheus/prometheus TAGS=remove_all_sd
    ;;
  kind) VERSION=$KIND_VERSION PACKAGE=sigs.k8s.io/kind ;;
  helm)
    VERSION=$HELM_VERSION PACKAGE=helm.sh/helm/v3
    LDFLAGS="$LDFLAGS -X $PACKAGE/internal/version.version=$VERSION"
    ;;
  etcd) VERSION=$ETCD_VERSION PACKAGE=go.etcd.io/etcd/server/v3 ;;
  coredns) VERSION=$COREDNS_VERSION PACKAGE=github.com/coredns/coredns ;;
  containerd)
    VERSION=$CONTAINERD_VERSION PACKAGE=github.com/containerd/containerd/v2
    TAGS='no_btrfs no_devmapper no_zfs no_aufs no_tracing'
    LDFLAGS="$LDFLAGS -X $PACKAGE/version.Version=${VERSION#v}"
    ;;
  cni-plugins) VERSION=$CNI_PLUGINS_VERSION PACKAGE=github.com/containernetworking/plugins ;;
  local-path-provisioner)
    VERSION=$LOCAL_PATH_VERSION PACKAGE=github.com/rancher/local-path-provisioner
    LDFLAGS="$LDFLAGS -X main.VERSION=$VERSION"
    ;;
  flannel)
    # One of its back ends, which we do not use but cannot leave out, is C.
    VERSION=$FLANNEL_VERSION PACKAGE=github.com/flannel-io/flannel CGO=1
    LDFLAGS="$LDFLAGS -linkmode external -extldflags -static -X $PACKAGE/pkg/version.Version=$VERSION"
    ;;
  *) die "toolchain/$NAME has no build here" 'add it to the case in hack/toolchain.sh' ;;
esac

if ! grep -qE "^(require )?[[:space:]]*$PACKAGE $VERSION( |\$)" "$MODULE/go.mod"; then
  die "toolchain/$NAME/go.mod does not pin $PACKAGE at $VERSION, which versions.env names" \
    "(cd $MODULE && go get $PACKAGE@$VERSION && go mod tidy)"
fi

KEY=$(printf '%s\n' "$LDFLAGS" "$TAGS" "$CGO" "$(uname -m)" "$(uname -s)" | content_key - "$MODULE")
ENTRY=$CACHE/tools/$NAME-${VERSION#v}-$KEY

build() {
  local tmp packages=tool
  mkdir -p "$CACHE/tools"
  tmp=$(fresh_tmp "$NAME")
  # shellcheck disable=SC2064  # the value of now
  trap "rm -rf '$tmp'" EXIT
  go_ready
  if compgen -G "$MODULE/*.go" >/dev/null; then packages=.; fi
  if [[ $NAME == kubectl ]]; then packages=k8s.io/kubernetes/cmd/kubectl; fi
  cd "$MODULE"
  CGO_ENABLED=$CGO go build -v -mod=readonly -trimpath -tags "$TAGS" -ldflags "$LDFLAGS" -o "$tmp/bin/" "$packages"
  # The program takes its folder's name, which says nothing here.
  if [[ $NAME == etcd ]]; then mv "$tmp/bin/server" "$tmp/bin/etcd"; fi
  if [[ $NAME == flannel ]]; then mv "$tmp/bin/flannel" "$tmp/bin/flanneld"; fi
  publish "$tmp" "$ENTRY"
}

if [[ ! -d $ENTRY ]]; then
  step "build $NAME $VERSION" with_lock "tool-$NAME" build >&2
fi
echo "$ENTRY/bin"
