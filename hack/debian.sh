# shellcheck shell=bash disable=SC2034
# Installs Debian packages, as root on Debian only. Sourced; needs lib.sh.

# What building the node image and the base image takes (gcc: one back end of flannel, and pause).
BUILD_PACKAGES='debootstrap debian-archive-keyring zstd gcc libc6-dev ca-certificates'

root_on_debian() { [[ -r /etc/debian_version && $(id -u) == 0 ]] && have apt-get; }

debian_missing() {
  local package
  for package in "$@"; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then echo "$package"; fi
  done
}

debian_install() {
  export DEBIAN_FRONTEND=noninteractive
  # policy-rc.d: docker.io would start a daemon, with the machine's data root.
  local policy=/usr/sbin/policy-rc.d
  if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    # shellcheck disable=SC2064  # the value of now
    trap "rm -f '$policy'" EXIT
  fi
  apt-get update -qq
  apt-get install -y --no-install-recommends "$@"
}

# debian_provide 'PACKAGE ...': names the missing ones, then installs them.
debian_provide() {
  local missing
  # shellcheck disable=SC2086  # a list of packages
  missing=$(debian_missing $1 | tr '\n' ' ')
  if [[ -z $missing ]]; then return 0; fi
  log "Installing with apt: $missing"
  # shellcheck disable=SC2086
  step 'install Debian packages' with_lock apt debian_install $missing
}

# debian_archive RELEASE: where this machine itself installs that release from, so that a mirror set up by its
# owner is used here too. All of Debian's suites lie in one archive, so another release's will do.
debian_archive() {
  # shellcheck disable=SC2016  # apt's own variables
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' |
    awk -v suite="$1" '
      function kind(release) { return match(release, /-(updates|security)$/) ? substr(release, RSTART) : "" }
      $2 == suite {exact = $1}
      kind($2) == kind(suite) {like = $1}
      END {print exact ? exact : like}'
}

# debian_sources SUITE: the lines of apt's sources for a system of that suite.
debian_sources() {
  local release uri
  for release in "$1" "$1-updates" "$1-security"; do
    uri=$(debian_archive "$release")
    # The machine's sources have no such suite.
    if [[ -n $uri ]]; then echo "deb $uri $release main"; fi
  done
}
