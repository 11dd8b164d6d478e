"""What people do by hand to what runs, and what else no controller would write: labels, Gangs, pods, owners, names,
huge objects, nodes that lie, namespaces that go. Each stops only itself; nothing is left behind."""
import json
import re
import time

import webhooks
from cluster import CORE, GANGS, JOBS, Cluster, Refused, condition, is_true, pytorchjob, summary, wait_until

PODS = f"{CORE}/namespaces/default/pods"


def forever(name, pods, ns="default"):
    return pytorchjob(name, pods, ns=ns, requests={"cpu": "1"}, annotations={"hollow.lockstep.dev/run-time": "forever"})


def record(cluster, name, ns="default"):
    return cluster.gangs(ns).get(f"pytorchjob-{name}", {}).get("status", {})


def running(cluster, name, attempt, ns="default"):
    """All its pods run in this attempt, and no other pod of it is there."""
    gang, job = record(cluster, name, ns), cluster.job(name, ns)
    pods = [p for p in cluster.api.items(f"{CORE}/namespaces/{ns}/pods")
            if any(o["uid"] == job["metadata"]["uid"] for o in p["metadata"].get("ownerReferences", []))]
    return (gang.get("attempt") == attempt and gang["phase"] == "Running" and is_true(job, "Running")
            and {p["metadata"]["labels"].get("lockstep.dev/attempt") for p in pods} == {str(attempt)}
            and all(p["status"].get("phase") == "Running" for p in pods))


def wait_running(cluster, name, attempt, ns="default"):
    wait_until(f"{name} runs in attempt {attempt}", lambda: running(cluster, name, attempt, ns),
               describe=lambda: (record(cluster, name, ns), summary(cluster.job(name, ns))))


def end(cluster, name, ns="default"):
    uid = cluster.job(name, ns)["metadata"]["uid"]
    cluster.api.delete(f"{JOBS}/namespaces/{ns}/pytorchjobs/{name}")

    def left():
        return [o["metadata"]["name"] for kind in (f"{CORE}/namespaces/{ns}/pods", f"{CORE}/namespaces/{ns}/services",
                                                   f"{GANGS}/namespaces/{ns}/gangs")
                for o in cluster.api.items(kind)
                if any(r["uid"] == uid for r in o["metadata"].get("ownerReferences", []))]

    wait_until(f"nothing of {name} is left", lambda: not left(), describe=left)


def check_labels(cluster):
    """Labels of a running pod are taken away or changed: the rank is lost, the gang starts anew, the pod goes."""
    cluster.submit(forever("labels", 3))
    wait_running(cluster, "labels", 1)
    for attempt, change in enumerate(({"training.kubeflow.org/job-name": None}, {"lockstep.dev/attempt": "77"},
                                      {"training.kubeflow.org/replica-index": "7"},
                                      {"training.kubeflow.org/operator-name": "x", "lockstep.dev/attempt": None,
                                       "training.kubeflow.org/job-name": None}), 1):
        pod = next(p for p in cluster.api.items(PODS) if "worker-1" in p["metadata"]["name"])["metadata"]["name"]
        cluster.api.patch(f"{PODS}/{pod}", {"metadata": {"labels": change}})
        wait_running(cluster, "labels", attempt + 1)
        print(f"labels {change}: attempt {attempt + 1}, restarts {record(cluster, 'labels')['restarts']}", flush=True)
    # Labels of the job are nobody's business.
    cluster.api.patch(f"{JOBS}/namespaces/default/pytorchjobs/labels", {"metadata": {"labels": {"team": "b"}}})
    cluster.submit(pytorchjob("after-labels", 2, requests={"cpu": "1"}))
    wait_until("after-labels succeeded", lambda: is_true(cluster.job("after-labels"), "Succeeded"))
    assert running(cluster, "labels", 5), record(cluster, "labels")
    end(cluster, "labels")


def check_gang(cluster):
    """A Gang that somebody writes into or deletes: the job runs on or starts anew, its attempts never go back."""
    cluster.submit(forever("edited", 3))
    wait_running(cluster, "edited", 1)
    path = f"{GANGS}/namespaces/default/gangs/pytorchjob-edited"
    edits = [
        ("phase Succeeded", {"status": {"phase": "Succeeded"}}),
        ("phase Queued", {"status": {"phase": "Queued"}}),
        ("no placement", {"status": {"placement": None}}),
        ("placement on no node", {"status": {"placement": ["nowhere=Master/0,Worker/0-1"]}}),
        ("attempt 0", {"status": {"attempt": 0}}),
        ("no status", {"status": None}),
    ]
    attempt = 1
    for what, patch in edits:
        cluster.api.patch(f"{path}/status", patch)

        def whole():
            now = record(cluster, "edited")
            seated = now.get("attempt", 0) >= attempt and now.get("placement")
            return seated and running(cluster, "edited", now["attempt"]) and now["attempt"]

        attempt = wait_until(f"edited runs again after {what}", whole, describe=lambda: record(cluster, "edited"))
        print(f"{what}: runs in attempt {attempt}: {record(cluster, 'edited')['reason']}", flush=True)
    try:
        cluster.api.patch(path, {"spec": {"job": {"uid": "another"}}})
        wait_until("its Gang is its own again",
                   lambda: cluster.api.get(path)["spec"]["job"]["uid"] == cluster.job("edited")["metadata"]["uid"])
    except Refused as e:
        print(e, flush=True)
    cluster.api.delete(path)
    wait_until("it has a Gang again", lambda: running(cluster, "edited", record(cluster, "edited").get("attempt", 0)))
    assert record(cluster, "edited")["attempt"] >= attempt
    end(cluster, "edited")


def check_pods(cluster):
    """Some, then all pods are deleted by hand."""
    cluster.submit(forever("deleted", 4))
    wait_running(cluster, "deleted", 1)
    for pod in ("deleted-worker-0", "deleted-worker-2"):
        cluster.api.delete(f"{PODS}/{pod}")
    wait_until("a restart", lambda: record(cluster, "deleted")["attempt"] == 2)
    wait_running(cluster, "deleted", 2)
    for pod in cluster.pods("deleted"):
        cluster.api.delete(f"{PODS}/{pod['metadata']['name']}")
    wait_until("another", lambda: record(cluster, "deleted")["attempt"] == 3)
    wait_running(cluster, "deleted", 3)
    assert record(cluster, "deleted")["restarts"]["policy"] == 2, record(cluster, "deleted")
    end(cluster, "deleted")


def owner(job):
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": job["metadata"]["name"],
            "uid": job["metadata"]["uid"]}


def check_owners(cluster):
    """Jobs that own each other run, and go together; a pod with our labels and an owner that never was is nobody's."""
    jobs = [cluster.submit(forever(name, 2)) for name in ("hen", "egg")]
    for job, other in zip(jobs, reversed(jobs)):
        cluster.api.patch(f"{JOBS}/namespaces/default/pytorchjobs/{job['metadata']['name']}",
                          {"metadata": {"ownerReferences": [owner(other)]}})
    for job in jobs:
        wait_running(cluster, job["metadata"]["name"], 1)
    gang = cluster.gangs()["pytorchjob-hen"]
    itself = {"apiVersion": "lockstep.dev/v1alpha1", "kind": "Gang", "name": "pytorchjob-hen", "uid": gang["metadata"]["uid"]}
    cluster.api.patch(f"{GANGS}/namespaces/default/gangs/pytorchjob-hen",
                      {"metadata": {"ownerReferences": gang["metadata"]["ownerReferences"] + [itself]}})
    cluster.api.create(PODS, {
        "metadata": {"name": "stray", "labels": {
            "training.kubeflow.org/job-name": "hen", "training.kubeflow.org/operator-name": "pytorchjob-controller",
            "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "5",
            "lockstep.dev/attempt": "1"}},
        "spec": {"nodeName": "node-0", "containers": [{"name": "c", "image": "i"}]}})
    assert running(cluster, "hen", 1) and running(cluster, "egg", 1)
    cluster.api.delete(f"{PODS}/stray")
    cluster.api.delete(f"{JOBS}/namespaces/default/pytorchjobs/hen")
    wait_until("both are gone", lambda: not {"hen", "egg"} & set(cluster.jobs()))
    wait_until("and their pods", lambda: cluster.pods("hen") + cluster.pods("egg") == [])
    wait_until("and their Gangs", lambda: not {"pytorchjob-hen", "pytorchjob-egg"} & set(cluster.gangs()))
    # An owner that never was: the garbage collector takes the job, whatever it was about to do.
    orphan = forever("orphan", 2)
    orphan["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "no-such"}]
    cluster.submit(orphan)
    wait_until("the orphan is gone", lambda: "orphan" not in cluster.jobs() and cluster.pods("orphan") == []
               and "pytorchjob-orphan" not in cluster.gangs())


def check_names(cluster):
    longest = "n" * 63
    cluster.submit(pytorchjob(longest, 3, requests={"cpu": "1"}, annotations={"hollow.lockstep.dev/run-time": "1s"}))
    wait_until("the longest name that a label takes succeeded", lambda: is_true(cluster.job(longest), "Succeeded"),
               describe=lambda: summary(cluster.job(longest)))
    for name in ("m" * 64, "m" * 253, "a.b"):
        cluster.submit(pytorchjob(name, 2))
        wait_until("a name that no label takes is refused", lambda name=name: is_true(cluster.job(name), "Failed"))
        message = condition(cluster.job(name), "Failed")["message"]
        print(f"{len(name)} characters: {message}", flush=True)
        assert "metadata.name" in message and "63" in message


def rss(program):
    with open(f"/proc/{program.pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) >> 10


def check_huge(cluster, operator):
    """Objects near the most that etcd takes; more is refused before we see it. What is not needed is not kept."""
    before = rss(operator)
    images = [{"names": [f"example.com/{i:05}/" + "x" * 900], "sizeBytes": 1} for i in range(1300)]
    for i in range(20):
        cluster.api.create(f"{CORE}/nodes", {"metadata": {"name": f"huge-{i}"}, "spec": {"unschedulable": True}, "status": {
            "images": images, "capacity": {"cpu": "4", "pods": "10"}, "conditions": [{"type": "Ready", "status": "True"}]}})
    too_large = pytorchjob("too-large", 2, annotations={"note": "x" * 10_000_000})
    try:
        cluster.submit(too_large)
        raise AssertionError("ten megabytes were let in")
    except (Refused, OSError) as e:
        print(f"10 MB: {str(e)[:100]}", flush=True)
    large = pytorchjob("large", 4, requests={"cpu": "1"}, annotations={"hollow.lockstep.dev/run-time": "2s"})
    template = large["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    template["env"] = [{"name": "DATA", "value": "y" * 1_000_000}]
    cluster.submit(large)
    wait_until("the job of a megabyte succeeded", lambda: is_true(cluster.job("large"), "Succeeded"),
               describe=lambda: summary(cluster.job("large")))
    for round_ in range(5):
        for i in range(20):
            cluster.api.patch(f"{CORE}/nodes/huge-{i}/status", {"status": {"capacity": {"pods": str(20 + round_)}}})
    cluster.submit(pytorchjob("after-huge", 2, requests={"cpu": "1"}))
    wait_until("after-huge succeeded", lambda: is_true(cluster.job("after-huge"), "Succeeded"))
    for i in range(20):
        cluster.api.delete(f"{CORE}/nodes/huge-{i}")
    print(f"memory: {before} MB before, {rss(operator)} MB after 20 nodes of 1.2 MB, each seen six times", flush=True)
    assert rss(operator) < before + 200


def check_lies(cluster):
    """Capacities that can't be true: a node that has none of it, or more than there is in the world."""
    absurd = [{"nvidia.com/gpu": "9e15"}, {"nvidia.com/gpu": "1"}, {"cpu": "0", "pods": "0"}, {}, {"cpu": "-5"},
              {"nvidia.com/gpu": "1e18"}]
    let_in = 0
    for i, capacity in enumerate(absurd):
        # Those that claim what somebody wants are cordoned: there is no kubelet behind them.
        node = {"metadata": {"name": f"liar-{i}"}, "spec": {"unschedulable": "nvidia.com/gpu" in capacity}, "status": {
            "capacity": capacity, "allocatable": capacity, "conditions": [{"type": "Ready", "status": "True"}]}}
        try:
            cluster.api.create(f"{CORE}/nodes", node)
            let_in += 1
        except Refused as e:
            print(e, flush=True)
    assert let_in >= 4
    cluster.submit(pytorchjob("wants-gpus", 2, gpu=4))
    cluster.submit(pytorchjob("after-lies", 4, requests={"cpu": "1"}))
    wait_until("after-lies succeeded", lambda: is_true(cluster.job("after-lies"), "Succeeded"))
    wait_until("it says why", lambda: (condition(cluster.job("wants-gpus"), "Placed") or {}).get("status") == "False")
    print(condition(cluster.job("wants-gpus"), "Placed")["message"], flush=True)
    assert cluster.pods("wants-gpus") == []
    end(cluster, "wants-gpus")
    for node in cluster.api.items(f"{CORE}/nodes"):
        if node["metadata"]["name"].startswith("liar-"):
            cluster.api.delete(f"{CORE}/nodes/{node['metadata']['name']}")


def check_namespace(cluster, server):
    """A namespace is terminated between the first and the last pod of a gang."""
    ns = "doomed"
    cluster.api.create(f"{CORE}/namespaces", {"metadata": {"name": ns}})
    wait_until("its service account", lambda: cluster.api.find(f"{CORE}/namespaces/{ns}/serviceaccounts/default"))
    # The first pods come at once, the others after a second: in between the namespace goes.
    server.register(cluster, ns, lambda pod, call: time.sleep(2) or [] if call > 3 else [], timeoutSeconds=10)
    cluster.submit(forever("a", 8, ns))
    cluster.submit(forever("b", 8, ns))
    wait_until("its first pods", lambda: cluster.pods(ns=ns))
    cluster.api.delete(f"{CORE}/namespaces/{ns}")
    wait_until("the namespace is gone", lambda: cluster.api.find(f"{CORE}/namespaces/{ns}") is None,
               describe=lambda: json.dumps(cluster.api.get(f"{CORE}/namespaces/{ns}")["status"]))
    cluster.api.delete(f"{webhooks.CONFIGURATIONS}/{ns}")
    cluster.submit(pytorchjob("after-namespace", 4, requests={"cpu": "1"}))
    wait_until("others go on", lambda: is_true(cluster.job("after-namespace"), "Succeeded"))
    assert cluster.api.items(f"{CORE}/namespaces/{ns}/pods") == []


def main():
    cluster = Cluster()
    server = webhooks.Server(cluster.folder)
    cluster.hollow(4, "--cpu", "16", "--leases", gpu=1, run_time="100ms")
    operator = cluster.operator()
    check_labels(cluster)
    check_gang(cluster)
    check_pods(cluster)
    check_owners(cluster)
    check_names(cluster)
    check_huge(cluster, operator)
    check_lies(cluster)
    check_namespace(cluster, server)
    assert operator.running(), operator.text()
    assert operator.stop() == 0
    cluster.audit()


if __name__ == "__main__":
    main()
