#!/bin/bash
# The case of the Kubeflow thread "Prevent scheduling deadlocks", seen on a real kube-apiserver: four PyTorchJobs of eight
# pods, eight GPUs, ten seconds each. First under Lockstep; then the same pods, created round-robin over the jobs, under the
# default kube-scheduler.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
work=$(mktemp -d)
export PATH="$(tools/kube/path):$PATH"
lockstep=build/lockstep
started=()

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

finish() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  "$here/tools/kube/down" "$work/kube" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

start() {  # LOG COMMAND...
  local log=$work/$1; shift
  "$@" >"$log" 2>&1 &
  started+=($!)
}

wait_for() {  # SECONDS WHAT COMMAND...: until the command succeeds
  local end=$((SECONDS + $1)) what=$2; shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { echo "$what: not in time; logs:" >&2; tail -n 5 "$work"/*.log >&2; exit 1; }
    read -rt 0.2 <> <(:) || true
  done
}

say "1. A real etcd and kube-apiserver, with eight pretended nodes of one GPU each"
tools/kube/up "$work/kube" --scheduler --owner $$ >/dev/null
export KUBECONFIG=$work/kube/kubeconfig
$lockstep crds | kubectl apply --server-side -f - >/dev/null
kubectl wait --for=condition=Established crd --all --timeout=60s >/dev/null
start hollow.log $lockstep hollow --nodes 8 --gpu 1 --run-time 10s
wait_for 60 "the nodes" grep -q '^ready' "$work/hollow.log"
kubectl get nodes -o custom-columns='NODE:.metadata.name,GPUS:.status.allocatable.nvidia\.com/gpu'

say "2. Four jobs of eight pods for eight GPUs, under Lockstep"
start operator.log $lockstep operator --log-format text
kubectl apply -f examples/seed/
$lockstep top --until-done
kubectl get pytorchjobs
if kubectl get pytorchjobs -o jsonpath='{.items[*].status.conditions[-1:].type}' | tr ' ' '\n' | grep -qv Succeeded; then
  echo "not all four jobs succeeded" >&2; exit 1
fi
kubectl get events --field-selector reason=Placed --sort-by=.metadata.creationTimestamp \
  -o custom-columns='PLACED:.firstTimestamp,JOB:.involvedObject.name,HOW:.message'

say "3. The same pods without Lockstep: created round-robin, placed by the default kube-scheduler"
kubectl delete pytorchjobs --all >/dev/null
wait_for 60 "the old pods" bash -c '[ -z "$(kubectl get pods -o name)" ]'
python3 tools/demo_pods.py | kubectl apply -f - >/dev/null
scheduled() { [ "$(kubectl get pods -o jsonpath='{.items[*].spec.nodeName}' | wc -w)" -eq 8 ]; }
wait_for 60 "the scheduler" scheduled
$lockstep top --for 2s
whole=$(kubectl get pods -o json | python3 tools/demo_pods.py --whole)
if [ "$whole" -eq 0 ]; then
  echo "Eight GPUs are taken and no job has all of its pods: none can ever start. That is the deadlock."
else
  echo "The scheduler happened to complete $whole of the four jobs this time; run it again."
fi
