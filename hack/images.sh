#!/usr/bin/env bash
# Builds our images and gives them to the cluster.
#   hack/images.sh          all of it
#   hack/images.sh build    build and push to the registry beside the cluster; needs the engine only
#   hack/images.sh give     let every node of the cluster fetch them, write the chart's image values
# An image's tag is a hash of what goes into it, so what has not changed is not built again.
set -Eeuo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=hack/engine.sh
. "$HACK/engine.sh"
engine_up
# shellcheck source=hack/images/lib.sh
. "$HACK/images/lib.sh"

PACKAGES_JAVA='openjdk-17-jre-headless procps'
PACKAGES_PYTHON='python3'
# libnss-wrapper: see images/runtime/entrypoint.
PACKAGES_SPARK='python3 libnss-wrapper'

# runtime NAME BASE PACKAGES: prints the reference of Debian with these packages.
runtime() {
  local name=$1 base=$2 packages=$3 identity=$2 reference
  # Ours are named by what is in them; a pulled one has its identity.
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

# site ROOM: prints the folder with the room's locked dependencies, installed for the image's Python.
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

# dependencies ROOM RUNTIME: prints the reference of the runtime with the room's dependencies.
dependencies() {
  local room=$1 base=$2 folder reference
  folder=$(site "$room")
  reference=krt/deps-$room:$(sources_key "$base ${folder##*-}" hack/images/deps)
  build_image "$reference" "$folder" --file "$IMAGES/deps/Dockerfile" --build-arg "BASE=$base"
  echo "$reference"
}

# room_image ROOM DEPENDENCIES FOLDER SOURCES...: prints the reference of the finished image, the
# room's few files on its dependencies.
room_image() {
  local room=$1 dependencies=$2 folder=$3 reference
  shift 3
  reference=$REGISTRY_ON_HOST/krt-$room:$(sources_key "$dependencies" .dockerignore "$folder/Dockerfile" "$@")
  build_image "$reference" "$REPO" --file "$REPO/$folder/Dockerfile" --build-arg "BASE=$dependencies"
  echo "$reference"
}


# jars_image REFERENCE-LESS-KEY FOLDER BASE MAVEN: what is made of a base and of jars.
jars_image() {
  local reference
  reference=$1:$(sources_key "$3" "hack/images/$2")
  build_image "$reference" "$IMAGES/$2" --build-arg "BASE=$3" --build-arg "MAVEN=$4"
  echo "$reference"
}

# value NAME REFERENCE: one image as the chart wants it, by the name nodes know it under.
value() {
  local registry=${2%%/*} path=${2#*/}
  if [[ $registry == "$REGISTRY_ON_HOST" ]]; then registry=$REGISTRY_IN_CLUSTER; fi
  printf '  %s: {registry: "%s", repository: "%s", tag: "%s"}\n' \
    "$1" "$registry" "${path%:*}" "${path##*:}"
}

build() {
  local base java python spark maven='' operator traffic scoring kafka
  base=$(base_image)
  java=$(runtime java "$base" "$PACKAGES_JAVA")
  python=$(runtime python "$base" "$PACKAGES_PYTHON")
  spark=$(runtime spark "$java" "$PACKAGES_SPARK")
  maven=$(maven_image "$java")
  operator=$(room_image operator "$(dependencies operator "$python")" operator operator/src contract/src)
  traffic=$(room_image traffic "$(dependencies traffic "$python")" traffic traffic/src contract/src)
  spark=$(jars_image krt/spark spark "$(dependencies scoring "$spark")" "$maven")
  scoring=$(room_image scoring "$spark" spark spark/src contract/src)
  if [[ $base == krt/* ]]; then
    kafka=$(jars_image "$REGISTRY_ON_HOST/krt-kafka" kafka "$java" "$maven")
  else
    kafka=$KAFKA_IMAGE
  fi
  "$HACK/registry.sh" up
  local image
  for image in "$operator" "$traffic" "$scoring" "$kafka"; do
    case $image in
      "$REGISTRY_ON_HOST"/*) step "push ${image#*/}" docker push --quiet "$image" ;;
    esac
  done
  mkdir -p "$STATE"
  {
    echo '# Written by hack/images.sh: which images the chart is to use.'
    echo 'images:'
    value operator "$operator"
    value traffic "$traffic"
    value scoring "$scoring"
    value kafka "$kafka"
  } >"$STATE/images.values.yaml.$$"
  mv "$STATE/images.values.yaml.$$" "$STATE/images.values.yaml"
}

# fetch NODE REFERENCE...: as kind gives images to a node, by containerd's own client. Images of ours
# that are neither among these nor in use go: every change of a source leaves one behind.
fetch() {
  local node=$1
  shift
  # shellcheck disable=SC2016  # expanded in the node
  docker exec "$node" sh -euc '
    ours=$1
    shift
    for image in "$@"; do
      if [ -z "$(ctr -n k8s.io images ls -q "name==$image")" ]; then
        ctr -n k8s.io images pull --hosts-dir /etc/containerd/certs.d "$image"
      fi
    done
    used=$(ctr -n k8s.io containers ls | awk "NR > 1 {print \$2}")
    # An image has several names with one digest, and stays as long as it has one of them.
    stale=$(ctr -n k8s.io images ls | awk -v ours="$ours/krt-" -v keep="$(echo "$@" $used)" "
      BEGIN {count = split(keep, names); for (i = 1; i <= count; i++) wanted[names[i]]}
      NR > 1 {
        digest[\$1] = \$3
        if (\$1 in wanted) kept[\$3]
        if (index(\$1, ours) == 1) candidate[\$3]
      }
      END {for (name in digest) if ((digest[name] in candidate) && !(digest[name] in kept)) print name}")
    if [ -n "$stale" ]; then ctr -n k8s.io images rm $stale; fi' fetch "$REGISTRY_IN_CLUSTER" "$@"
}

fetch_on_every_node() {
  local node nodes jobs='' job rc=0
  nodes=$(docker ps --filter "label=io.x-k8s.kind.cluster=$CLUSTER" --filter label=io.x-k8s.kind.role=worker \
    --format '{{.Names}}')
  if [[ -z $nodes ]]; then die "there is no cluster $CLUSTER to give images to" 'run hack/up (or make up)'; fi
  for node in $nodes; do
    fetch "$node" "$@" &
    jobs="$jobs $!"
  done
  for job in $jobs; do wait "$job" || rc=1; done
  return "$rc"
}

give() {
  local references
  "$HACK/registry.sh" connect
  # The controller runs on one node only, which fetches its image when it must.
  references=$(sed -n '/ operator:/d; s/.*registry: "\(.*\)", repository: "\(.*\)", tag: "\(.*\)".*/\1\/\2:\3/p' \
    "$STATE/images.values.yaml")
  # shellcheck disable=SC2086  # a list of references
  step 'every node fetches the images' fetch_on_every_node $references
  log "images: $STATE/images.values.yaml"
}

case ${1:-all} in
  build) build ;;
  give) give ;;
  all)
    build
    give
    ;;
  *) die "hack/images.sh knows 'build' and 'give', not '$1'" ;;
esac
