"""kill -9 of the operator at random moments while 60 jobs arrive: all finish, and no part of a gang stays.

The moments come from a seed, which is printed; SEED=n in the environment repeats it.
"""
import os
import random
import time

from cluster import Cluster, live, pytorchjob, wait_until

JOBS = 60


def arrive_and_kill(cluster, moments):
    """Submits the jobs in random steps and kills the operator at random moments, until all have arrived and a dozen
    operators have died."""
    begin = time.monotonic()
    arrivals = sorted(moments.uniform(0, 10) for _ in range(JOBS))
    operator = cluster.operator()
    next_kill = begin + moments.uniform(0.05, 1.0)
    arrived = kills = 0
    while arrived < JOBS or kills < 15:
        now = time.monotonic()
        if arrived < JOBS and now >= begin + arrivals[arrived]:
            cluster.submit(pytorchjob(f"job-{arrived:02}", moments.randint(2, 8)))
            arrived += 1
        elif now >= next_kill:
            assert operator.running(), operator.text()
            operator.kill()
            kills += 1
            operator = cluster.operator()
            next_kill = time.monotonic() + moments.choice([0.05, 0.15, 0.3, 0.6, 1.2]) * moments.uniform(0.5, 2)
        else:
            time.sleep(0.005)  # to the next moment
    return operator, kills


def check_ends(cluster):
    pods = cluster.pods()
    assert live(pods) == [], live(pods)
    for name, gang in cluster.gangs().items():
        status = gang["status"]
        assert status["phase"] == "Succeeded", (name, status)
        assert status["restarts"] == {"policy": 0, "fault": 0}, (name, status)
        job = gang["spec"]["job"]["name"]
        mine = [p for p in pods if p["metadata"]["labels"]["training.kubeflow.org/job-name"] == job]
        attempts = {p["metadata"]["labels"]["lockstep.dev/attempt"] for p in mine}
        assert attempts == {str(status["attempt"])}, (name, attempts, status)
        assert len(mine) == sum(role["count"] for role in gang["spec"]["roles"]), name


def main():
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {seed}", flush=True)
    cluster = Cluster()
    cluster.hollow(12, gpu=4, run_time="1s")
    operator, kills = arrive_and_kill(cluster, random.Random(seed))
    cluster.wait_for_jobs(JOBS)
    wait_until("no live pod", lambda: not live(cluster.pods()))
    check_ends(cluster)
    assert operator.stop() == 0
    report = cluster.audit()
    # A write whose sender is killed before the answer may be logged as failed and be applied all the same: each kill can
    # hide a part of a gang from the log. What became of those is what check_ends has read from the API server.
    whole = {g["job"] for g in report["gangs"] if g["whole"]}
    jobs = {f"default/job-{i:02}" for i in range(JOBS)}
    assert whole <= jobs and len(jobs - whole) <= kills, jobs - whole
    print(f"{kills} kills, {len(report['gangs'])} attempts of {JOBS} gangs")


if __name__ == "__main__":
    main()
