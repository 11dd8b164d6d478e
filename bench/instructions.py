#!/usr/bin/env python3
"""Instructions per call of the core, counted by valgrind: the same on every machine, so that a change shows.

usage: instructions.py [BUILD]     needs valgrind; about five minutes
"""
import re
import subprocess
import sys
import tempfile

# What is counted: a function of the core, called by a benchmark; the difference of a long run and a short one, so that what
# the first calls prepare is left out.
CASES = [
    ("decide a gang of 512, its shape known", "gang_place_bench", "BM_Decide512OnHalfFull$", "lockstep::gang::Place("),
    ("decide a gang of 512 by a rule about other pods", "gang_related_bench", "BM_Decide512WithOneRule/1", "lockstep::gang::Place("),
    ("place a gang of 8, all alike", "gang_place_bench", "BM_GangsOf8Alike", "lockstep::gang::Place("),
    ("place a gang of 8, Master and Workers", "gang_place_bench", "BM_GangsOf8MasterAndWorkers", "lockstep::gang::Place("),
    ("place a gang of 8, 50 shapes", "gang_place_bench", "BM_GangsOf8Of50Shapes", "lockstep::gang::Place("),
    ("does a waiting gang fit, 50 shapes", "gang_place_bench", "BM_OneNodeChanges10000GangsWait", "lockstep::gang::Fits("),
    ("a pod comes to a node", "cluster_nodes_bench", "BM_OccupyAndRelease", "lockstep::cluster::Nodes::Occupy("),
    ("a heartbeat without news", "cluster_nodes_bench", "BM_HeartbeatWithoutNews", "lockstep::cluster::Nodes::Upsert("),
    ("a step, one changed node, 100 gangs wait", "engine_step_bench", "StepWithOneChangedNode/waiting:100/", "lockstep::engine::Step("),
    ("a step, one changed node, 10,000 gangs wait", "engine_step_bench", "StepWithOneChangedNode/waiting:10000/", "lockstep::engine::Step("),
]
SHORT, LONG = 0.001, 4  # seconds of a benchmark


def calls_into(dump, function):
    """How often it was called, and the instructions of all calls with what they called in turn."""
    calls = instructions = pending = 0
    into = False
    for line in dump:
        if line.startswith("cfn="):
            into = line[4:].startswith(function)
        elif into and line.startswith("calls="):
            pending = int(line[6:].split()[0])
        elif pending:
            calls, instructions, pending, into = calls + pending, instructions + int(line.split()[1]), 0, False
    return calls, instructions


def count(build, program, benchmark, function, seconds):
    with tempfile.NamedTemporaryFile("r") as out:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", "--compress-strings=no",
             "--compress-pos=no", f"{build}/{program}", f"--benchmark_filter={benchmark}", f"--benchmark_min_time={seconds}"],
            capture_output=True, text=True)
        if done.returncode or not re.search(benchmark.rstrip("$"), done.stdout):
            sys.exit(f"{program} {benchmark}: {done.stdout[-500:]}{done.stderr[-1500:]}")
        return calls_into(out, function)


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    print("| what | calls | instructions per call |\n|---|---|---|")
    for what, *case in CASES:
        few, prepared = count(build, *case, SHORT)
        calls, instructions = count(build, *case, LONG)
        if calls <= few:
            sys.exit(f"{what}: {case[2]} was called {calls} times")
        print(f"| {what} | {calls - few:,} | {(instructions - prepared) // (calls - few):,} |", flush=True)


if __name__ == "__main__":
    main()
