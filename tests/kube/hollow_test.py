"""Hollow nodes on a real API server do what a kubelet does: register, run, refuse, end and remove pods.

Order and proportion are judged by the server's own times; how long anything took here is not.
"""
from cluster import CORE, Cluster, wait_until

PODS = f"{CORE}/namespaces/default/pods"
NODES = f"{CORE}/nodes"


def pod(name, node, gpu=1, finalizer=None, **annotations):
    annotations = {f"hollow.lockstep.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": name, "annotations": annotations}
    if finalizer:
        metadata["finalizers"] = [finalizer]
    container = {"name": "main", "image": "example.com/train", "resources": {"limits": {"nvidia.com/gpu": str(gpu)}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"nodeName": node, "restartPolicy": "Never", "containers": [container]}}


class Hollow:
    def __init__(self):
        self.cluster = Cluster(crds=False)
        self.api = self.cluster.api

    def get(self, name):
        return self.api.find(f"{PODS}/{name}")

    def phase(self, name):
        found = self.get(name)
        return found["status"]["phase"] if found else "gone"

    def wait_phase(self, name, phase):
        wait_until(f"pod {name} is {phase}", lambda: self.phase(name) == phase, describe=lambda: self.phase(name))
        return self.get(name)

    def create(self, *args, **kwargs):
        self.api.create(PODS, pod(*args, **kwargs))

    def nodes_are_ready_and_untainted(self):
        nodes = self.api.items(NODES)
        assert {node["metadata"]["name"] for node in nodes} == {f"node-{i}" for i in range(20)}
        for node in nodes:
            assert not node["spec"].get("taints"), node["spec"]
            assert node["status"]["allocatable"]["nvidia.com/gpu"] == "2"
            ready = [c for c in node["status"]["conditions"] if c["type"] == "Ready"]
            assert ready[0]["status"] == "True"
            assert node["status"]["nodeInfo"]["bootID"]
        assert len({node["status"]["nodeInfo"]["bootID"] for node in nodes}) == 20

    def pods_run_and_end(self):
        self.create("good", "node-0", run_time="1s")
        self.create("bad", "node-1", run_time="1s", exit_code="3")
        good, bad = self.wait_phase("good", "Succeeded"), self.wait_phase("bad", "Failed")
        for found, code in ((good, 0), (bad, 3)):
            (status,) = found["status"]["containerStatuses"]
            assert status["state"]["terminated"]["exitCode"] == code, status
            assert found["status"]["podIP"] and found["status"]["qosClass"]
            ready = [c for c in found["status"]["conditions"] if c["type"] == "Ready"]
            assert ready[0]["status"] == "False" and len(found["status"]["conditions"]) == 5, found["status"]

    def overcommit_is_refused(self):
        self.create("holder", "node-2", gpu=2, run_time="forever")
        self.wait_phase("holder", "Running")
        self.create("too-much", "node-2")
        refused = self.wait_phase("too-much", "Failed")
        assert refused["status"]["reason"] == "OutOfnvidia.com/gpu", refused["status"]
        assert "requested: 1, used: 2, capacity: 2" in refused["status"]["message"]

    def a_rendezvous_is_met_together(self):
        for i in range(3):
            self.create(f"meet-{i}", f"node-{3 + i}", run_time="1s", rendezvous="meet/4")
        for i in range(3):
            self.wait_phase(f"meet-{i}", "Running")
        self.create("meet-3", "node-6", run_time="1s", rendezvous="meet/4")
        started = self.wait_phase("meet-3", "Succeeded")["status"]["startTime"]
        for i in range(3):
            ended = self.wait_phase(f"meet-{i}", "Succeeded")["status"]["containerStatuses"][0]["state"]["terminated"]
            assert ended["finishedAt"] >= started

    def deletion(self):
        self.create("obeys", "node-7", run_time="forever")
        self.create("ignores", "node-8", run_time="forever", ignore_term="true", finalizer="example.com/look")
        self.create("hangs", "node-9", run_time="forever", hang_terminating="true")
        for name in ("obeys", "ignores", "hangs"):
            self.wait_phase(name, "Running")
            self.api.request("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 1})
        self.wait_phase("obeys", "gone")
        # The finalizer shows the real exit.
        ended = self.wait_phase("ignores", "Failed")["status"]["containerStatuses"][0]["state"]["terminated"]
        assert ended["exitCode"] == 137, ended
        self.api.patch(f"{PODS}/ignores", {"metadata": {"finalizers": None}})
        self.wait_phase("ignores", "gone")
        assert self.phase("hangs") == "Running" and self.get("hangs")["metadata"]["deletionTimestamp"]

    def a_restart_takes_over(self, program):
        self.create("long", "node-10", run_time="forever")
        before = self.wait_phase("long", "Running")["status"]
        program.kill()
        self.create("meanwhile", "node-11", run_time="1s")
        program = self.start()
        self.wait_phase("meanwhile", "Succeeded")
        assert self.get("long")["status"] == before
        return program

    def start(self):
        return self.cluster.hollow(20, "--leases", "--remove-nodes-on-exit", gpu=2)

    def run(self):
        program = self.start()
        self.nodes_are_ready_and_untainted()
        self.pods_run_and_end()
        self.overcommit_is_refused()
        self.a_rendezvous_is_met_together()
        self.deletion()
        program = self.a_restart_takes_over(program)
        wait_until("every node has a lease", lambda: len(self.api.items(
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")) == 20)
        assert program.stop() == 0, program.text()
        assert not self.api.items(NODES), "nodes are removed on exit"
        assert "refused" not in program.text(), program.text()
        report = self.cluster.audit("--excess-after", "5s")
        assert report["shortExcesses"] == 1, "too-much, until its kubelet refused it"


if __name__ == "__main__":
    Hollow().run()
