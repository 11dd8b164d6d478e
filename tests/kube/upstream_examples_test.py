"""Every PyTorch example of the upstream training operator runs to Succeeded, unmodified, on upstream's own CRD.

The upstream files are not part of this tree: where ../shared/upstream has them they are used, else the test says what
it leaves out and runs this project's own manifests on this project's CRD.
"""
import os
import pathlib

import yaml
from cluster import CORE, JOBS, Cluster, Refused, is_true, live, summary, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
UPSTREAM = ROOT.parent / "shared/upstream/training-operator-v1"
OWN = ROOT / "tests/manifests/pytorch"


def manifests(folder):
    return sorted(path for path in folder.rglob("*.yaml") if "golden" not in path.parts)


def make_namespace(cluster, ns):
    try:
        cluster.api.create(f"{CORE}/namespaces", {"metadata": {"name": ns}})
    except Refused as e:
        assert e.code == 409, e  # it is there


def submit(cluster, path, *flags):
    """Creates what is in the file as a user does; returns (namespace, name) of its jobs that come to an end."""
    jobs = [doc for doc in yaml.safe_load_all(path.read_text()) if doc and doc["kind"] == "PyTorchJob"]
    for job in jobs:
        make_namespace(cluster, job["metadata"].get("namespace", "default"))
    cluster.kubectl("create", *flags, "-f", str(path))
    return [(job["metadata"].get("namespace", "default"), job["metadata"]["name"]) for job in jobs if ends(job)]


def ends(job):
    """Without a master whose success decides, ranks that are always restarted run for ever."""
    roles = job["spec"]["pytorchReplicaSpecs"]
    return "Master" in roles or all(role.get("restartPolicy") != "Always" for role in roles.values())


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
        return [name for name in submitted if not is_true(cluster.job(name[1], name[0]), "Succeeded")]

    wait_until("all succeeded", lambda: not unfinished(),
               describe=lambda: [summary(cluster.job(name, ns)) for ns, name in unfinished()])
    for (ns, name), path in submitted.items():
        job = cluster.job(name, ns)
        # What kubectl's STATE column and upstream's SDK read: the last condition.
        last = job["status"]["conditions"][-1]
        assert (last["type"], last["status"]) == ("Succeeded", "True"), summary(job)
        assert job["status"]["completionTime"], summary(job)
        print(f"{path}: {ns}/{name} Succeeded", flush=True)


def main():
    cluster = Cluster()
    cluster.hollow(8, gpu=8, run_time="200ms")
    operator = cluster.operator()
    if UPSTREAM.is_dir():
        # In the place of our own definition: one cluster has one.
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f",
                        str(UPSTREAM / "crds/kubeflow.org_pytorchjobs.yaml"))
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        submitted = submit_all(cluster, UPSTREAM / "examples/pytorch")
        assert len(submitted) >= 5, submitted
        run(cluster, submitted)
        for ns, name in submitted:
            cluster.api.delete(f"{JOBS}/namespaces/{ns}/pytorchjobs/{name}")
    else:
        print(f"left out: upstream's CRD and examples, which would be in {os.path.relpath(UPSTREAM, ROOT)}")
    submitted = submit_all(cluster, OWN, "--validate=ignore")  # one has fields that nobody knows yet
    assert submitted
    run(cluster, submitted)
    for ns in ("default", "ml"):
        for name in cluster.jobs(ns):
            cluster.api.delete(f"{JOBS}/namespaces/{ns}/pytorchjobs/{name}")
    wait_until("no live pod", lambda: not live(cluster.api.items(f"{CORE}/pods")))
    assert operator.stop() == 0
    cluster.audit()


if __name__ == "__main__":
    main()
