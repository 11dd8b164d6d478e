"""A settled cluster causes no write but leases: many nodes and gangs that run, nobody does anything.

usage: settled_test.py LOCKSTEP [--nodes N] [--gangs N] [--seconds N]     the full size: 1000, 500, 120
"""
import argparse
import json
import os
import sys
import time

from cluster import CORE, Cluster, holder, is_true, pytorchjob, wait_until

LEASES = {"update leases", "patch leases"}  # of the operators, of the kubelets


def writes_since(moment_bytes):
    """Of operator and kubelets, in what the audit log has gained since."""
    found = {}
    with open(os.environ["LOCKSTEP_AUDIT_LOG"], "rb") as log:
        log.seek(moment_bytes)
        for line in log:
            entry = json.loads(line)
            if entry["verb"] in ("get", "list", "watch") or not entry.get("userAgent", "").startswith("lockstep"):
                continue
            what = f"{entry['verb']} {entry['objectRef']['resource']}"
            found[what] = found.get(what, 0) + 1
    return found


def quiet_for(cluster, seconds):
    """What is written from now on for so long. Waiting is the test: nothing shall happen."""
    begin = os.path.getsize(os.environ["LOCKSTEP_AUDIT_LOG"])
    time.sleep(seconds)
    return writes_since(begin)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lockstep")
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--gangs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=15)
    options = parser.parse_args()
    cluster = Cluster()
    cluster.api.create(f"{CORE}/namespaces", {"metadata": {"name": "lockstep-system"}})
    cluster.hollow(options.nodes, "--leases", gpu=1, run_time="forever")
    operators = [cluster.operator("--leader-elect") for _ in range(2)]
    wait_until("a leader", lambda: holder(cluster))
    for i in range(options.gangs):
        cluster.submit(pytorchjob(f"gang-{i:04}", 2))
    wait_until("all gangs run", lambda: all(is_true(job, "Running") for job in cluster.jobs().values()),
               guard=120 + options.gangs)
    # What follows the start (the last counts, services of peers) comes within seconds: wait until a second is silent.
    wait_until("it comes to rest", lambda: set(quiet_for(cluster, 1)) <= LEASES)
    written = quiet_for(cluster, options.seconds)
    print(f"{options.nodes} nodes, {options.gangs} gangs, {options.seconds:.0f} s: {written}", flush=True)
    assert set(written) == LEASES, written
    for program in operators:
        assert program.stop() == 0
    report = cluster.audit()
    assert len(report["gangs"]) == options.gangs and report["neverWhole"] == 0


if __name__ == "__main__":
    sys.exit(main())
