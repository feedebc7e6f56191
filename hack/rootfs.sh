#!/usr/bin/env bash
# The Debian base image, made from the package archive alone with debootstrap. Prints its reference,
# krt/base:<suite>-<key>, on standard output. Only for machines that no image registry can be reached from.
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/engine.sh
. "$HACK/engine.sh"

# Raise when the recipe below changes: the packages themselves move with the archive.
RECIPE=2
ARCH=$(dpkg --print-architecture)
IMAGE=krt/base:$DEBIAN_SUITE-$(printf '%s' "$RECIPE $DEBIAN_SUITE $ARCH" | sha256 | cut -c 1-12)

# The archive this machine itself installs from, so that a mirror set up by its owner is used here too.
archive() {
  # shellcheck disable=SC2016  # apt's own variables
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
    awk -v suite="$DEBIAN_SUITE" '$2 == suite {print $1; exit}'
}

build() {
  local tmp uri
  tmp=$(fresh_tmp rootfs)
  # shellcheck disable=SC2064  # the value of now
  trap "rm -rf '$tmp'" EXIT
  uri=$(archive)
  debootstrap --variant=minbase "$DEBIAN_SUITE" "$tmp/root" "${uri:-http://deb.debian.org/debian}"
  local root=$tmp/root
  chroot "$root" apt-get clean
  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/debconf/*-old \
    "$root"/var/log/*.log "$root"/var/log/apt/*
  # The folders stay: packages such as Java's put links beside their manuals.
  find "$root"/usr/share/{doc,man,locale,info} -type f -delete
  # What debian:bookworm-slim does: no manuals, and security updates are sources too.
  printf 'path-exclude /usr/share/%s/*\n' doc man locale info >"$root/etc/dpkg/dpkg.cfg.d/slim"
  cat >"$root/etc/apt/sources.list" <<EOT
deb http://deb.debian.org/debian $DEBIAN_SUITE main
deb http://deb.debian.org/debian $DEBIAN_SUITE-updates main
deb http://deb.debian.org/debian-security $DEBIAN_SUITE-security main
EOT
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
