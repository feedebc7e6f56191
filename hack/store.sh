#!/usr/bin/env bash
# The embedded evidence store (store/), a Go program.
#   hack/store.sh program   builds it and prints its path; once per content of the folder
#   hack/store.sh test      vets and tests it
#   hack/store.sh lint      checks its format; needs Go, but compiles nothing
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/go.sh
. "$HACK/go.sh"

STORE=$REPO/store

# Static, so that an image from scratch will do. Without paths, so that equal sources give equal bytes.
compile() {
  local tmp
  tmp=$(fresh_tmp store)
  (cd "$STORE" && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$tmp/krt-store" .)
  publish "$tmp" "$1"
}

program() {
  local key folder
  # Without GOOS and GOARCH it is for this machine; an image needs one for the engine's.
  key=$(cd "$STORE" && { printf '%s\n' "${GOOS:-}" "${GOARCH:-}" && sha256 ./*.go go.mod go.sum; } | sha256 | cut -c 1-12)
  folder=$CACHE/store-$key
  if [[ ! -x $folder/krt-store ]]; then
    go_ready
    with_lock store step 'build the evidence store' compile "$folder"
  fi
  echo "$folder/krt-store"
}

tests() {
  go_ready
  cd "$STORE"
  # As it is built, so that what it is made of is compiled once.
  CGO_ENABLED=0 go vet -trimpath ./...
  CGO_ENABLED=0 go test -trimpath ./...
}

lint() {
  local unformatted
  if ! go_available; then
    log 'hack/store.sh: there is no Go on PATH; the format of store/ is not checked here'
    return 0
  fi
  go_ready
  unformatted=$(cd "$STORE" && gofmt -l .)
  [[ -z $unformatted ]] || die "not formatted: $unformatted" 'run gofmt -w store'
}

case ${1:-} in
  program) program ;;
  test) tests ;;
  lint) lint ;;
  *) die "hack/store.sh has the commands program, test and lint, not '${1:-}'" 'see its first lines' ;;
esac
