{{/* Refuses chart values under their old names, in one line that gives the new name. */}}
{{- define "krt.refuseOldValues" -}}
{{- if hasKey .Values "releaseOnUninstall" -}}
{{- fail "value releaseOnUninstall does not exist; it is now removeFinalizersOnUninstall" -}}
{{- end -}}
{{- end -}}

{{/* Name of the controller's objects: release and chart, once if they are the same. */}}
{{- define "krt.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "krt.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "krt.labels" -}}
{{ include "krt.selector" . }}
app.kubernetes.io/part-of: kafka-resilience
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Reference of an image: list of the image's values and the default tag. */}}
{{- define "krt.image" -}}
{{- $image := index . 0 -}}
{{- $tag := $image.tag | default (index . 1) -}}
{{- with $image.registry }}{{ . }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $tag }}{{ end -}}
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

{{/* Environment of krt_operator.app.settings, for the controller and for the hook that removes
finalizers. */}}
{{- define "krt.settings" -}}
- name: KRT_IMAGE_OPERATOR
  value: {{ include "krt.image" (list .Values.images.operator .Chart.AppVersion) | quote }}
- name: KRT_IMAGE_TRAFFIC
  value: {{ include "krt.image" (list .Values.images.traffic .Chart.AppVersion) | quote }}
- name: KRT_IMAGE_SCORING
  value: {{ include "krt.image" (list .Values.images.scoring .Chart.AppVersion) | quote }}
- name: KRT_IMAGE_KAFKA
  value: {{ include "krt.image" (list .Values.images.kafka .Chart.AppVersion) | quote }}
- name: KRT_IMAGE_PULL_POLICY
  value: {{ .Values.imagePullPolicy | quote }}
- name: KRT_EVIDENCE_STORAGE_CLASS
  value: {{ .Values.evidence.storageClass | quote }}
- name: KRT_MAX_CONCURRENT_TESTS
  value: {{ .Values.maxConcurrentTests | quote }}
- name: KRT_WATCH_NAMESPACES
  value: {{ join "," .Values.watchNamespaces | quote }}
- name: KRT_METRICS_PORT
  value: {{ .Values.metrics.port | quote }}
{{- end -}}
