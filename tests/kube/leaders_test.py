"""Two operators of which one leads. The leader is stopped (SIGSTOP) in the middle of creating a gang and goes on after the
other has completed it or taken it back; killed; told to end. No index is doubled, no node carries too much, every job
succeeds, and the next leader writes in time.

usage: leaders_test.py LOCKSTEP [--nodes N] [--gangs N] [--rounds N] [--no-batches]     N gangs of two pods run all the while
"""
import argparse
import contextlib
import datetime
import json
import os
import signal
import socket
import time
import urllib.request

from cluster import CORE, Cluster, Refused, holder, is_true, pytorchjob, wait_until

AFTER_KILL, AFTER_TERM = 5, 1  # seconds until the next leader's first write: DESIGN.md, speed to hold
BATCH = 256  # pods of the gang in whose creation a leader is stopped: more than are in flight at once
LEASE_PATH = "/leases/lockstep-operator"


class Operators:
    """Two at all times; whoever ends is followed by a new one."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.all = [self.start(), self.start()]
        wait_until("a leader", lambda: holder(cluster), describe=lambda: self.all[0].text()[-2000:])

    def start(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        program = self.cluster.operator("--leader-elect", "--health-address", f"127.0.0.1:{port}")
        program.port = port
        return program

    def leader(self):
        return next((p for p in self.all if f"_{p.pid}_" in (holder(self.cluster) or "")), None)

    def wait_ready(self):
        """One leads and the other has listed everything and follows."""
        def ready(program):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{program.port}/readyz", timeout=5) as answer:
                    return answer.status == 200
            except OSError:
                return False

        wait_until("both are ready", lambda: self.leader() and all(ready(p) for p in self.all))

    def replace(self, program):
        self.all.remove(program)
        self.all.append(self.start())


def pods_of(cluster, job):
    return [p for p in cluster.pods(job) if "deletionTimestamp" not in p["metadata"]]


def stop_in_batch(cluster, operators, name, at):
    """The leader, stopped when worker `at` - 1 of a new gang is there; at 0 the gang is just recorded."""
    operators.wait_ready()
    leader = operators.leader()
    cluster.submit(pytorchjob(name, BATCH))  # whose ranks meet: a part of them gets nowhere

    def far_enough():  # one small read, for the moment is short
        if at > 0:
            return cluster.api.find(f"{CORE}/namespaces/default/pods/{name}-worker-{at - 1}")
        gang = cluster.api.find(f"/apis/lockstep.dev/v1alpha1/namespaces/default/gangs/pytorchjob-{name}")
        return gang and gang.get("status", {}).get("attempt")

    wait_until(f"{name} has {at} pods", far_enough, pause=0)
    os.kill(leader.pid, signal.SIGSTOP)
    return leader, len(cluster.pods(name))


def resume(leader):
    os.kill(leader.pid, signal.SIGCONT)
    wait_until("the old leader knows that it is none", lambda: any(
        line.get("msg", "").startswith("lost the lease") for line in leader.lines()), describe=lambda: leader.text()[-1500:])


def completed_by_the_other(cluster, operators, name, at):
    leader, there = stop_in_batch(cluster, operators, name, at)
    try:
        wait_until("the other leads", lambda: operators.leader() not in (None, leader))
        wait_until(f"{name} succeeded", lambda: is_true(cluster.job(name), "Succeeded"))
    finally:
        resume(leader)
    print(f"{name}: stopped with {there} of {BATCH} pods; the other completed them", flush=True)


def collect_garbage(cluster, job, node):
    """What kube-controller-manager does a minute after a node has gone."""
    for pod in cluster.pods(job):
        if pod["spec"]["nodeName"] == node and "deletionTimestamp" in pod["metadata"]:
            with contextlib.suppress(Refused):
                cluster.api.request("DELETE", f"{CORE}/namespaces/default/pods/{pod['metadata']['name']}",
                                    {"gracePeriodSeconds": 0})


def last_node(placement):
    """Of an entry like gpu-{1*2,4,7..9}=Worker/0-9: gpu-9."""
    names = placement[-1].split("=")[0]
    before, brace, rest = names.partition("{")
    numbers, _, after = rest.partition("}")
    return before + numbers.split(",")[-1].split("..")[-1].split("*")[0] + after if brace else names


def taken_back_by_the_other(cluster, operators, name, at):
    """A node of the placement goes while nobody leads, so the attempt is undone and made anew elsewhere."""
    leader, there = stop_in_batch(cluster, operators, name, at)

    def attempts():
        return cluster.gangs()[f"pytorchjob-{name}"]["status"]["attempt"]

    try:
        placement = cluster.gangs()[f"pytorchjob-{name}"]["status"]["placement"]
        node = last_node(placement)
        cluster.api.delete(f"{CORE}/nodes/{node}")
        wait_until("the other leads", lambda: operators.leader() not in (None, leader))

        def placed_again():
            collect_garbage(cluster, name, node)
            return attempts() > 1 or is_true(cluster.job(name), "Succeeded")

        wait_until(f"{name} is placed again", placed_again)
    finally:
        resume(leader)

    def succeeded():
        collect_garbage(cluster, name, node)
        return is_true(cluster.job(name), "Succeeded")

    wait_until(f"{name} succeeded", succeeded)
    # On a slow machine all pods may have met before the node was gone.
    what = "took them back" if attempts() > 1 else "found them complete"
    print(f"{name}: stopped with {there} of {BATCH} pods; the other {what}", flush=True)
    return attempts() > 1


def entries_since(moment):
    """Writes of operators that the audit log has since then, the oldest first, with their times."""
    found = []
    with open(os.environ["LOCKSTEP_AUDIT_LOG"]) as log:
        for line in log:
            if '"lockstep/' not in line:
                continue
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                received = datetime.datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()
                if received >= moment and entry["verb"] not in ("get", "list", "watch"):
                    found.append((received, entry))
    return sorted(found, key=lambda pair: pair[0])


def first_write_after(moment):
    """Seconds from then to the first write of the next leader: after the Lease is in its name."""
    leads = False
    for received, entry in entries_since(moment):
        lease = LEASE_PATH in entry["requestURI"] and entry["responseStatus"].get("code") == 200
        if lease and not leads and received - moment > 0.001:
            leads = True
        elif leads and not lease:
            return received - moment
    return None


def take_over(cluster, operators, name, end):
    """Ends the leader while a job arrives; the seconds until the next one writes."""
    operators.wait_ready()
    leader = operators.leader()
    moment = time.time()
    end(leader)
    cluster.submit(pytorchjob(name, 4))
    wait_until("another leader", lambda: operators.leader() not in (None, leader))
    wait_until(f"{name} succeeded", lambda: is_true(cluster.job(name), "Succeeded"))
    took = first_write_after(moment)
    assert took is not None
    operators.replace(leader)
    return took


def fill(cluster, gangs):
    forever = {"hollow.lockstep.dev/run-time": "forever"}
    for i in range(gangs):
        cluster.submit(pytorchjob(f"base-{i:04}", 2, requests={"cpu": "1"}, annotations=forever))
    wait_until(f"{gangs} gangs run", lambda: sum(is_true(job, "Running") for job in cluster.jobs().values()) >= gangs,
               guard=120 + gangs)


def check_base(cluster, gangs):
    """Nobody touched what ran."""
    for name, gang in cluster.gangs().items():
        assert gang["status"]["restarts"] == {"policy": 0, "fault": 0}, (name, gang["status"])
        if "base-" in name:
            assert gang["status"]["phase"] == "Running" and gang["status"]["attempt"] == 1, (name, gang["status"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lockstep")
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--gangs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=2, help="of kill and SIGTERM")
    parser.add_argument("--no-batches", action="store_true", help="only kill and SIGTERM")
    options = parser.parse_args()
    cluster = Cluster()
    cluster.api.create(f"{CORE}/namespaces", {"metadata": {"name": "lockstep-system"}})
    cluster.hollow(options.nodes, "--name-prefix", "base-", gpu=0)
    cluster.hollow(40, "--name-prefix", "gpu-", gpu=8, run_time="200ms")
    operators = Operators(cluster)
    fill(cluster, options.gangs)
    if not options.no_batches:
        for i, at in enumerate((0, 1, BATCH // 4, BATCH // 2, BATCH - 1)):
            completed_by_the_other(cluster, operators, f"completed-{i}", at)
        taken = [taken_back_by_the_other(cluster, operators, f"taken-back-{i}", at) for i, at in enumerate((0, 1, BATCH // 8))]
        assert any(taken), "never in time"
    kills, terms = [], []
    for i in range(options.rounds):
        kills.append(take_over(cluster, operators, f"after-kill-{i}", lambda p: p.kill()))
        terms.append(take_over(cluster, operators, f"after-term-{i}", lambda p: p.stop()))
    print(f"first write of the next leader, {options.nodes} nodes and {options.gangs} gangs: after kill -9 "
          f"{', '.join(f'{s:.2f}' for s in kills)} s; after SIGTERM {', '.join(f'{s:.2f}' for s in terms)} s", flush=True)
    check_base(cluster, options.gangs)
    for program in operators.all:
        assert program.stop() == 0
    report = cluster.audit()
    assert report["neverWhole"] <= 3, "only what was taken back may have been a part"
    assert max(kills) <= AFTER_KILL, kills
    assert max(terms) <= AFTER_TERM, terms


if __name__ == "__main__":
    main()
