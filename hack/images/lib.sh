# shellcheck shell=bash disable=SC2034
# How images are named, built and found again. Sourced after lib.sh and engine.sh; the engine runs.

# What is pulled where an image registry can be reached; variables name a mirror's images instead.
DEBIAN_IMAGE=${KRT_DEBIAN_IMAGE:-debian:$DEBIAN_SUITE-slim}
REGISTRY_IMAGE=${KRT_REGISTRY_IMAGE:-registry:2.8.3}
# By the name that the nodes pull.
KAFKA_IMAGE=${KRT_KAFKA_IMAGE:-docker.io/apache/kafka:$KAFKA_VERSION}
KAFKA_KRAFT_IMAGE=${KRT_KAFKA_KRAFT_IMAGE:-docker.io/apache/kafka:$KAFKA_KRAFT_VERSION}
# The Python of that Debian release: the wheels are chosen for it, and its image refuses another.
PYTHON_VERSION=3.11
# Debian bookworm has glibc 2.36.
MANYLINUX=manylinux_2_36

IMAGES=$HACK/images
REGISTRY_NAME=krt-registry
REGISTRY_HOST_PORT=${KRT_REGISTRY_PORT:-5001}
# What nodes call the registry, and what this machine's engine calls it.
REGISTRY_IN_CLUSTER=$REGISTRY_NAME:5000
REGISTRY_ON_HOST=localhost:$REGISTRY_HOST_PORT

# The builder that sees this engine's own images, and images without an index around them.
export BUILDX_NO_DEFAULT_ATTESTATIONS=1
if docker buildx version >/dev/null 2>&1; then
  BUILDX_BUILDER=$(docker context show)
  export BUILDX_BUILDER
else
  export DOCKER_BUILDKIT=0
fi

# sources_key TEXT PATH...: a key of the text and of the files (below the repository) as they are now.
sources_key() {
  local text=$1 hash='sha256sum'
  shift
  if ! have sha256sum; then hash='shasum -a 256'; fi
  (
    cd "$REPO" || exit
    printf '%s\n' "$text"
    # shellcheck disable=SC2086  # a command with its words
    # Caches of tools beside the sources are in no image (.dockerignore).
    find "$@" -type f ! -path '*/__pycache__/*' ! -path '*/.*' | LC_ALL=C sort | tr '\n' '\0' | xargs -0 $hash
  ) | sha256 | cut -c 1-12
}

image_exists() { docker image inspect "$1" >/dev/null 2>&1; }

# can_pull REFERENCE: whether it is here, or could be had from an image registry. KRT_IMAGES decides
# without trying, as it does for hack/up.
can_pull() {
  case ${KRT_IMAGES:-} in
    build) return 1 ;;
    pull) image_exists "$1" || step "pull $1" docker pull --quiet "$1" ;;
    *) image_exists "$1" || docker pull --quiet "$1" >/dev/null 2>&1 ;;
  esac
}

# build_image REFERENCE CONTEXT [DOCKER BUILD ARGUMENTS...]: unless it is there already.
build_image() {
  local reference=$1 context=$2
  shift 2
  if image_exists "$reference"; then return 0; fi
  step "build ${reference#"$REGISTRY_ON_HOST"/}" docker build --force-rm --tag "$reference" "$@" "$context"
}

# base_image: Debian pulled, or built where no image registry can be reached.
base_image() {
  if can_pull "$DEBIAN_IMAGE"; then
    echo "$DEBIAN_IMAGE"
  elif [[ ${KRT_IMAGES:-} == pull ]]; then
    die "$DEBIAN_IMAGE cannot be pulled" 'set KRT_DEBIAN_IMAGE to one that can, or set KRT_IMAGES=build'
  else
    "$HACK/rootfs.sh"
  fi
}

# value NAME REFERENCE: one image as the chart's values name it, with the registry as nodes reach it.
value() {
  local registry=${2%%/*} path=${2#*/}
  if [[ $registry == "$REGISTRY_ON_HOST" ]]; then registry=$REGISTRY_IN_CLUSTER; fi
  printf '  %s: {registry: "%s", repository: "%s", tag: "%s"}\n' \
    "$1" "$registry" "${path%:*}" "${path##*:}"
}

# write_values FILE OPERATOR TRAFFIC SCORING STORE KAFKA KAFKA-IN-KRAFT-MODE: the values that name these images.
write_values() {
  local file=$1
  mkdir -p "$(dirname "$file")"
  {
    echo '# Written by hack/images.sh: the images that the chart uses.'
    echo 'images:'
    value operator "$2"
    value traffic "$3"
    value scoring "$4"
    value store "$5"
    value kafka "$6"
    value kafkaKRaft "$7"
  } >"$file.$$"
  mv "$file.$$" "$file"
}

# check_target REGISTRY/PATH TAG: ends the script unless images can be named so.
check_target() {
  if [[ ! $1 =~ ^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*$ ]]; then
    die "'$1' is not a registry with a path" \
      'write it in lower case and without a scheme, for example registry.example.com/team'
  fi
  if [[ -n $2 && ! $2 =~ ^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$ ]]; then
    die "'$2' is not a tag" 'use letters, digits, dots, dashes and underscores, at most 128, for example 0.1.0'
  fi
  if [[ $2 == latest ]]; then
    die "the chart refuses the tag 'latest'" 'name a version, for example TAG=0.1.0'
  fi
}

# push_image REFERENCE REGISTRY/PATH TAG: prints the reference it was pushed as; with an empty tag it keeps
# its own, a hash of its sources.
push_image() {
  local path=${1##*/} registry=${2%%/*} remote
  remote=$2/${path%:*}:${3:-${path##*:}}
  docker tag "$1" "$remote"
  if ! docker push --quiet "$remote" >&2; then
    die "$registry did not take $remote" \
      "log in with 'docker login $registry', and check that the repository exists and that you may push to it"
  fi
  echo "$remote"
}
