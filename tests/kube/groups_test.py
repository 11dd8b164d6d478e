"""Pods that no job of ours made start together: batch/v1 Jobs under the real Job controller, steered while gated or bound by
us; a pod that fails is replaced; what makes no sense is told, and other schedulers' groups are never touched."""
from cluster import CORE, Cluster, wait_until

BATCH = "/apis/batch/v1"
POD_GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1"
SIZE = 4
GANG, GANG_SIZE, POD_GROUP = "lockstep.dev/gang", "lockstep.dev/gang-size", "scheduling.x-k8s.io/pod-group"


def job(name, *, gated=True, labels=None, scheduler="lockstep"):
    marks = {GANG: name, GANG_SIZE: str(SIZE)} if labels is None else labels
    pod = {"restartPolicy": "Never",
           "containers": [{"name": "main", "image": "example.com/main", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    if gated:
        pod["schedulingGates"] = [{"name": GANG}]
    else:
        pod["schedulerName"] = scheduler
    return {"metadata": {"name": name},
            "spec": {"parallelism": SIZE, "completions": SIZE, "completionMode": "Indexed", "backoffLimit": 6,
                     "template": {"metadata": {"labels": marks}, "spec": pod}}}


def submit(cluster, body):
    cluster.api.create(f"{BATCH}/namespaces/default/jobs", body)


def pods(cluster, name):
    return cluster.api.items(f"{CORE}/namespaces/default/pods?labelSelector=batch.kubernetes.io/job-name={name}")


def running(cluster, name):
    return [p for p in pods(cluster, name)
            if p["status"]["phase"] == "Running" and "deletionTimestamp" not in p["metadata"]]


def uids(there):
    return {p["metadata"]["uid"] for p in there}


def status(cluster, gang):
    return cluster.gangs().get(f"podset-{gang}", {}).get("status", {})


def finish(cluster, name, gang=None):
    cluster.api.request("DELETE", f"{BATCH}/namespaces/default/jobs/{name}", {"propagationPolicy": "Background"})
    wait_until(f"{name} is gone",
               lambda: not pods(cluster, name) and f"podset-{gang or name}" not in cluster.gangs())


def starts_whole(cluster, name, gang=None):
    wait_until(f"{name} runs", lambda: len(running(cluster, name)) == SIZE,
               describe=lambda: str(status(cluster, gang or name))[:800])


def together_or_not_at_all(cluster):
    """Two Jobs that each fill the cluster: the second gets nothing, and then everything. By both ways."""
    for first, second, gated in (("a", "b", True), ("c", "d", False)):
        submit(cluster, job(first, gated=gated))
        starts_whole(cluster, first)
        submit(cluster, job(second, gated=gated))
        wait_until("the second waits", lambda name=second: status(cluster, name).get("reason") == "InsufficientResources")
        there = pods(cluster, second)
        assert len(there) == SIZE and not any("nodeName" in p["spec"] for p in there)
        assert all(("schedulingGates" in p["spec"]) == gated for p in there)
        finish(cluster, first)
        starts_whole(cluster, second)
        assert uids(running(cluster, second)) == uids(there), "the pods that waited are those that run"
        assert status(cluster, second)["way"] == ("Steer" if gated else "Bind"), status(cluster, second)
        finish(cluster, second)


def one_fails_and_is_replaced(cluster, gated):
    """The Job controller makes a failed pod anew after ten seconds; a gang that would fit meanwhile does not get its place."""
    name = "gated" if gated else "bound"
    submit(cluster, job("holder"))
    starts_whole(cluster, "holder")
    submit(cluster, job(name, gated=gated))
    there = wait_until("all its pods wait", lambda: len(p := pods(cluster, name)) == SIZE and p)
    doomed = there[0]["metadata"]
    cluster.api.patch(f"{CORE}/namespaces/default/pods/{doomed['name']}", {"metadata": {"annotations": {
        "hollow.lockstep.dev/run-time": "2s", "hollow.lockstep.dev/exit-code": "1"}}})
    finish(cluster, "holder")
    wait_until("one fails", lambda: any(p["status"]["phase"] == "Failed" for p in pods(cluster, name)))
    single = {"metadata": {"name": "rival"}, "spec": {"restartPolicy": "Never", "schedulerName": "lockstep", "containers": [
        {"name": "main", "image": "example.com/main", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    single["metadata"]["labels"] = {GANG: "rival", GANG_SIZE: "1"}
    cluster.api.create(f"{CORE}/namespaces/default/pods", single)
    starts_whole(cluster, name)
    assert len(uids(running(cluster, name)) - uids(there)) == 1, "three of them run as before"
    assert status(cluster, name)["attempt"] == 2, status(cluster, name)
    assert status(cluster, "rival")["reason"] == "InsufficientResources", status(cluster, "rival")
    finish(cluster, name)
    wait_until("the other has its turn", lambda: status(cluster, "rival").get("phase") == "Running")
    cluster.api.delete(f"{CORE}/namespaces/default/pods/rival")
    wait_until("its record goes with it", lambda: "podset-rival" not in cluster.gangs())


def pod_group_kind(cluster):
    """As much of scheduler-plugins' kind as matters here."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    cluster.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": "podgroups.scheduling.x-k8s.io",
                     "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {"group": "scheduling.x-k8s.io", "scope": "Namespaced",
                 "names": {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"},
                 "versions": [{"name": "v1alpha1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": schema}}]}})
    wait_until("PodGroups are served", lambda: cluster.api.find(f"{POD_GROUPS}/namespaces/default/podgroups"))


def by_pod_group(cluster):
    """Its size is the PodGroup's, which comes later; pods of another scheduler's group keep their hands off us."""
    submit(cluster, job("grouped", gated=False, labels={POD_GROUP: "ring"}))
    submit(cluster, job("theirs", gated=False, labels={POD_GROUP: "ring", GANG: "x", GANG_SIZE: "1"}, scheduler="other"))
    told(cluster, "grouped", "PodGroupMissing", gang="podgroup.ring")
    cluster.api.create(f"{POD_GROUPS}/namespaces/default/podgroups",
                       {"metadata": {"name": "ring"}, "spec": {"minMember": SIZE},
                        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"})
    starts_whole(cluster, "grouped", gang="podgroup.ring")
    assert "podset-x" not in cluster.gangs() and not any("nodeName" in p["spec"] for p in pods(cluster, "theirs"))
    finish(cluster, "theirs")
    finish(cluster, "grouped", gang="podgroup.ring")


def told(cluster, name, reason, gang=None):
    wait_until(f"{name} is told {reason}", lambda: status(cluster, gang or name).get("reason") == reason,
               describe=lambda: str(status(cluster, gang or name))[:800])
    print(f"{name}: {status(cluster, gang or name)['message']}", flush=True)
    assert not any("nodeName" in p["spec"] for p in pods(cluster, name))


def bad_input(cluster):
    for name, size, reason in (("no-size", None, "SizeMissing"), ("absurd", "many", "SizeInvalid"),
                               ("zero", "0", "SizeInvalid"), ("too-few", str(SIZE + 1), "PodsMissing")):
        labels = {GANG: name} | ({} if size is None else {GANG_SIZE: size})
        submit(cluster, job(name, labels=labels))
        told(cluster, name, reason)
        wait_until("its Job hears of it", lambda: any(
            e["reason"] == reason and e["involvedObject"]["kind"] == "Job" and e["involvedObject"]["name"] == name
            for e in cluster.api.items(f"{CORE}/namespaces/default/events")))
        finish(cluster, name)


def one_too_many(cluster):
    submit(cluster, job("many", labels={GANG: "many", GANG_SIZE: str(SIZE - 1)}))
    wait_until("the last one is told", lambda: status(cluster, "many").get("reason") == "MorePodsThanSize")
    print(f"many: {status(cluster, 'many')['message']}", flush=True)
    assert len(running(cluster, "many")) == SIZE - 1
    finish(cluster, "many")


def main():
    cluster = Cluster()
    cluster.hollow(2, gpu=2, run_time="forever")
    pod_group_kind(cluster)
    cluster.operator()
    together_or_not_at_all(cluster)
    for gated in (True, False):
        one_fails_and_is_replaced(cluster, gated)
    by_pod_group(cluster)
    one_too_many(cluster)
    bad_input(cluster)
    cluster.audit()


if __name__ == "__main__":
    main()
