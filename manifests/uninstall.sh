#!/usr/bin/env bash
# Takes away what gpusched left on objects of others, with kubectl alone. See docs/uninstall.md for the order.
#
#   uninstall.sh release [--dry-run]  webhooks and policies, quota gates, and pods that wait by rules of gpusched
#   uninstall.sh gates [--dry-run]    quota gates alone: what waits for a quota goes on
#   uninstall.sh clean [--dry-run]    labels on nodes; once gpusched runs no more
# shellcheck disable=SC2016 # dollar signs in single quotes are those of templates and patches
set -euo pipefail

usage() {
  sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

dry_run=--dry-run=none
case "${2:-}" in
  "") ;;
  --dry-run) dry_run=--dry-run=server ;;
  *) usage ;;
esac

# Prints "namespace pod" of the pods that a template says yes to.
pods() {
  kubectl get pods --all-namespaces --output go-template="{{range .items}}{{\$pod := .}}$1{{end}}"
}
yes='{{$pod.metadata.namespace}} {{$pod.metadata.name}}{{"\n"}}'

stop_admission() {
  kubectl delete mutatingwebhookconfigurations,validatingwebhookconfigurations gpusched --ignore-not-found "$dry_run"
  kubectl delete validatingadmissionpolicybindings,validatingadmissionpolicies \
    --selector app.kubernetes.io/name=gpusched --ignore-not-found "$dry_run"
}

lift_gates() {
  pods "{{range .spec.schedulingGates}}{{if eq .name \"gpusched.io/quota\"}}$yes{{end}}{{end}}" |
    while read -r namespace pod; do
      kubectl --namespace "$namespace" patch pod "$pod" --type strategic "$dry_run" \
        --patch '{"spec":{"schedulingGates":[{"$patch":"delete","name":"gpusched.io/quota"}]}}'
    done
}

# Their affinity names labels that will go, or their scheduler will: both are fixed at creation. Whoever owns them creates
# them anew. A pod that nobody owns is named and left.
renew_waiting_pods() {
  ours='{{$ours := eq .spec.schedulerName "gpusched-scheduler"}}'
  ours="$ours"'{{with .metadata.annotations}}{{if index . "status.gpusched.io/lowered"}}{{$ours = true}}{{end}}{{end}}'
  waiting="{{if not .spec.nodeName}}$ours{{if \$ours}}"
  pods "$waiting{{if .metadata.ownerReferences}}$yes{{end}}{{end}}{{end}}" |
    while read -r namespace pod; do
      kubectl --namespace "$namespace" delete pod "$pod" --ignore-not-found --wait=false "$dry_run"
    done
  pods "$waiting{{if not .metadata.ownerReferences}}$yes{{end}}{{end}}{{end}}" |
    while read -r namespace pod; do
      echo "pod $namespace/$pod waits by rules of gpusched and has no owner: delete it and create it anew"
    done
}

remove_labels() {
  kubectl label nodes --all "$dry_run" \
    gpusched.io/vendor- gpusched.io/family- gpusched.io/product- gpusched.io/sharing- gpusched.io/gpu-memory-mib- \
    gpusched.io/visible-memory-mib- gpusched.io/slot-memory-mib- gpusched.io/replicas- gpusched.io/cuda-version- \
    gpusched.io/driver-version- gpusched.io/mixed-
}

case "${1:-}" in
  release)
    stop_admission
    lift_gates
    renew_waiting_pods
    ;;
  gates)
    lift_gates
    ;;
  clean)
    remove_labels
    ;;
  *)
    usage
    ;;
esac
