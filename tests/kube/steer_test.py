"""What only a scheduler of Kubernetes can finish is steered: we choose the seats, the real kube-scheduler binds the pods there,
with a volume that waits for its first consumer and with claims of devices."""
import collections

from cluster import CORE, Cluster, is_true, plural, pytorchjob, summary, wait_until

STORAGE = "/apis/storage.k8s.io/v1"
DEVICES = "/apis/resource.k8s.io/v1"
NODES = 3
PER_NODE = 2
DRIVER = "gpu.example.com"


def local_volumes(cluster, nodes):
    """Disks that are on one node each, of a class that waits until a scheduler has chosen the node."""
    cluster.api.create(f"{STORAGE}/storageclasses", {
        "metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer"})
    for node in nodes:
        for i in range(PER_NODE):
            term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
            cluster.api.create(f"{CORE}/persistentvolumes", {
                "metadata": {"name": f"{node}-disk-{i}"},
                "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                         "local": {"path": f"/disks/{i}"},
                         "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}})


def devices(cluster, nodes):
    cluster.api.create(f"{DEVICES}/deviceclasses", {
        "metadata": {"name": DRIVER},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]}})
    for node in nodes:
        cluster.api.create(f"{DEVICES}/resourceslices", {
            "metadata": {"name": f"{node}-devices"},
            "spec": {"driver": DRIVER, "nodeName": node, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                     "devices": [{"name": f"device-{i}"} for i in range(PER_NODE)]}})
    request = {"name": "device", "exactly": {"deviceClassName": DRIVER}}
    cluster.api.create(f"{DEVICES}/namespaces/default/resourceclaimtemplates", {
        "metadata": {"name": "one-device"}, "spec": {"spec": {"devices": {"requests": [request]}}}})


def templates(job):
    return [replica["template"]["spec"] for replica in job["spec"]["pytorchReplicaSpecs"].values()]


def with_volume(name, pods):
    job = pytorchjob(name, pods)
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}
    for spec in templates(job):
        spec["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}]
    return job


def with_device(name, pods):
    job = pytorchjob(name, pods)
    for spec in templates(job):
        spec["resourceClaims"] = [{"name": "device", "resourceClaimTemplateName": "one-device"}]
        spec["containers"][0]["resources"]["claims"] = [{"name": "device"}]
    return job


def runs_where_it_was_steered(cluster, name, pods):
    wait_until(f"{name} runs", lambda: is_true(cluster.job(name), "Running"),
               describe=lambda: summary(cluster.job(name)) + str(cluster.gangs()[f"pytorchjob-{name}"]["status"])[:1500])
    gang = cluster.gangs()[f"pytorchjob-{name}"]
    there = cluster.pods(name)
    assert gang["status"]["way"] == "Steer" and gang["status"]["attempt"] == 1, gang["status"]
    assert len(there) == pods, gang["status"]
    per_node = collections.Counter(pod["spec"]["nodeName"] for pod in there)
    assert len(per_node) == NODES and set(per_node.values()) == {PER_NODE}, per_node
    for pod in there:
        assert pod["spec"]["schedulerName"] == "default-scheduler", pod["spec"]
        terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert terms["nodeSelectorTerms"][0]["matchFields"][0]["values"] == [pod["spec"]["nodeName"]], terms
    return there


def finish(cluster, name):
    job = cluster.job(name)
    cluster.api.delete(f"/apis/kubeflow.org/v1/namespaces/default/{plural(job['kind'])}/{name}")
    wait_until(f"the pods of {name} are gone", lambda: cluster.pods(name) == [])


def main():
    cluster = Cluster()
    cluster.hollow(NODES, gpu=PER_NODE, run_time="forever")
    nodes = sorted(node["metadata"]["name"] for node in cluster.api.items(f"{CORE}/nodes"))
    local_volumes(cluster, nodes)
    devices(cluster, nodes)
    cluster.operator()

    whole = NODES * PER_NODE
    cluster.submit(with_volume("volumes", whole))
    runs_where_it_was_steered(cluster, "volumes", whole)
    claims = cluster.api.items(f"{CORE}/namespaces/default/persistentvolumeclaims")
    assert len(claims) == whole and all(claim["status"]["phase"] == "Bound" for claim in claims), claims
    # The next one waits: its pods do not exist, so the other scheduler can't place a part of it.
    cluster.submit(with_device("devices", whole))
    wait_until("devices waits", lambda: "pytorchjob-devices" in cluster.gangs()
               and cluster.gangs()["pytorchjob-devices"].get("status", {}).get("reason") == "InsufficientResources")
    assert cluster.pods("devices") == []
    finish(cluster, "volumes")
    runs_where_it_was_steered(cluster, "devices", whole)
    claims = cluster.api.items(f"{DEVICES}/namespaces/default/resourceclaims")
    assert len(claims) == whole and all("allocation" in claim["status"] for claim in claims), claims
    finish(cluster, "devices")
    cluster.audit()


if __name__ == "__main__":
    main()
