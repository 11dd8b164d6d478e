"""`lockstep audit` judges from a live watch as from the audit log of the same run: gangs of Lockstep's, a doubled index, a
node with too much on it, a part of a pod group; then the default scheduler's deadlock of four jobs on eight GPUs."""
import json
import os
import signal
import subprocess
import sys

from cluster import CORE, Cluster, live, pytorchjob, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import demo_pods

PODS = f"{CORE}/namespaces/default/pods"
LIMITS = ("--stuck-after", "2s", "--excess-after", "0s")


class LiveAudit:
    """`lockstep audit` as it watches; `end` gives its verdict."""

    def __init__(self, cluster, *flags):
        self.process = subprocess.Popen([cluster.lockstep, "audit", "-o", "json", *flags], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        assert self.process.stderr.readline() == "lockstep audit: watching\n"

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, json.loads(out)


def pod(name, node=None, gpu=1, labels=None, annotations=None):
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/train",
                                                      "resources": {"limits": {"nvidia.com/gpu": str(gpu)}}}]}
    if node:
        spec["nodeName"] = node
    annotations = {"hollow.lockstep.dev/run-time": "forever", **(annotations or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}, "annotations": annotations},
            "spec": spec}


def rank(name, node, attempt):
    return pod(name, node, labels={"training.kubeflow.org/job-name": "twice", "training.kubeflow.org/replica-type": "worker",
                                   "training.kubeflow.org/replica-index": "0", "lockstep.dev/attempt": attempt})


def break_rules(cluster):
    """One of each, by hand."""
    for attempt in ("1", "2"):
        cluster.api.create(PODS, rank(f"twice-worker-0-{attempt}", f"node-{attempt}", attempt))
    cluster.api.create(PODS, pod("fits", "node-3"))
    cluster.api.create(PODS, pod("too-much", "node-3"))
    wait_until("the kubelet refuses it", lambda: cluster.api.get(f"{PODS}/too-much")["status"]["phase"] == "Failed")
    cluster.api.create(PODS, pod("part-0", "node-4", annotations={"kueue.x-k8s.io/pod-group-total-count": "2"},
                                 labels={"kueue.x-k8s.io/pod-group-name": "part"}))


def rules(report):
    """What was broken, by whom; without times and names that differ between the two forms."""
    return sorted((v["rule"], v["message"].split(":")[0]) for v in report["violations"])


def gangs(report):
    return sorted((g["job"], g["attempt"], g["pods"], g["size"], g["whole"]) for g in report["gangs"])


def near(a, b, off):
    assert abs(a - b) <= off, (a, b)


def same_verdict(live_report, log_report):
    assert live_report["source"] == "watch" and log_report["source"] == "log"
    assert rules(live_report) == rules(log_report), (live_report["violations"], log_report["violations"])
    assert gangs(live_report) == gangs(log_report), (gangs(live_report), gangs(log_report))
    for key in ("nodes", "pods", "foreignPods", "neverWhole"):
        assert live_report[key] == log_report[key], (key, live_report[key], log_report[key])
    # What a watch can't see are writes that changed nothing.
    near(live_report["writes"]["perPod"], log_report["writes"]["perPod"], 0.1 * log_report["writes"]["perPod"])
    assert live_report["notSeen"] == [], live_report["notSeen"]


def judged_alike(cluster):
    audit = LiveAudit(cluster, *LIMITS)
    cluster.hollow(8, gpu=1, run_time="500ms")
    operator = cluster.operator()
    for i in range(6):
        cluster.submit(pytorchjob(f"job-{i}", 2 + i))
    cluster.wait_for_jobs(6)
    assert operator.stop() == 0
    clean = cluster.audit()  # until here nobody broke a rule
    assert len(clean["gangs"]) == 6
    break_rules(cluster)
    begin = cluster.verdict(*LIMITS, os.environ["LOCKSTEP_AUDIT_LOG"])
    part = next(g for g in begin["gangs"] if g["job"] == "default/part")
    # The log knows how far time has come by the last write in it: one that says nothing will do.
    count = iter(range(10 ** 6))

    def held_for_long():
        cluster.api.patch(f"{PODS}/part-0", {"metadata": {"annotations": {"example.com/look": str(next(count))}}})
        report = cluster.verdict(*LIMITS, os.environ["LOCKSTEP_AUDIT_LOG"])
        return any(v["rule"] == "StuckPart" for v in report["violations"])

    wait_until("the part has held its node too long", held_for_long)
    assert part["pods"] == 1 and part["size"] == 2 and not part["whole"], part
    status, live_report = audit.end()
    log_report = cluster.verdict(*LIMITS, os.environ["LOCKSTEP_AUDIT_LOG"])
    assert status == 1
    assert rules(live_report) == [("DoubledPod", "default/twice"), ("OverCommit", "node node-3"),
                                  ("StuckPart", "default/part")], live_report["violations"]
    same_verdict(live_report, log_report)
    for key in ("secondsToAssigned", "secondsToRunning"):
        near(live_report[key]["p50"], log_report[key]["p50"], 2)  # a busy machine shows things late
    print(f"writes per pod: {live_report['writes']['perPod']:.2f} seen live, "
          f"{log_report['writes']['perPod']:.2f} in the log", flush=True)


def delete_everything(cluster):
    cluster.api.request("DELETE", f"{PODS}?gracePeriodSeconds=0")
    for job in cluster.jobs():
        cluster.api.delete(f"/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/{job}")
    wait_until("no pod", lambda: not cluster.pods())


def deadlock_of_the_default_scheduler(cluster):
    """Part two of the demo: plain pods, created round-robin over four jobs of eight, for eight GPUs."""
    audit = LiveAudit(cluster, *LIMITS)
    for i in range(demo_pods.PODS):
        for job in demo_pods.JOBS:
            cluster.api.create(PODS, demo_pods.pod(job, i))
    wait_until("the scheduler has filled the nodes", lambda: sum(
        1 for p in cluster.pods() if p["spec"].get("nodeName")) == 8)
    assert demo_pods.whole({"items": cluster.pods()}) == 0, "it happened to complete one"
    # A second audit begins when all is stuck already.
    late = cluster.verdict(*LIMITS, "--for", "4s")
    status, report = audit.end()
    assert status == 1
    for verdict in (report, late):
        stuck = {v["message"].split(":")[0] for v in verdict["violations"]}
        jobs = {f"default/{job}" for job in demo_pods.JOBS}
        assert stuck == jobs and {v["rule"] for v in verdict["violations"]} == {"StuckPart"}, verdict["violations"]
        ours = [g for g in verdict["gangs"] if g["job"] in jobs]
        assert sum(g["pods"] for g in ours) == 8 and {g["size"] for g in ours} == {8}, ours
        assert verdict["neverWhole"] == 4 and all(g["gpuSecondsWaiting"] > 0 for g in ours), ours
        assert verdict["gpuSecondsWaiting"] >= 8 * 2, verdict["gpuSecondsWaiting"]
    print("stuck:", ", ".join(f"{g['job']} {g['pods']}/{g['size']}" for g in report["gangs"]), flush=True)
    log = cluster.verdict(*LIMITS, os.environ["LOCKSTEP_AUDIT_LOG"])
    of_demo = [g for g in gangs(log) if g[0].split("/")[1] in demo_pods.JOBS]
    assert of_demo == gangs(report), (of_demo, gangs(report))
    text = subprocess.run([cluster.lockstep, "audit", *LIMITS, "--for", "3s"], capture_output=True, text=True).stdout
    print(text, flush=True)
    assert "GPU-SECONDS HELD IN PART" in text and "StuckPart default/bert" in text, text


def main():
    cluster = Cluster()
    judged_alike(cluster)
    delete_everything(cluster)
    deadlock_of_the_default_scheduler(cluster)
    assert live(cluster.pods()), "stuck to the end"


if __name__ == "__main__":
    main()
