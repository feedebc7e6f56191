#!/usr/bin/env bash
# The Debian base image, made from the package archive alone with debootstrap. Prints its reference,
# krt/base:<suite>-<key>, on standard output. Only for machines that no image registry can be reached from.
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/engine.sh
. "$HACK/engine.sh"

# Raise when the recipe below changes: the packages themselves move with the archive.
RECIPE=3
ARCH=$(dpkg --print-architecture)
IMAGE=krt/base:$DEBIAN_SUITE-$(printf '%s' "$RECIPE $DEBIAN_SUITE $ARCH" | sha256 | cut -c 1-12)

# host_trust ROOT: lets apt in the image trust whom this machine trusts, for mirrors whose TLS is
# signed by somebody of its own. A file of its own: the package ca-certificates rewrites the usual one.
host_trust() {
  local ca=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
  if [[ ! -r $ca ]] || ! grep -q '^deb https' "$1/etc/apt/sources.list"; then return 0; fi
  install -m 0644 "$ca" "$1/etc/apt/host-ca.crt"
  echo 'Acquire::https::CAInfo "/etc/apt/host-ca.crt";' >"$1/etc/apt/apt.conf.d/90host-ca"
}

build() {
  local tmp uri
  tmp=$(fresh_tmp rootfs)
  # shellcheck disable=SC2064  # the value of now
  trap "rm -rf '$tmp'" EXIT
  uri=$(debian_archive "$DEBIAN_SUITE")
  if [[ -z $uri ]]; then
    die "this machine's apt has no Debian archive among its sources" 'add one to /etc/apt/sources.list and run apt-get update'
  fi
  debootstrap --variant=minbase "$DEBIAN_SUITE" "$tmp/root" "$uri"
  local root=$tmp/root
  chroot "$root" apt-get clean
  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/debconf/*-old \
    "$root"/var/log/*.log "$root"/var/log/apt/*
  # The folders stay: packages such as Java's put links beside their manuals.
  find "$root"/usr/share/{doc,man,locale,info} -type f -delete
  # What debian:bookworm-slim does: no manuals, and security updates are sources too.
  printf 'path-exclude /usr/share/%s/*\n' doc man locale info >"$root/etc/dpkg/dpkg.cfg.d/slim"
  debian_sources "$DEBIAN_SUITE" >"$root/etc/apt/sources.list"
  host_trust "$root"
  : >"$root/etc/machine-id"
  rm -f "$root/etc/hostname" "$root/etc/resolv.conf"
  tar -C "$root" --numeric-owner -c . | docker import --change 'CMD ["/bin/bash"]' - "$IMAGE"
}

engine_up
if ! docker image inspect "$IMAGE" >/dev/null 2>&1; then
  if ! root_on_debian; then
    die 'the Debian base image can be built only as root on Debian' 'make an image registry reachable, so that it is pulled'
  fi
  debian_provide 'debootstrap debian-archive-keyring'
  step "build the base image $IMAGE" with_lock rootfs build >&2
fi
echo "$IMAGE"
