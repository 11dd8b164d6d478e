"""Bad input stops only itself: broken jobs, missing and older CRDs, an API server that is not there at the start."""
import os
import socket
import subprocess
import threading

import yaml
from cluster import CORE, Cluster, Refused, condition, is_true, live, pytorchjob, summary, wait_until

HUGE = "1e99"


class Gate:
    """A port before the API server's that refuses until it is opened, and can cut all connections."""

    def __init__(self, server):
        self._target = (server.split("//")[1].split(":")[0], int(server.rsplit(":", 1)[1]))
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))  # bound and not listening: refuses
        self.port = self._listener.getsockname()[1]
        self._open_sockets = []
        self._lock = threading.Lock()

    def open(self):
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        with self._lock:
            cut, self._open_sockets = self._open_sockets, []
        for s in cut:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it was closed by itself
        return len(cut)

    def _accept(self):
        while True:
            inner, _ = self._listener.accept()
            outer = socket.create_connection(self._target)
            with self._lock:
                self._open_sockets += [inner, outer]
            for a, b in ((inner, outer), (outer, inner)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    @staticmethod
    def _pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # cut


def behind(cluster, gate):
    """A kubeconfig that goes through the gate."""
    with open(cluster.kubeconfig) as f:
        config = yaml.safe_load(f)
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{gate.port}"
    path = os.path.join(cluster.folder, "kubeconfig.gate")
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
        yaml.safe_dump(config, f)
    return path


def wait_for_log(operator, *words):
    def said():
        return [line for line in operator.lines() if all(word in str(line) for word in words)]

    line = wait_until(f"the operator logs {words}", said, describe=operator.text)[0]
    print("log:", line["level"], line["msg"], line.get("error"), flush=True)
    assert line["level"] in ("info", "warning", "error")


def older_crds(cluster):
    """The job's CRD as an early release had it, without a schema; Gang's without some fields that came later."""
    text = subprocess.run([cluster.lockstep, "crds"], check=True, capture_output=True, text=True).stdout
    crds = [crd for crd in yaml.safe_load_all(text) if crd]
    for crd in crds:
        schema = crd["spec"]["versions"][0]["schema"]
        if crd["spec"]["names"]["kind"] == "PyTorchJob":
            schema["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        if crd["spec"]["names"]["kind"] == "Gang":
            status = schema["openAPIV3Schema"]["properties"]["status"]["properties"]
            for field in ("needsText", "startFailures"):
                status.pop(field, None)
    return yaml.safe_dump_all(crds)


def broken(name, **changes):
    """A job with values at paths like "Worker/replicas"; None removes."""
    job = pytorchjob(name, 3)
    for path, value in changes.items():
        at = job["spec"]["pytorchReplicaSpecs"]
        *steps, last = path.split("/")
        for step in steps:
            at = at[int(step)] if step.isdigit() else at[step]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return job


CONTAINER = "Worker/template/spec/containers/0/"

# Jobs that the open schema lets in, and what their Failed condition must say.
BROKEN = [
    (broken("no-roles", Master=None, Worker=None), ["pytorchReplicaSpecs"]),
    (broken("zero", **{"Worker/replicas": 0}), ["Worker.replicas", "0"]),
    (broken("negative", **{"Worker/replicas": -1}), ["Worker.replicas", "-1"]),
    (broken("text", **{"Worker/replicas": "many"}), ["Worker.replicas", "many"]),
    (broken("huge", **{"Worker/replicas": 2000000000}), ["pytorchReplicaSpecs", "20000"]),
    (broken("two-masters", **{"Master/replicas": 2}), ["Master.replicas", "must be 1"]),
    (broken("no-containers", **{"Worker/template": {"spec": {"containers": []}}}), ["Worker.template.spec.containers"]),
    (broken("other-name", **{CONTAINER + "name": "tensorflow"}), ["containers", "pytorch"]),
    (broken("no-quantity", **{CONTAINER + "resources": {"limits": {"nvidia.com/gpu": "lots"}}}),
     ["nvidia.com/gpu", "lots"]),
    (broken("three-faults", **{"Master/replicas": 3, "Worker/replicas": 0, "Worker/restartPolicy": "Sometimes"}),
     ["Master.replicas", "Worker.replicas", "Worker.restartPolicy", "Sometimes"]),
]


def submit_broken(cluster):
    """Those that the API server let in; it looks at some of the fields itself, for the scale subresource."""
    let_in = []
    for job, words in BROKEN:
        try:
            cluster.submit(job)
            let_in.append((job["metadata"]["name"], words))
        except Refused as e:
            print(e, flush=True)
            assert e.code == 422 and all(word in str(e) for word in words), e
    assert len(let_in) > len(BROKEN) / 2
    return let_in


def check_broken(cluster):
    let_in = submit_broken(cluster)
    cluster.submit(pytorchjob("sound", 3))
    for name, words in let_in:
        wait_until(f"{name} failed", lambda name=name: is_true(cluster.job(name), "Failed"),
                   describe=lambda name=name: summary(cluster.job(name)))
        message = condition(cluster.job(name), "Failed")["message"]
        print(f"{name}: {message}", flush=True)
        for word in words:
            assert word in message, (name, word, message)
        assert cluster.pods(name) == []
    wait_until("the sound one succeeded", lambda: is_true(cluster.job("sound"), "Succeeded"))


def check_amounts(cluster):
    """1e99 is a quantity: it fits nowhere, and says so; the pods' own fields are the API server's to refuse."""
    cluster.submit(broken("enormous", **{CONTAINER + "resources": {"limits": {"nvidia.com/gpu": HUGE}}}))
    cluster.submit(broken("memory", **{CONTAINER + "resources": {"requests": {"memory": HUGE, "cpu": "1"}}}))
    cluster.submit(broken("refused", **{CONTAINER + "imagePullPolicy": "Perhaps"}))
    extra = pytorchjob("extra", 3)
    extra["spec"]["futureField"] = {"deep": [1, {"er": True}]}
    extra["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["futureField"] = "x"
    cluster.submit(extra)
    cluster.submit(pytorchjob("sound-too", 3))
    for name in ("enormous", "memory", "refused"):
        job = wait_until(f"{name} says why it does not run",
                         lambda name=name: (j := cluster.job(name)) and (is_true(j, "Failed") or said_no(j)) and j,
                         describe=lambda name=name: summary(cluster.job(name)))
        print(summary(job), flush=True)
        assert cluster.pods(name) == []
    wait_until("sound-too succeeded", lambda: is_true(cluster.job("sound-too"), "Succeeded"))
    wait_until("extra came to an end", lambda: is_true(cluster.job("extra"), "Succeeded"),
               describe=lambda: summary(cluster.job("extra")))


def check_odd_values(cluster):
    """What no parser likes may stand in a template all the same; and a pod has the name that a dry run might have."""
    nested = "deepest"
    for _ in range(900):
        nested = [nested]
    for name, value in (("larger-than-64-bits", 10 ** 20), ("nested", nested)):
        cluster.submit(broken(name, **{"Worker/template/spec/odd": value}))
    for role in ("master", "worker"):
        cluster.api.create(f"{CORE}/namespaces/default/pods", {
            "metadata": {"name": f"{role}-check"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"}})
    cluster.submit(pytorchjob("sound-as-well", 2, requests={"cpu": "11m"}))
    for name in ("sound-as-well", "larger-than-64-bits", "nested"):
        wait_until(f"{name} succeeded", lambda name=name: is_true(cluster.job(name), "Succeeded"),
                   describe=lambda name=name: summary(cluster.job(name)))
    for role in ("master", "worker"):
        cluster.api.request("DELETE", f"{CORE}/namespaces/default/pods/{role}-check", {"gracePeriodSeconds": 0})


def check_missing_kind(cluster):
    """A cluster need not have every kind: without the CRD of TFJobs everybody else goes on."""
    cluster.kubectl("delete", "crd", "tfjobs.kubeflow.org")
    operator = cluster.operator()
    wait_for_log(operator, "tfjobs.kubeflow.org", "404")
    cluster.submit(pytorchjob("without-tfjobs", 4))
    wait_until("without-tfjobs succeeded", lambda: is_true(cluster.job("without-tfjobs"), "Succeeded"))
    assert operator.stop() == 0


def said_no(job):
    placed = condition(job, "Placed")
    return placed and placed["status"] == "False" and placed["message"]


def main():
    cluster = Cluster(crds=False)
    gate = Gate(cluster.api.server)
    operator = cluster.operator(kubeconfig=behind(cluster, gate))
    wait_for_log(operator, "pytorchjobs", f"127.0.0.1:{gate.port}")
    gate.open()
    wait_for_log(operator, "pytorchjobs.kubeflow.org", "404")
    wait_for_log(operator, "gangs.lockstep.dev", "404")
    cluster.hollow(4, gpu=1, run_time="100ms")
    cluster.install(older_crds(cluster))
    check_broken(cluster)
    check_amounts(cluster)
    check_odd_values(cluster)
    assert gate.cut() > 0
    cluster.submit(pytorchjob("after-cut", 4))
    wait_until("after-cut succeeded", lambda: is_true(cluster.job("after-cut"), "Succeeded"))
    wait_until("no live pod", lambda: not live(cluster.api.items(f"{CORE}/pods")))
    assert operator.running(), operator.text()
    assert operator.stop() == 0
    check_missing_kind(cluster)
    cluster.audit()


if __name__ == "__main__":
    main()
