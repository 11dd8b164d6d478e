"""Every PyTorch and TensorFlow example of the upstream training operator runs to Succeeded, unmodified, on upstream's own
CRDs.

The upstream files are not part of this tree: where ../shared/upstream has them they are used, else the test says what
it leaves out and runs this project's own manifests on this project's CRD.
"""
import json
import os
import pathlib

import yaml
from cluster import CORE, JOBS, Cluster, Refused, is_true, live, plural, summary, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
UPSTREAM = ROOT.parent / "shared/upstream/training-operator-v1"
OWN = ROOT / "tests/manifests"
FOLDERS = ("pytorch", "tensorflow")
ROLES = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs"}


def jobs_of(path):
    return [doc for doc in yaml.safe_load_all(path.read_text()) if doc and doc["kind"] in ROLES]


def manifests(folder):
    """Files with a job in them; a claim beside an example names a storage class that no cluster has."""
    paths = sorted(path for name in FOLDERS for path in (folder / name).rglob("*.yaml"))
    return [path for path in paths if "golden" not in path.parts and jobs_of(path)]


def make_namespace(cluster, ns):
    try:
        cluster.api.create(f"{CORE}/namespaces", {"metadata": {"name": ns}})
    except Refused as e:
        assert e.code == 409, e  # it is there


def make_claims(cluster, job, ns):
    """The volumes that the job's pods mount, bound: there is no storage controller here to do it."""
    templates = [role["template"] for role in job["spec"][ROLES[job["kind"]]].values()]
    volumes = [volume for template in templates for volume in template["spec"].get("volumes", [])]
    for name in {v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v}:
        if cluster.api.find(f"{CORE}/namespaces/{ns}/persistentvolumeclaims/{name}"):
            continue
        size, modes = {"storage": "1Gi"}, ["ReadWriteMany"]
        cluster.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all([
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"{ns}-{name}"},
             "spec": {"capacity": size, "accessModes": modes, "hostPath": {"path": "/data"},
                      "claimRef": {"namespace": ns, "name": name}, "storageClassName": ""}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": ns},
             "spec": {"accessModes": modes, "resources": {"requests": size}, "volumeName": f"{ns}-{name}",
                      "storageClassName": ""}}]))
        for kind, where in (("pv", f"{ns}-{name}"), ("pvc", name)):
            cluster.kubectl("patch", kind, where, "-n", ns, "--subresource=status", "--type=merge",
                            "-p", '{"status":{"phase":"Bound"}}')


def submit(cluster, path, *flags):
    """Creates what is in the file as a user does; returns (kind, namespace, name) of its jobs that come to an end."""
    jobs = jobs_of(path)
    for job in jobs:
        ns = job["metadata"].get("namespace", "default")
        make_namespace(cluster, ns)
        make_claims(cluster, job, ns)
    cluster.kubectl("create", *flags, "-f", str(path))
    return [(job["kind"], job["metadata"].get("namespace", "default"), job["metadata"]["name"])
            for job in jobs if ends(job)]


def ends(job):
    """Without a master whose success decides, ranks that are always restarted run for ever."""
    roles = job["spec"][ROLES[job["kind"]]]
    return bool({"Master", "Chief"} & set(roles)) or all(r.get("restartPolicy") != "Always" for r in roles.values())


def submit_all(cluster, folder, *flags):
    submitted = {}
    for path in manifests(folder):
        names = submit(cluster, path, *flags)
        clash = set(names) & set(submitted)
        assert not clash, f"{path} and {submitted[clash.pop()]} name the same job"
        submitted.update({name: path.relative_to(folder) for name in names})
    return submitted


def run(cluster, submitted):
    def unfinished():
        return [(kind, ns, name) for kind, ns, name in submitted
                if not is_true(cluster.job(name, ns, kind), "Succeeded")]

    wait_until("all succeeded", lambda: not unfinished(),
               describe=lambda: [summary(cluster.job(name, ns, kind)) for kind, ns, name in unfinished()])
    for (kind, ns, name), path in submitted.items():
        job = cluster.job(name, ns, kind)
        # What kubectl's STATE column and upstream's SDK read: the last condition.
        last = job["status"]["conditions"][-1]
        assert (last["type"], last["status"]) == ("Succeeded", "True"), summary(job)
        assert job["status"]["completionTime"], summary(job)
        check_config(cluster, job)
        print(f"{path}: {ns}/{name} Succeeded", flush=True)


def check_config(cluster, job):
    """TF_CONFIG as the API server holds it: in each pod of a TFJob of several, and every host of it is a service."""
    if job["kind"] != "TFJob":
        return
    ns, name = job["metadata"]["namespace"], job["metadata"]["name"]
    pods = cluster.pods(name, ns)
    services = {s["metadata"]["name"] for s in cluster.api.items(f"{CORE}/namespaces/{ns}/services")}
    count = sum(role.get("replicas", 1) for role in job["spec"]["tfReplicaSpecs"].values())
    for pod in pods:
        main = next(c for c in pod["spec"]["containers"] if c["name"] == "tensorflow")
        values = [v["value"] for v in main["env"] if v["name"] == "TF_CONFIG"]
        if count == 1:
            assert not values, values
            continue
        config = json.loads(values[-1])
        labels = pod["metadata"]["labels"]
        assert config["task"] == {"type": labels["training.kubeflow.org/replica-type"],
                                  "index": int(labels["training.kubeflow.org/replica-index"])}
        for hosts in config["cluster"].values():
            for host in hosts.values() if isinstance(hosts, dict) else hosts:
                service, rest = host.split(".", 1)
                assert service in services and rest.startswith(f"{ns}.svc:"), host


def main():
    cluster = Cluster()
    cluster.hollow(8, gpu=8, run_time="200ms")
    operator = cluster.operator()
    if UPSTREAM.is_dir():
        # In the place of our own definition: one cluster has one.
        for kind in ROLES:
            cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f",
                            str(UPSTREAM / f"crds/kubeflow.org_{plural(kind)}.yaml"))
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        submitted = submit_all(cluster, UPSTREAM / "examples")
        assert len(submitted) >= 8 and {kind for kind, _, _ in submitted} == set(ROLES), submitted
        run(cluster, submitted)
        for kind, ns, name in submitted:
            cluster.api.delete(f"{JOBS}/namespaces/{ns}/{plural(kind)}/{name}")
    else:
        print(f"left out: upstream's CRD and examples, which would be in {os.path.relpath(UPSTREAM, ROOT)}")
    submitted = submit_all(cluster, OWN, "--validate=ignore")  # one has fields that nobody knows yet
    assert submitted
    run(cluster, submitted)
    for kind in ROLES:
        for ns in ("default", "ml"):
            for name in cluster.jobs(ns, kind):
                cluster.api.delete(f"{JOBS}/namespaces/{ns}/{plural(kind)}/{name}")
    wait_until("no live pod", lambda: not live(cluster.api.items(f"{CORE}/pods")))
    assert operator.stop() == 0
    cluster.audit()


if __name__ == "__main__":
    main()
