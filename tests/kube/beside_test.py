"""Gangs beside the real kube-scheduler and controllers on the same nodes: ordinary pods come, preempt and are preempted;
DaemonSets and static pods appear; nodes are cordoned, drained, removed, made again under the same name, and new ones come.
No gang stays in part, nobody starves, nothing is counted against a job, no node carries too much for long.

usage: beside_test.py LOCKSTEP [--seconds N]     how long it goes on; SEED=n in the environment repeats the choices
"""
import argparse
import os
import random
import subprocess
import threading
import time

from cluster import CORE, Api, Cluster, is_true, live, pytorchjob, summary, wait_until

GPUS, CPUS = 4, 16
STEADY, VOLATILE = 4, 4  # nodes that stay, and nodes that come and go, each of a hollow kubelet of its own
PATIENCE = 150  # seconds until all that was begun must have ended


def ordinary_job(name, priority, cpu, gpu, run_time):
    """One pod, placed by the kube-scheduler; a new one when it is preempted."""
    resources = {"requests": {"cpu": str(cpu)}}
    if gpu:
        resources["limits"] = {"nvidia.com/gpu": str(gpu)}
    template = {"metadata": {"annotations": {"hollow.lockstep.dev/run-time": f"{run_time:.1f}s"}},
                "spec": {"restartPolicy": "Never", "priorityClassName": priority, "terminationGracePeriodSeconds": 1,
                         "containers": [{"name": "main", "image": "example.com/work", "resources": resources}]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 100, "template": template}}


def daemon_set(name):
    container = {"name": "main", "image": "example.com/agent", "resources": {"requests": {"cpu": "1"}}}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name},
                                               "annotations": {"hollow.lockstep.dev/run-time": "forever"}},
                                  "spec": {"containers": [container], "tolerations": [{"operator": "Exists"}],
                                           "terminationGracePeriodSeconds": 1}}}}


def static_pod(node):
    """What a kubelet writes of a pod from a file on its machine."""
    meta = node["metadata"]
    container = {"name": "main", "image": "example.com/proxy", "resources": {"requests": {"cpu": "1"}}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"proxy-{meta['name']}", "namespace": "kube-system",
                         "annotations": {"kubernetes.io/config.mirror": "1", "hollow.lockstep.dev/run-time": "forever"},
                         "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"],
                                              "controller": True}]},
            "spec": {"nodeName": meta["name"], "containers": [container], "tolerations": [{"operator": "Exists"}]}}


class Side(threading.Thread):
    """One of those who act at the same time, with a connection and a source of choices of its own."""

    def __init__(self, cluster, seed, until):
        super().__init__(daemon=True)
        self.cluster, self.choose, self.until = cluster, random.Random(seed), until
        self.api = Api(cluster.kubeconfig)
        self.error, self.count = None, 0

    def run(self):
        try:
            while time.monotonic() < self.until:
                self.act()
        except Exception as e:  # told by the main thread
            self.error = e

    def pause(self, shortest, longest):
        time.sleep(self.choose.uniform(shortest, longest))  # the rate of what comes, not a wait for a fact


class Gangs(Side):
    def act(self):
        job = pytorchjob(f"gang-{self.count:03}", self.choose.randint(2, 8), annotations={
            "hollow.lockstep.dev/run-time": f"{self.choose.uniform(2, 6):.1f}s"})
        for replica in job["spec"]["pytorchReplicaSpecs"].values():
            replica["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
            replica["template"]["spec"]["terminationGracePeriodSeconds"] = 1
        job["spec"]["runPolicy"] = {"backoffLimit": 0}  # the first counted restart would fail it
        self.api.create("/apis/kubeflow.org/v1/namespaces/default/pytorchjobs", job)
        self.count += 1
        self.pause(0.3, 1.2)


class Ordinary(Side):
    def act(self):
        priority = self.choose.choices(["low", "high"], [5, 1])[0]
        job = ordinary_job(f"{priority}-{self.count:03}", priority, self.choose.randint(1, 4), self.choose.choice([0, 1, 2, 2, 4]),
                           self.choose.uniform(1, 5))
        self.api.create("/apis/batch/v1/namespaces/default/jobs", job)
        self.count += 1
        self.pause(0.1, 0.6)


class Nodes(Side):
    """What administrators and autoscalers do, on the nodes that may go."""

    def __init__(self, cluster, seed, until):
        super().__init__(cluster, seed, until)
        self.kubelets = {i: start_node(cluster, i) for i in range(VOLATILE)}
        self.deeds = {}

    def act(self):
        i = self.choose.randrange(VOLATILE)
        name = f"volatile-{i}"
        deed = self.choose.choice([self.cordon, self.drain, self.drain_and_remove, self.remove])
        deed(i, name)
        self.deeds[deed.__name__] = self.deeds.get(deed.__name__, 0) + 1
        self.pause(0.5, 1.5)

    def cordon(self, i, name):
        self.cluster.kubectl("cordon", name)
        self.pause(0.5, 2)
        self.cluster.kubectl("uncordon", name)

    def drain(self, i, name):
        self.cluster.kubectl("drain", name, "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--grace-period=1",
                             "--timeout=60s")
        self.cluster.kubectl("uncordon", name)

    def drain_and_remove(self, i, name):
        self.drain(i, name)
        self.remove(i, name)

    def remove(self, i, name):
        """The machine goes with all that ran on it; another of that name comes, or a while nobody."""
        self.kubelets[i].kill()
        self.api.delete(f"{CORE}/nodes/{name}")
        self.pause(0.1, 2)
        self.kubelets[i] = start_node(self.cluster, i)


def start_node(cluster, i):
    program = cluster.start("hollow", "--nodes", "1", "--name-prefix", "volatile-", "--first", str(i), "--gpu", str(GPUS),
                            "--cpu", str(CPUS), "--leases")
    wait_until(f"volatile-{i} is ready", lambda: "ready:" in program.text())
    return program


def priority_class(name, value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def set_up(cluster):
    for name, value in (("low", -10), ("high", 1000)):
        cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, value))
    cluster.hollow(STEADY, "--name-prefix", "steady-", "--cpu", str(CPUS), "--leases", gpu=GPUS)


def act_all(cluster, seed, duration):
    until = time.monotonic() + duration
    sides = [Gangs(cluster, seed, until), Ordinary(cluster, seed + 1, until), Nodes(cluster, seed + 2, until)]
    for side in sides:
        side.start()
    time.sleep(duration / 4)  # all are at work
    cluster.api.create("/apis/apps/v1/namespaces/default/daemonsets", daemon_set("agent"))
    time.sleep(duration / 4)
    for node in cluster.api.items(f"{CORE}/nodes")[:STEADY]:
        cluster.api.create(f"{CORE}/namespaces/kube-system/pods", static_pod(node))
    cluster.hollow(2, "--name-prefix", "new-", "--cpu", str(CPUS), "--leases", gpu=GPUS)
    for side in sides:
        side.join()
        if side.error:
            raise side.error
    return sides


def check_gangs(cluster, count):
    for name, gang in cluster.gangs().items():
        status = gang["status"]
        assert status["phase"] == "Succeeded" and status["restarts"] == {"policy": 0, "fault": 0}, (name, status)
    jobs = cluster.jobs()
    assert len(jobs) == count and all(is_true(job, "Succeeded") for job in jobs.values())


def preempted(cluster):
    """How many pods of gangs the kube-scheduler and drains have taken, by their Events."""
    found = {}
    for event in cluster.api.items(f"{CORE}/events"):
        name = event["involvedObject"]["name"]
        if event["reason"] in ("Preempted", "Evicted"):
            found.setdefault(event["reason"], set()).add(name)
    return {reason: len(names) for reason, names in found.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lockstep")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {seed}", flush=True)
    cluster = Cluster()
    set_up(cluster)
    operator = cluster.operator()
    gangs, ordinary, nodes = act_all(cluster, seed, options.seconds)
    cluster.wait_for_jobs(gangs.count, guard=PATIENCE)

    def unfinished():
        return [job["metadata"]["name"] for job in cluster.api.items("/apis/batch/v1/namespaces/default/jobs")
                if not is_true(job, "Complete")]

    wait_until("every ordinary job is done", lambda: not unfinished(), PATIENCE, lambda: str(unfinished()[:10]))
    check_gangs(cluster, gangs.count)
    attempts = [gang["status"]["attempt"] for gang in cluster.gangs().values()]
    print(f"{gangs.count} gangs in {sum(attempts)} attempts beside {ordinary.count} ordinary jobs; nodes: {nodes.deeds}; "
          f"{preempted(cluster)}", flush=True)
    assert operator.running() and operator.stop() == 0
    cluster.audit("--excess-after", "10s", "--stuck-after", "40s")


if __name__ == "__main__":
    main()
