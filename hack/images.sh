#!/usr/bin/env bash
# Builds the images and loads them into the cluster.
#   hack/images.sh          all of it
#   hack/images.sh build    build and push to the registry beside the cluster; needs the engine only
#   hack/images.sh load     let every node of the cluster pull them from that registry
#   hack/images.sh push REGISTRY/PATH [TAG]
#                           build, push to a registry of yours and write the chart's values for it
# An image's tag is a hash of its sources, so an unchanged image is not built again.
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/engine.sh
. "$HACK/engine.sh"
engine_up
# shellcheck source=hack/images/lib.sh
. "$HACK/images/lib.sh"

PACKAGES_JAVA='openjdk-17-jre-headless procps'
PACKAGES_PYTHON='python3 ca-certificates'
# libnss-wrapper: see images/runtime/entrypoint.
PACKAGES_SPARK='python3 libnss-wrapper'

# runtime NAME BASE PACKAGES: prints the reference of Debian with these packages.
runtime() {
  local name=$1 base=$2 packages=$3 identity=$2 reference
  # Images built here are named by their content; a pulled one has its digest.
  case $base in krt/*) ;; *) identity=$(docker image inspect --format '{{.Id}}' "$base") ;; esac
  reference=krt/runtime-$name:$(sources_key "$identity $packages" hack/images/runtime)
  build_image "$reference" "$IMAGES/runtime" --build-arg "BASE=$base" --build-arg "PACKAGES=$packages"
  echo "$reference"
}

# maven_image JAVA: prints the reference of the image jars are fetched with.
maven_image() {
  local ca=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt} context=$CACHE/images/maven reference
  mkdir -p "$context"
  cp "$IMAGES/maven/Dockerfile" "$context/"
  if [[ -r $ca ]]; then cp "$ca" "$context/host-ca.pem"; else : >"$context/host-ca.pem"; fi
  reference=krt/maven:$(sources_key "$1 $(sha256 <"$context/host-ca.pem")" hack/images/maven)
  build_image "$reference" "$context" --build-arg "BASE=$1"
  echo "$reference"
}

install_site() {
  local site=$1 requirements=$2 tmp
  tmp=$(mktemp -d "$site.XXXXXX")
  "$HACK/uv" pip install --quiet --python-version "$PYTHON_VERSION" --no-deps --require-hashes \
    --python-platform "$(docker info --format '{{.Architecture}}')-$MANYLINUX" \
    --target "$tmp/site" --requirements "$requirements"
  "$IMAGES/prune-site" "$tmp/site"
  publish "$tmp" "$site"
}

# site PACKAGE: prints the folder with the package's locked dependencies, installed for the image's Python.
site() {
  local folder=$CACHE/images requirements key
  mkdir -p "$folder"
  requirements=$folder/$1.requirements.$$
  (cd "$REPO" && "$HACK/uv" export --quiet --frozen --no-dev --no-emit-workspace --no-header \
    --package "krt-$1") >"$requirements"
  key=$(sources_key "$(docker info --format '{{.Architecture}}') $(cat "$requirements")" \
    hack/images/prune-site hack/images/spark/unused-jars)
  if [[ ! -d $folder/site-$1-$key ]]; then
    step "install the dependencies of $1" install_site "$folder/site-$1-$key" "$requirements"
  fi
  rm -f "$requirements"
  echo "$folder/site-$1-$key"
}

# dependencies PACKAGE RUNTIME: prints the reference of the runtime with the package's dependencies.
dependencies() {
  local package=$1 base=$2 folder reference
  folder=$(site "$package")
  reference=krt/deps-$package:$(sources_key "$base ${folder##*-}" hack/images/deps)
  build_image "$reference" "$folder" --file "$IMAGES/deps/Dockerfile" --build-arg "BASE=$base"
  echo "$reference"
}

# package_image PACKAGE DEPENDENCIES FOLDER SOURCES...: prints the reference of the finished image, the
# package's few files on its dependencies.
package_image() {
  local package=$1 dependencies=$2 folder=$3 reference
  shift 3
  reference=$REGISTRY_ON_HOST/krt-$package:$(sources_key "$dependencies" .dockerignore "$folder/Dockerfile" "$@")
  build_image "$reference" "$REPO" --file "$REPO/$folder/Dockerfile" --build-arg "BASE=$dependencies"
  echo "$reference"
}

# jars_image NAME FOLDER BASE MAVEN [VERSION]: prints the reference of a base with jars, of a version
# where the folder has several.
jars_image() {
  local name=$1 folder=$2 base=$3 maven=$4 version=${5:-} reference
  reference=$name:$(sources_key "$base $version" "hack/images/$folder")
  build_image "$reference" "$IMAGES/$folder" --build-arg "BASE=$base" --build-arg "MAVEN=$maven" \
    ${version:+--build-arg "VERSION=$version"}
  echo "$reference"
}

# store_image: prints the reference of the embedded evidence store, one program on nothing.
store_image() {
  local architecture program folder reference
  # The caller takes what is printed, and there bash does not end at a failure by itself: without the returns,
  # an earlier program would be in the image of these sources.
  architecture=$(docker info --format '{{.Architecture}}') || return
  case $architecture in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; esac
  program=$(GOOS=linux GOARCH=$architecture "$HACK/store.sh" program) || return
  folder=$CACHE/images/store
  mkdir -p "$folder"
  cp "$program" "$REPO/store/Dockerfile" "$folder/" || return
  reference=$REGISTRY_ON_HOST/krt-store:$(sources_key "$architecture" store)
  build_image "$reference" "$folder"
  echo "$reference"
}

# build_images: builds what is missing and sets `operator`, `traffic`, `scoring`, `store`, `kafka` and
# `kafkaKRaft` to references.
build_images() {
  local base java python spark maven=''
  base=$(base_image)
  java=$(runtime java "$base" "$PACKAGES_JAVA")
  python=$(runtime python "$base" "$PACKAGES_PYTHON")
  spark=$(runtime spark "$java" "$PACKAGES_SPARK")
  maven=$(maven_image "$java")
  operator=$(package_image operator "$(dependencies operator "$python")" operator operator/src contract/src)
  traffic=$(package_image traffic "$(dependencies traffic "$python")" traffic traffic/src contract/src)
  spark=$(jars_image krt/spark spark "$(dependencies scoring "$spark")" "$maven")
  scoring=$(package_image scoring "$spark" spark spark/src contract/src)
  store=$(store_image)
  if [[ $base == krt/* ]]; then
    kafka=$(jars_image "$REGISTRY_ON_HOST/krt-kafka" kafka "$java" "$maven" "$KAFKA_VERSION")
    kafkaKRaft=$(jars_image "$REGISTRY_ON_HOST/krt-kafka-kraft" kafka "$java" "$maven" "$KAFKA_KRAFT_VERSION")
  else
    kafka=$KAFKA_IMAGE
    kafkaKRaft=$KAFKA_KRAFT_IMAGE
  fi
}

build() {
  local operator traffic scoring store kafka kafkaKRaft image
  build_images
  "$HACK/registry.sh" up
  for image in "$operator" "$traffic" "$scoring" "$store" "$kafka" "$kafkaKRaft"; do
    case $image in
      "$REGISTRY_ON_HOST"/*) step "push ${image#*/}" docker push --quiet "$image" ;;
    esac
  done
  write_values "$STATE/images.values.yaml" "$operator" "$traffic" "$scoring" "$store" "$kafka" "$kafkaKRaft"
}

# push REGISTRY/PATH [TAG]: an image that is pulled anyway, Kafka's own, stays where it is.
push() {
  local target=${1%/} tag=${2:-} operator traffic scoring store kafka kafkaKRaft image pushed
  local values=$REPO/build/images.values.yaml
  check_target "$target" "$tag"
  build_images
  for image in operator traffic scoring store kafka kafkaKRaft; do
    case ${!image} in
      "$REGISTRY_ON_HOST"/*)
        pushed=$(push_image "${!image}" "$target" "$tag")
        printf -v "$image" '%s' "$pushed"
        ;;
    esac
  done
  write_values "$values" "$operator" "$traffic" "$scoring" "$store" "$kafka" "$kafkaKRaft"
  log "images: $values"
  log "install them with: helm upgrade --install krt helm/kafka-resilience --namespace krt-system" \
    "--create-namespace --values build/images.values.yaml --wait"
}

# fetch NODE KEPT REFERENCE...: pulls images on a node with containerd's client. Images of this project that
# are neither among these nor KEPT (references in one word) nor in use are removed: every change of a source
# leaves one behind.
fetch() {
  local node=$1 kept=$2
  shift 2
  # shellcheck disable=SC2016  # expanded in the node
  docker exec "$node" sh -euc '
    ours=$1
    kept=$2
    shift 2
    for image in "$@"; do
      if [ -z "$(ctr -n k8s.io images ls -q "name==$image")" ]; then
        ctr -n k8s.io images pull --hosts-dir /etc/containerd/certs.d "$image"
      fi
    done
    used=$(ctr -n k8s.io containers ls | awk "NR > 1 {print \$2}")
    # An image has several names with one digest, and is kept as long as it has one of them.
    stale=$(ctr -n k8s.io images ls | awk -v ours="$ours/krt-" -v keep="$(echo "$@" $kept $used)" "
      BEGIN {count = split(keep, names); for (i = 1; i <= count; i++) listed[names[i]]}
      NR > 1 {
        digest[\$1] = \$3
        if (\$1 in listed) kept[\$3]
        if (index(\$1, ours) == 1) candidate[\$3]
      }
      END {for (name in digest) if ((digest[name] in candidate) && !(digest[name] in kept)) print name}")
    if [ -n "$stale" ]; then ctr -n k8s.io images rm $stale; fi' fetch "$REGISTRY_IN_CLUSTER" "$kept" "$@"
}

# fetch_on_every_node KEPT REFERENCE...: see fetch.
fetch_on_every_node() {
  local node nodes jobs='' job rc=0
  nodes=$(docker ps --filter "label=io.x-k8s.kind.cluster=$CLUSTER" --filter label=io.x-k8s.kind.role=worker \
    --format '{{.Names}}')
  if [[ -z $nodes ]]; then die "there is no cluster $CLUSTER to load images into" 'run hack/up (or make up)'; fi
  for node in $nodes; do
    fetch "$node" "$@" &
    jobs="$jobs $!"
  done
  for job in $jobs; do wait "$job" || rc=1; done
  return "$rc"
}

# references FILTER: prints the images of the values file, of the lines that this filter of sed leaves.
references() {
  sed -nE "$1; "'s/.*registry: "(.*)", repository: "(.*)", tag: "(.*)".*/\1\/\2:\3/p' "$STATE/images.values.yaml"
}

load() {
  local kept
  "$HACK/registry.sh" connect
  # The controller and the store run on one node only, which fetches the image when it must; so does the node
  # of a member in KRaft mode.
  kept=$(references '/ (operator|store|kafkaKRaft):/!d' | tr '\n' ' ')
  # shellcheck disable=SC2046  # a list of references
  step 'every node pulls the images' fetch_on_every_node "$kept" $(references '/ (operator|store|kafkaKRaft):/d')
  log "images: $STATE/images.values.yaml"
}

case ${1:-all} in
  build) build ;;
  load) load ;;
  push)
    [[ -n ${2:-} ]] || die 'hack/images.sh push needs a registry' 'name it, for example PUSH=registry.example.com/team'
    push "$2" "${3:-}"
    ;;
  all)
    build
    load
    ;;
  *) die "hack/images.sh has the commands 'build', 'load' and 'push', not '$1'" ;;
esac
