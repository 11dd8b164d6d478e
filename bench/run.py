#!/usr/bin/env python3
"""End to end: whole gangs on a real API server with hollow nodes, beside a raw client that sends the same writes.

Each case runs on a control plane of its own. The writes of the operator and of the hollow nodes are taken from the API
server's audit log and sent again by `raw_client` on a fresh control plane: the time nobody could beat with these
writes. Prints a Markdown table row per case; --json FILE keeps everything.
"""
import argparse
import json
import sys

import audit_log
from control_plane import ControlPlane, wait_for

#        name        jobs pods nodes gpu run    waves: how many jobs fit at once, for the time of one wave
CASES = {
    "4x8": dict(jobs=4, pods=8, nodes=8, gpu=1, run="10s", wave=1, best=40, waves=4),
    "100x8": dict(jobs=100, pods=8, nodes=9, gpu=8, run="5s", wave=9, best=60, waves=12),
    "200x8": dict(jobs=200, pods=8, nodes=200, gpu=8, run="forever", wave=200, best=0, waves=1),
    "1x512": dict(jobs=1, pods=512, nodes=64, gpu=8, run="forever", wave=1, best=0, waves=1),
}


def job_manifest(name, pods):
    def replica(count):
        container = {"name": "pytorch", "image": "example.com/train", "resources": {"limits": {"nvidia.com/gpu": 1}}}
        return {"replicas": count, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}

    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, "namespace": "default"},
            "spec": {"pytorchReplicaSpecs": {"Master": replica(1), "Worker": replica(pods - 1)}}}


def submit_plan(case):
    path = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
    return [{"method": "POST", "path": path, "type": "application/json", "object": "submit",
             "body": json.dumps(job_manifest(f"job-{i:03}", case["pods"]))} for i in range(case["jobs"])]


def run_operator(case):
    """The audit log of one run, once everything runs (or has finished, where pods end)."""
    with ControlPlane() as plane:
        plane.hollow(case["nodes"], case["gpu"], case["run"])
        operator = plane.operator()
        submitted = plane.raw(submit_plan(case), connections=1)
        assert submitted["failed"] == 0, submitted
        part = "running" if case["run"] == "forever" else "succeeded"

        def all_there():
            entries = [e for e in plane.audit() if audit_log.is_write(e)]
            if part == "running" and count_running(entries) < case["jobs"] * case["pods"]:
                return False
            return len(audit_log.times(entries)[part]) >= case["jobs"]

        wait_for(all_there, 300, f'{case["jobs"]} jobs {part}')
        cpu = cpu_seconds(operator.pid)
        return [e for e in plane.audit() if audit_log.is_write(e)], cpu


def count_running(entries):
    return sum(1 for e in entries if e["objectRef"]["resource"] == "pods" and e["verb"] == "patch"
               and (e["requestObject"] or {}).get("status", {}).get("phase") == "Running")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def raw_time(case, plan):
    with ControlPlane() as plane:
        plane.raw(submit_plan(case), connections=32)
        result = plane.raw(plan)
        if result["failed"]:
            print(f'note: {result["failed"]} of {result["requests"]} raw writes failed: {result["first_error"]}',
                  file=sys.stderr)
        return result


def raw_create_bind(entries):
    """Pods per second of a client that creates the same pods unassigned and binds each."""
    plan, pods = [], 0
    for entry in entries:
        if entry["objectRef"]["resource"] != "pods" or entry["verb"] != "create":
            continue
        request = audit_log.request_of(entry)
        body = json.loads(request["body"])
        node = body["spec"].pop("nodeName")
        request["body"] = json.dumps(body)
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": body["metadata"]["name"]},
                   "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        plan += [request, {"method": "POST", "path": f'{request["path"]}/{body["metadata"]["name"]}/binding',
                           "type": "application/json", "body": json.dumps(binding), "object": request["object"]}]
        pods += 1
    with ControlPlane() as plane:
        return pods / plane.raw(plan)["seconds"]


def first_wave(case, entries):
    """The writes that concern the jobs of the first wave."""
    start_order = sorted(audit_log.times(entries)["assigned"].items(), key=lambda item: item[1])
    jobs = {name for name, _ in start_order[:case["wave"]]}
    return [e for e in entries if audit_log.ours(e) and any(job in audit_log.name_of(e) for job in jobs)]


def measure(name, case):
    entries, cpu = run_operator(case)
    times = audit_log.times(entries)
    written = [e for e in entries if audit_log.ours(e)]
    pods = case["jobs"] * case["pods"]
    last_assigned = max(times["assigned"].values())
    last = max((times["succeeded"] or times["running"]).values())
    row = {"case": name, "pods": pods, "assigned_s": last_assigned, "gangs_per_s": case["jobs"] / last_assigned,
           "pods_per_s": pods / last_assigned, "p50_s": audit_log.percentile(times["assigned"].values(), 0.5),
           "p99_s": audit_log.percentile(times["assigned"].values(), 0.99), "end_s": last,
           "gpu_seconds_held": audit_log.held_while_incomplete(entries),
           "writes_per_pod": len(written) / pods, "operator_cpu_s": cpu}
    if case["best"]:
        wave = raw_time(case, audit_log.plan_of(first_wave(case, entries)))["seconds"]
        row["raw_wave_s"] = wave
        row["bound_s"] = case["best"] + case["waves"] * 1.5 * wave
        row["within"] = row["end_s"] <= row["bound_s"]
    else:
        row["raw_s"] = raw_time(case, audit_log.plan_of(written))["seconds"]
        row["ratio_to_raw"] = row["end_s"] / row["raw_s"]
        row["raw_create_bind_pods_per_s"] = raw_create_bind(entries)
        row["of_create_bind"] = row["pods_per_s"] / row["raw_create_bind_pods_per_s"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[], metavar="CASE", help=" ".join(CASES))
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    rows = []
    for name in args.cases or CASES:
        row = measure(name, CASES[name])
        rows.append(row)
        print(f"{name}: " + ", ".join(f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}"
                                      for key, value in row.items() if key != "case"), flush=True)
    if args.json:
        with open(args.json, "w") as out:
            json.dump(rows, out, indent=2)
    return 0 if all(row.get("within", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
