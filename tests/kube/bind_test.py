"""Pods that are bound: by the flag, and by themselves where a policy forbids nodes; nothing is bound in part, and no leader
that is killed in mid-binding leaves a part behind."""
import json
import os

from cluster import CORE, JOBS, Cluster, Refused, is_true, pytorchjob, wait_until

POLICIES = "/apis/admissionregistration.k8s.io/v1"


def scheduled(pod):
    return next((c for c in pod.get("status", {}).get("conditions", []) if c["type"] == "PodScheduled"), {})


def waits(pod):
    return "nodeName" not in pod["spec"] and scheduled(pod).get("reason") == "Unschedulable"


def waiting_pods_are_bound_together(cluster):
    """What an autoscaler sees of a gang without room, and what becomes of it when a node comes."""
    holder = pytorchjob("holder", 4, annotations={"hollow.lockstep.dev/run-time": "forever"})
    cluster.submit(holder)
    wait_until("holder runs", lambda: is_true(cluster.job("holder"), "Running"))
    cluster.submit(pytorchjob("waits", 4))
    pods = wait_until("all pods of the waiting gang say so",
                      lambda: len(p := cluster.pods("waits")) == 4 and all(map(waits, p)) and p)
    uids = {pod["metadata"]["uid"] for pod in pods}
    # As autoscalers look for them: pods without a node.
    pending = cluster.api.items(f"{CORE}/pods?fieldSelector=spec.nodeName=")
    assert {p["metadata"]["uid"] for p in pending} == uids
    assert all(p["spec"]["schedulerName"] == "lockstep" for p in pods)
    assert all("gang pytorchjob-waits" in scheduled(p)["message"] for p in pods), scheduled(pods[0])
    gang = cluster.gangs()["pytorchjob-waits"]
    assert gang["status"]["phase"] == "Queued" and not gang["status"].get("placement"), gang
    cluster.api.delete(f"{JOBS}/namespaces/default/pytorchjobs/holder")
    wait_until("it succeeds", lambda: is_true(cluster.job("waits"), "Succeeded"))
    assert {p["metadata"]["uid"] for p in cluster.pods("waits")} == uids, "the pods that waited are those that ran"
    assert all(scheduled(p)["status"] == "True" for p in cluster.pods("waits"))


def killed_in_mid_binding(cluster, operator):
    """The leader dies again and again while gangs are bound; every job ends, and the audit finds no part."""
    names = [f"kill-{i}" for i in range(12)]
    for name in names:
        cluster.submit(pytorchjob(name, 4))
    for _ in range(6):
        bindings = count_bindings()
        wait_until("some are bound", lambda: count_bindings() > bindings or done(cluster, names))
        operator.kill()
        operator = cluster.operator("--assign=bind")
    wait_until("all succeed", lambda: done(cluster, names))
    return operator


def done(cluster, names):
    jobs = cluster.jobs()
    return all(is_true(jobs[name], "Succeeded") for name in names)


def count_bindings():
    with open(os.environ["LOCKSTEP_AUDIT_LOG"]) as log:
        return sum('"subresource":"binding"' in line for line in log)


def by_itself(cluster):
    """A policy forbids spec.nodeName to whoever creates pods: an operator that would assign binds."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    cluster.api.create(f"{POLICIES}/validatingadmissionpolicies", {
        "metadata": {"name": "no-node-names"},
        "spec": {"matchConstraints": {"resourceRules": [rule]},
                 "validations": [{"expression": "!has(object.spec.nodeName)", "message": "nobody names nodes here"}]}})
    cluster.api.create(f"{POLICIES}/validatingadmissionpolicybindings", {
        "metadata": {"name": "no-node-names"},
        "spec": {"policyName": "no-node-names", "validationActions": ["Deny"],
                 "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "forbids"}}}}})
    cluster.api.create(f"{CORE}/namespaces", {"metadata": {"name": "forbids"}})
    probe = {"metadata": {"name": "probe"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}

    def forbidden():
        try:
            cluster.api.create(f"{CORE}/namespaces/forbids/pods?dryRun=All", probe)
        except Refused as e:
            return "nobody names nodes here" in str(e)
        return False

    wait_until("the policy is in force", forbidden)
    cluster.submit(pytorchjob("free", 4))
    cluster.submit(pytorchjob("bound", 4, ns="forbids"))
    wait_until("both succeed", lambda: is_true(cluster.job("free"), "Succeeded")
               and is_true(cluster.job("bound", ns="forbids"), "Succeeded"))
    assert cluster.gangs(ns="forbids")["pytorchjob-bound"]["status"]["way"] == "Bind"
    assert "way" not in cluster.gangs()["pytorchjob-free"]["status"], "others are assigned as before"


def main():
    cluster = Cluster()
    cluster.hollow(4, gpu=1, run_time="200ms")
    operator = cluster.operator("--assign=bind")
    waiting_pods_are_bound_together(cluster)
    operator = killed_in_mid_binding(cluster, operator)
    operator.stop()
    operator = cluster.operator()
    by_itself(cluster)
    report = cluster.audit()
    print(json.dumps({k: v for k, v in report.items() if k in ("writes", "gpuSecondsWaiting")})[:600], flush=True)


if __name__ == "__main__":
    main()
