"""What admission adds to a pod is met in placement: a namespace's node selector, a RuntimeClass's overhead."""
import collections

from cluster import CORE, Cluster, pytorchjob, wait_until

NODES = f"{CORE}/nodes"


def where(cluster, job, ns="default"):
    """How many pods of the job are on each node."""
    return collections.Counter(pod["spec"]["nodeName"] for pod in cluster.pods(job, ns))


def namespace_selects_nodes(cluster):
    cluster.api.create(f"{CORE}/namespaces", {"metadata": {
        "name": "blue", "annotations": {"scheduler.alpha.kubernetes.io/node-selector": "pool=blue"}}})
    blue = sorted(node["metadata"]["name"] for node in cluster.api.items(NODES))[-2:]
    for name in blue:
        cluster.api.patch(f"{NODES}/{name}", {"metadata": {"labels": {"pool": "blue"}}})
    cluster.submit(pytorchjob("selected", 10, ns="blue"))
    cluster.wait_for_jobs(1, ns="blue")
    print("selected:", dict(where(cluster, "selected", "blue")), flush=True)
    assert set(where(cluster, "selected", "blue")) == set(blue)

    cluster.submit(pytorchjob("too-wide", 17, ns="blue"))

    def reason():
        return cluster.gangs("blue").get("pytorchjob-too-wide", {}).get("status", {}).get("message", "")

    wait_until("the selector is in the reason", lambda: "the nodes it may use have 16" in reason(), describe=reason)


def runtime_class_has_overhead(cluster):
    cluster.api.create("/apis/node.k8s.io/v1/runtimeclasses", {
        "metadata": {"name": "kata"}, "handler": "kata", "overhead": {"podFixed": {"cpu": "20"}}})
    job = pytorchjob("kata", 8)
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["runtimeClassName"] = "kata"
    cluster.submit(job)
    cluster.wait_for_jobs(1)
    pods = cluster.pods("kata")
    assert len(pods) == 8 and all(pod["spec"]["overhead"] == {"cpu": "20"} for pod in pods)
    # Their GPUs would fit one node; with 20 CPUs more for each, three fit a node of 64.
    print("kata:", dict(where(cluster, "kata")), flush=True)
    assert max(where(cluster, "kata").values()) == 3


def main():
    cluster = Cluster()
    cluster.hollow(4)
    operator = cluster.operator()
    namespace_selects_nodes(cluster)
    runtime_class_has_overhead(cluster)
    assert operator.stop() == 0
    cluster.audit()


if __name__ == "__main__":
    main()
