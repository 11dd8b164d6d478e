"""Queues drain in the order of arrival; a gang of 512, CPU-only gangs; one that can never run says so and holds nothing."""
import os
import random

from cluster import CORE, Cluster, condition, is_true, live, pytorchjob, wait_until

NODES = 8


def start_order(report, ns):
    gangs = [g for g in report["gangs"] if g["job"].startswith(ns + "/")]
    return [g["job"].split("/")[1] for g in sorted(gangs, key=lambda g: g["firstAssigned"])]


def submit_round(cluster, ns, count, pods, order, **what):
    """`count` equal jobs in a namespace of their own; their names say nothing of their order. Returns the order."""
    cluster.api.create(f"{CORE}/namespaces", {"metadata": {"name": ns}})
    names = [f"job-{i:03}" for i in range(count)]
    order.shuffle(names)
    for name in names:
        cluster.submit(pytorchjob(name, pods, ns=ns, **what))
    return names


def drain(cluster, order):
    rounds = {}
    for count in (2, 3, 10):  # each gang fills the cluster
        ns = f"one-at-a-time-{count}"
        rounds[ns] = (submit_round(cluster, ns, count, NODES, order), 1)
        cluster.wait_for_jobs(count, ns=ns)
    ns = "four-at-a-time"
    rounds[ns] = (submit_round(cluster, ns, 100, 2, order), 4)
    cluster.wait_for_jobs(100, ns=ns)
    ns = "cpu-only"
    rounds[ns] = (submit_round(cluster, ns, 5, NODES, order, requests={"cpu": "33", "memory": "1Gi"}), 1)
    cluster.wait_for_jobs(5, ns=ns)
    return rounds


def check_order(report, rounds):
    for ns, (arrived, at_once) in rounds.items():
        started = start_order(report, ns)
        assert sorted(started) == sorted(arrived), (ns, started)
        # Those that start together are written in parallel: their places may be exchanged, nothing more.
        moved = [name for i, name in enumerate(arrived) if abs(started.index(name) - i) >= at_once]
        assert not moved, f"{ns}: out of order: {moved}; arrived {arrived}; started {started}"


def impossible_until_a_node_comes(cluster):
    """One pod more than there are GPUs."""
    # Pretended ranks can meet only below one `lockstep hollow`; these work alone, long enough for all to be started.
    cluster.submit(pytorchjob("too-big", NODES + 1, annotations={"hollow.lockstep.dev/run-time": "1s"}))
    job = wait_until("the job says that it can never run",
                     lambda: (j := cluster.job("too-big")) and condition(j, "Placed") and j)
    placed = condition(job, "Placed")
    print("too-big:", placed["reason"], placed["message"], flush=True)
    assert placed["status"] == "False" and "nvidia.com/gpu" in placed["message"], placed
    assert "never" in placed["message"] or "cannot" in placed["message"], placed
    # It holds nothing and stands in nobody's way.
    cluster.submit(pytorchjob("passes-by", NODES))
    wait_until("passes-by succeeded", lambda: is_true(cluster.job("passes-by"), "Succeeded"))
    assert cluster.pods("too-big") == []
    assert condition(cluster.job("too-big"), "Placed")["status"] == "False"
    cluster.hollow(1, "--first", str(NODES), gpu=1, run_time="50ms")
    wait_until("too-big succeeded", lambda: is_true(cluster.job("too-big"), "Succeeded"))


def gang_of_512(cluster):
    cluster.hollow(64, "--name-prefix", "big-", gpu=8, run_time="50ms")
    cluster.submit(pytorchjob("wide", 512))
    wait_until("wide succeeded", lambda: is_true(cluster.job("wide"), "Succeeded"))
    assert len(cluster.pods("wide")) == 512


def main():
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {seed}", flush=True)
    cluster = Cluster()
    cluster.hollow(NODES, gpu=1, run_time="50ms")
    operator = cluster.operator()
    rounds = drain(cluster, random.Random(seed))
    impossible_until_a_node_comes(cluster)
    gang_of_512(cluster)
    wait_until("no live pod", lambda: not live(cluster.api.items(f"{CORE}/pods")))
    assert operator.stop() == 0
    report = cluster.audit()
    assert report["neverWhole"] == 0
    check_order(report, rounds)
    said = [g for g in report["gangs"] if g["job"] == "default/wide"]
    assert said[0]["size"] == 512 and said[0]["whole"], said


if __name__ == "__main__":
    main()
