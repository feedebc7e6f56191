# shellcheck shell=bash
# Writes an OCI image layout by hand: static programs become images without a builder, and without
# a tag in anybody's engine. Sourced; LAYOUT is the folder.

oci_begin() {
  LAYOUT=$1
  mkdir -p "$LAYOUT/blobs/sha256"
  echo '{"imageLayoutVersion": "1.0.0"}' >"$LAYOUT/oci-layout"
  echo '{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}' \
    >"$LAYOUT/index.json"
}

# oci_blob FILE: moves it into the layout, prints digest and size.
oci_blob() {
  local digest size
  digest=$(sha256 "$1" | cut -d ' ' -f 1)
  size=$(stat -c %s "$1")
  mv "$1" "$LAYOUT/blobs/sha256/$digest"
  echo "sha256:$digest $size"
}

# oci_layer TAR: prints a layer (`digest size diff-id`); zstd, because every node has a copy of it.
oci_layer() {
  local diff
  diff=$(sha256 "$1" | cut -d ' ' -f 1)
  zstd --quiet -6 --rm -o "$1.zst" "$1"
  echo "$(oci_blob "$1.zst") sha256:$diff"
}

# oci_layer_of FOLDER: the same of a folder's contents, owned by root.
oci_layer_of() {
  local file=$LAYOUT/layer.$BASHPID.tar
  tar -C "$1" --owner 0 --group 0 --numeric-owner --sort name --mtime @0 -cf "$file" .
  oci_layer "$file"
}

# oci_image NAME ENTRYPOINT-JSON LAYER...: adds an image of these layers, lowest first.
oci_image() {
  local name=$1 entrypoint=$2 arch config manifest layers
  shift 2
  arch=$(dpkg --print-architecture)
  layers=$(printf '%s\n' "$@" | jq -Rn '[inputs | split(" ") | {digest: .[0], size: (.[1] | tonumber), diff: .[2]}]')
  jq -n --argjson l "$layers" --argjson e "$entrypoint" --arg arch "$arch" '{architecture: $arch, os: "linux",
    config: {Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], Entrypoint: $e},
    rootfs: {type: "layers", diff_ids: [$l[].diff]}}' >"$LAYOUT/config.tmp"
  config=$(oci_blob "$LAYOUT/config.tmp")
  jq -n --argjson l "$layers" --arg c "$config" '{schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: {mediaType: "application/vnd.oci.image.config.v1+json",
      digest: ($c | split(" ")[0]), size: ($c | split(" ")[1] | tonumber)},
    layers: [$l[] | {mediaType: "application/vnd.oci.image.layer.v1.tar+zstd", digest, size}]}' >"$LAYOUT/manifest.tmp"
  manifest=$(oci_blob "$LAYOUT/manifest.tmp")
  jq --arg m "$manifest" --arg name "$name" --arg arch "$arch" '.manifests += [{
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    digest: ($m | split(" ")[0]), size: ($m | split(" ")[1] | tonumber),
    platform: {architecture: $arch, os: "linux"},
    annotations: {"io.containerd.image.name": $name}}]' "$LAYOUT/index.json" >"$LAYOUT/index.tmp"
  mv "$LAYOUT/index.tmp" "$LAYOUT/index.json"
}
