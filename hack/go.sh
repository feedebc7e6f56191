# shellcheck shell=bash
# A Go toolchain that is new enough: the one on PATH, or one fetched as a Go module. Sourced; needs lib.sh.

# shellcheck source=hack/debian.sh
. "$HACK/debian.sh"

version_at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -t . -k 1,1n -k 2,2n -k 3,3n | head -n 1) == "$2" ]]; }

go_on_path() {
  local version
  if ! have go; then return 1; fi
  version=$(GOTOOLCHAIN=local go env GOVERSION)
  version=${version#go}
  version_at_least "${version%%[!0-9.]*}" "$GO_MINIMUM"
}

go_fetched() { [[ -x $CACHE/go-$GO_VERSION/bin/go ]]; }

go_available() { go_on_path || go_fetched; }

# go_fetch: Debian's own Go is too old to build Kubernetes but can fetch a module, and the Go project
# publishes its toolchains as modules whose hashes are in the public checksum database.
go_fetch() {
  local arch tmp dir
  if go_fetched; then return 0; fi
  case $(uname -m) in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) die "no Go toolchain for $(uname -m)" 'install Go by hand' ;; esac
  tmp=$(fresh_tmp go)
  printf 'module fetch\n\ngo 1.19\n' >"$tmp/go.mod"
  # Its module cache is deleted again, except for the toolchain.
  dir=$(cd "$tmp" && GOFLAGS=-modcacherw GOMODCACHE=$tmp/mod go mod download -json \
    "golang.org/toolchain@v0.0.1-go$GO_VERSION.linux-$arch" | sed -n 's/.*"Dir": "\(.*\)",*/\1/p')
  # Modules carry no execute bits.
  chmod -R u+w "$dir"
  chmod +x "$dir"/bin/* "$dir"/pkg/tool/*/*
  publish "$dir" "$CACHE/go-$GO_VERSION"
  rm -rf "$tmp"
}

# go_provide: as root on Debian, fetches a Go where there is none that is new enough.
go_provide() {
  if go_available || ! root_on_debian; then return 0; fi
  debian_provide golang-go
  step "fetch the Go $GO_VERSION toolchain as a Go module" with_lock go go_fetch
}

# go_trim: deletes what builds leave and nothing built needs: 10 GB of objects and sources.
go_trim() { rm -rf "$CACHE/go-build" "$CACHE/go-mod"; }

# go_ready: makes a `go` available on PATH, with caches in $CACHE that can be deleted.
go_ready() {
  export GOCACHE=$CACHE/go-build GOMODCACHE=$CACHE/go-mod GOFLAGS='-modcacherw -buildvcs=false'
  go_provide
  if ! go_on_path && go_fetched; then export PATH="$CACHE/go-$GO_VERSION/bin:$PATH"; fi
  if ! go_on_path; then
    die "no Go of at least $GO_MINIMUM on PATH" \
      'install Go, such as from your package manager, or run this as root on Debian, where it is installed'
  fi
  export GOTOOLCHAIN=local
}
