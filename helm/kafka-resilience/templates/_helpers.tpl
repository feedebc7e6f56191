{{/* Refuses chart values under their old names, in one line that gives the new name. */}}
{{- define "krt.refuseOldValues" -}}
{{- if hasKey .Values "releaseOnUninstall" -}}
{{- fail "value releaseOnUninstall does not exist; it is now removeFinalizersOnUninstall" -}}
{{- end -}}
{{- end -}}

{{/* Name of the chart, as names and labels have it. */}}
{{- define "krt.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of the controller's objects: release and chart, once if they are the same. */}}
{{- define "krt.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else if contains (include "krt.name" .) .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "krt.name" .) | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Service account of the controller. */}}
{{- define "krt.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "krt.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Secret with the key from which the controller makes the credentials of secured clusters. */}}
{{- define "krt.keySecret" -}}
{{- printf "%s-key" (include "krt.fullname" . | trunc 59 | trimSuffix "-") -}}
{{- end -}}

{{/* Namespaces whose tests are run, joined by commas; empty means all. */}}
{{- define "krt.watchNamespaces" -}}
{{- if and .Values.rbac.namespaced (not .Values.watchNamespaces) -}}
{{- .Release.Namespace -}}
{{- else -}}
{{- join "," .Values.watchNamespaces -}}
{{- end -}}
{{- end -}}

{{/* Kind of the roles: Role in each namespace, or ClusterRole. */}}
{{- define "krt.roleKind" -}}
{{- if .Values.rbac.namespaced }}Role{{ else }}ClusterRole{{ end -}}
{{- end -}}

{{/* Namespaces that have the roles, joined by commas; empty means that they are ClusterRoles. */}}
{{- define "krt.roleNamespaces" -}}
{{- if .Values.rbac.namespaced }}{{ include "krt.watchNamespaces" . }}{{ end -}}
{{- end -}}

{{- define "krt.selector" -}}
app.kubernetes.io/name: {{ include "krt.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "krt.labels" -}}
{{ include "krt.selector" . }}
{{ include "krt.commonLabels" . }}
{{- end -}}

{{/* Labels of every object of the release, beside the selector of its component. */}}
{{- define "krt.commonLabels" -}}
app.kubernetes.io/part-of: kafka-resilience
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Reference of an image: list of the root and of the image's name in the values. */}}
{{- define "krt.image" -}}
{{- $root := index . 0 -}}
{{- $image := index $root.Values.images (index . 1) -}}
{{- $tag := $image.tag | default $root.Chart.AppVersion -}}
{{- with $image.registry | default $root.Values.global.imageRegistry }}{{ . }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $tag }}{{ end -}}
{{- end -}}

{{/* Names of the pull secrets, joined by commas. */}}
{{- define "krt.pullSecrets" -}}
{{- $names := list -}}
{{- range .Values.imagePullSecrets }}{{- $names = append $names .name -}}{{- end -}}
{{- join "," $names -}}
{{- end -}}

{{/* Restricted pod security of the chart's pods. */}}
{{- define "krt.podSecurity" -}}
runAsNonRoot: true
seccompProfile: {type: RuntimeDefault}
{{- end -}}
{{- define "krt.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Name of the objects of the chart's object store. Of a StatefulSet, Kubernetes makes a label of at most 63
characters from the name and a hash of up to ten. */}}
{{- define "krt.storeName" -}}
{{- printf "%s-store" (include "krt.fullname" . | trunc 46 | trimSuffix "-") -}}
{{- end -}}

{{/* URL of the chart's object store. */}}
{{- define "krt.storeEndpoint" -}}
http://{{ include "krt.storeName" . }}.{{ .Release.Namespace }}.svc:9000
{{- end -}}

{{/* Secret with the keys of the object store; empty where there are none. */}}
{{- define "krt.storeSecret" -}}
{{- with .Values.evidence.objectStore -}}
{{- .credentials.secretName | default (ternary (include "krt.storeName" $) "" .enabled) -}}
{{- end -}}
{{- end -}}

{{- define "krt.storeSelector" -}}
app.kubernetes.io/name: {{ include "krt.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: store
{{- end -}}

{{- define "krt.storeLabels" -}}
{{ include "krt.storeSelector" . }}
{{ include "krt.commonLabels" . }}
{{- end -}}

{{/* The keys of the object store, for the containers of the chart that need them. The hook that removes
finalizers does not: the Secret is gone by then. */}}
{{- define "krt.storeKeys" -}}
{{- with include "krt.storeSecret" . -}}
- name: KRT_STORE_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: AWS_ACCESS_KEY_ID}}
- name: KRT_STORE_SECRET_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: AWS_SECRET_ACCESS_KEY}}
{{- end -}}
{{- end -}}

{{/* Volume source of the CAs that a bucket of one's own is trusted by; empty where none is named. */}}
{{- define "krt.storeCa" -}}
{{- with .Values.evidence.objectStore -}}
{{- if and .ca.secretName .ca.configMapName -}}
{{- fail "evidence.objectStore.ca has a secretName and a configMapName; leave one of them out" -}}
{{- end -}}
{{- if not .enabled -}}
{{- $items := list (dict "key" .ca.key "path" "ca.crt") -}}
{{- if .ca.secretName -}}
{{- dict "secret" (dict "secretName" .ca.secretName "items" $items) | toYaml -}}
{{- else if .ca.configMapName -}}
{{- dict "configMap" (dict "name" .ca.configMapName "items" $items) | toYaml -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the NetworkPolicies of tests say of the installation, as JSON; empty where there are none. */}}
{{- define "krt.testNetworkPolicies" -}}
{{- with .Values.networkPolicy -}}
{{- if .tests.enabled -}}
{{- $controller := include "krt.selector" $ | fromYaml -}}
{{- dict "controller" $controller "metricsFrom" .metricsFrom "dnsPorts" .tests.dnsPorts | toJson -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Environment of krt_operator.app.settings, for the controller and for the hook that removes
finalizers. */}}
{{- define "krt.settings" -}}
- name: KRT_IMAGE_OPERATOR
  value: {{ include "krt.image" (list . "operator") | quote }}
- name: KRT_IMAGE_TRAFFIC
  value: {{ include "krt.image" (list . "traffic") | quote }}
- name: KRT_IMAGE_SCORING
  value: {{ include "krt.image" (list . "scoring") | quote }}
- name: KRT_IMAGE_KAFKA
  value: {{ include "krt.image" (list . "kafka") | quote }}
- name: KRT_IMAGE_KAFKA_KRAFT
  value: {{ include "krt.image" (list . "kafkaKRaft") | quote }}
- name: KRT_IMAGE_PULL_POLICY
  value: {{ .Values.imagePullPolicy | quote }}
- name: KRT_IMAGE_PULL_SECRETS
  value: {{ include "krt.pullSecrets" . | quote }}
- name: KRT_EVIDENCE_DEFAULT
  value: {{ .Values.evidence.default }}
{{- with .Values.evidence.objectStore }}
{{- if or .enabled .bucket }}
- name: KRT_STORE_BUCKET
  value: {{ ternary "evidence" .bucket .enabled | quote }}
- name: KRT_STORE_ENDPOINT
  value: {{ ternary (include "krt.storeEndpoint" $) .endpoint .enabled | quote }}
- name: KRT_STORE_REGION
  value: {{ ternary "us-east-1" .region .enabled | quote }}
- name: KRT_STORE_PREFIX
  value: {{ .prefix | quote }}
- name: KRT_STORE_PATH_STYLE
  value: {{ or .enabled .pathStyle | quote }}
{{- end }}
{{- end }}
- name: KRT_TEST_ACCOUNT_ANNOTATIONS
  value: {{ toJson .Values.testServiceAccounts.annotations | quote }}
- name: KRT_EVIDENCE_STORAGE_CLASS
  value: {{ .Values.evidence.storageClass | quote }}
- name: KRT_MAX_CONCURRENT_TESTS
  value: {{ .Values.maxConcurrentTests | quote }}
- name: KRT_MAX_CONCURRENT_TESTS_PER_NAMESPACE
  value: {{ .Values.maxConcurrentTestsPerNamespace | quote }}
- name: KRT_MAX_STARTING_TESTS
  value: {{ .Values.maxStartingTests | quote }}
- name: KRT_WATCH_NAMESPACES
  value: {{ include "krt.watchNamespaces" . | quote }}
- name: KRT_ROLE_KIND
  value: {{ include "krt.roleKind" . }}
- name: KRT_METRICS_PORT
  value: {{ .Values.metrics.port | quote }}
- name: KRT_TEST_NETWORK_POLICIES
  value: {{ include "krt.testNetworkPolicies" . | quote }}
{{- end -}}
