#!/usr/bin/env bash
# A kind cluster with gpusched in its kube-scheduler and made-up GPUs on its workers; README.md says what it needs.
set -euo pipefail
cd "$(dirname "$0")/../../.."

name=gpusched
node=$name-control-plane
overlay=manifests/overlays/kubeadm
image=gpusched:0.1.0
directory=/etc/kubernetes/gpusched
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT

kind create cluster --config manifests/overlays/kind/cluster.yaml
kubectl config use-context "kind-$name"
docker build --tag "$image" .
kind load docker-image "$image" --name "$name"

kubectl apply -k "$overlay"
kubectl --namespace gpusched-system rollout status deployment/gpusched --timeout 180s

gpusched certs issue "$files"
cp "$overlay/scheduler-config.yaml" "$files/"
docker exec "$node" mkdir -p -m 0700 "$directory"
docker cp "$files/." "$node:$directory/"

kubectl --namespace kube-system get configmap kubeadm-config \
  --output jsonpath='{.data.ClusterConfiguration}' > "$files/cluster.yaml"
if ! grep --quiet --line-regexp 'scheduler: {}' "$files/cluster.yaml"; then
  echo "kube-scheduler of this kind release is configured already: do step 4 of $overlay/README.md by hand" >&2
  exit 1
fi
{
  grep --invert-match --line-regexp 'scheduler: {}' "$files/cluster.yaml"
  sed -n '/^scheduler:/,$p' "$overlay/cluster-configuration.yaml"
} > "$files/merged.yaml"
docker exec --interactive "$node" sh -c 'cat > /kind/gpusched.yaml' < "$files/merged.yaml"
docker exec "$node" kubeadm init phase upload-config kubeadm --config /kind/gpusched.yaml
docker exec "$node" kubeadm init phase control-plane scheduler --config /kind/gpusched.yaml

for worker in "$name-worker" "$name-worker2"; do
  kubectl label node "$worker" --overwrite nvidia.com/gpu.present=true nvidia.com/gpu.product=Tesla-T4 \
    nvidia.com/gpu.count=1 nvidia.com/gpu.memory=15360 nvidia.com/gpu.replicas=1 nvidia.com/gpu.family=turing
  kubectl patch node "$worker" --subresource status --type json \
    --patch '[{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "1"}]'
done
echo "gpusched runs; try: kubectl apply -f manifests/samples/workloads.yaml"
