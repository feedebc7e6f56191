#!/usr/bin/env bash
# kind, kubectl and helm in $CACHE/bin: the ones on PATH where they are new enough, else built with
# Go from toolchain/. What hack/env puts first on PATH.
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/go.sh
. "$HACK/go.sh"

version_of() {
  case $1 in
    kind) kind version ;;
    kubectl) kubectl version --client ;;
    helm) helm version --short ;;
  esac 2>/dev/null | sed -n 's/[^v]*v\([0-9][0-9.]*\).*/\1/p' | head -n 1
}

minimum_of() {
  case $1 in
    kind) echo "$KIND_MINIMUM" ;;
    kubectl) echo "$KUBECTL_MINIMUM" ;;
    helm) echo "$HELM_MINIMUM" ;;
  esac
}

# provide TOOL: links it into $BIN.
provide() {
  local tool=$1 minimum version program
  minimum=$(minimum_of "$tool")
  program=$(PATH=$OUTSIDE command -v "$tool" || :)
  if [[ -n $program ]]; then
    version=$(PATH=$OUTSIDE version_of "$tool")
    if [[ -z $version ]] || ! version_at_least "$version" "$minimum"; then program=''; fi
  fi
  if [[ -z $program ]]; then
    go_provide
    if ! go_available; then
      die "there is no $tool of at least $minimum on PATH, and no Go of at least $GO_MINIMUM to build it with" \
        "install $tool (macOS: brew install $tool) or Go, or run this as root on Debian, where Go is installed"
    fi
    program=$("$HACK/toolchain.sh" "$(module_of "$tool")")/$tool
  fi
  ln -sfn "$program" "$BIN/$tool.$$"
  mv -f "$BIN/$tool.$$" "$BIN/$tool"
}

# Where the node image is built kubectl comes with it; elsewhere it alone is built.
module_of() {
  if [[ $1 == kubectl && -n ${KRT_NODE_IMAGE_BUILT:-} ]]; then echo kubernetes; else echo "$1"; fi
}

mkdir -p "$BIN"
# PATH without $BIN, or a link would point at itself.
OUTSIDE=$(printf '%s' "$PATH" | tr ':' '\n' | grep -vFx "$BIN" | paste -s -d : -)
if (($# == 0)); then set -- kind kubectl helm; fi
for tool in "$@"; do provide "$tool"; done
