#!/usr/bin/env python3
"""The demo's four jobs as plain pods, in round-robin order; with --whole: how many jobs have all pods on nodes."""
import json
import sys

JOBS, PODS = ["bert", "gpt", "llama", "vit"], 8
JOB_LABEL = "training.kubeflow.org/job-name"


def pod(job, index):
    # A rank that waits for its peers does not end by itself: it runs from the moment all eight of them run.
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{job}-{index}", "namespace": "default", "labels": {JOB_LABEL: job},
                         "annotations": {"hollow.lockstep.dev/rendezvous": f"{job}/{PODS}"}},
            "spec": {"restartPolicy": "Never",
                     "containers": [{"name": "pytorch", "image": "example.com/train",
                                     "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}


def whole(pods):
    on_nodes = {}
    for item in pods["items"]:
        job = item["metadata"]["labels"][JOB_LABEL]
        on_nodes[job] = on_nodes.get(job, 0) + bool(item["spec"].get("nodeName"))
    return sum(1 for count in on_nodes.values() if count == PODS)


if __name__ == "__main__":
    if sys.argv[1:] == ["--whole"]:
        print(whole(json.load(sys.stdin)))
    else:
        json.dump({"apiVersion": "v1", "kind": "List",
                   "items": [pod(job, i) for i in range(PODS) for job in JOBS]}, sys.stdout)
