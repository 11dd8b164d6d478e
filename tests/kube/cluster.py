"""What the tests of this folder share: the API server they were given, the programs they start, waiting for facts.

A test runs below tools/kube/with, which sets KUBECONFIG, LOCKSTEP_AUDIT_LOG and PATH and ends what a test leaves
behind; its first argument is the lockstep program.
"""
import base64
import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

import yaml

HANG_GUARD = 180  # seconds; nothing is expected to come near
CORE = "/api/v1"
JOBS = "/apis/kubeflow.org/v1"
GANGS = "/apis/lockstep.dev/v1alpha1"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/lockstep-system/leases/lockstep-operator"
TERMINAL = ("Succeeded", "Failed")


class Refused(Exception):
    """An answer of the API server that is no success; `code` and `status` say which."""

    def __init__(self, code, status):
        super().__init__(f"{code}: {status.get('message', status)}")
        self.code = code
        self.status = status


def wait_until(what, fact, guard=HANG_GUARD, describe=lambda: "", pause=0.05):
    """The first true value of `fact`."""
    end = time.monotonic() + guard
    while not (value := fact()):
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what} {describe()}")
        time.sleep(pause)
    return value


class Api:
    """Plain requests on one kept connection: kubectl takes a third of a second of CPU for each."""

    def __init__(self, kubeconfig):
        with open(kubeconfig) as f:
            config = yaml.safe_load(f)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = cluster["server"]
        self.ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=self.ca)
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            pem.flush()
            self._context.load_cert_chain(pem.name)
        self._connection = None

    def request(self, method, path, body=None, content_type="application/json"):
        data = None if body is None else json.dumps(body)
        for last in (False, True):
            try:
                if self._connection is None:
                    where = urllib.parse.urlparse(self.server)
                    self._connection = http.client.HTTPSConnection(where.hostname, where.port, timeout=60,
                                                                   context=self._context)
                self._connection.request(method, path, data, {"Content-Type": content_type})
                answer = self._connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self._connection = None  # kept for too long, perhaps
                if last or method != "GET":
                    raise
        value = json.loads(text) if text.startswith(b"{") else {"message": text.decode()}
        if answer.status >= 300:
            raise Refused(answer.status, value)
        return value

    def get(self, path):
        """Asked again while the API server says "later", as it does of kinds whose CRD has just changed."""
        def answer():
            try:
                return self.request("GET", path)
            except Refused as e:
                if e.code != 429:
                    raise
                return None

        return wait_until(f"the API server answers {path}", answer)

    def find(self, path):
        """The object, or None where there is none."""
        try:
            return self.get(path)
        except Refused as e:
            if e.code == 404:
                return None
            raise

    def items(self, path):
        return self.get(path)["items"]

    def create(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body):
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path):
        return self.request("DELETE", path)


class Program:
    """A lockstep subcommand that was started; its log is a file."""

    def __init__(self, argv, log, env=None):
        self.log = log
        with open(log, "ab") as out:
            self.process = subprocess.Popen(argv, stdout=out, stderr=out, env=env)

    @property
    def pid(self):
        return self.process.pid

    def text(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def lines(self):
        """The JSON lines of the log; the last may be unfinished."""
        found = []
        for line in self.text().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def running(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """SIGTERM, and the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(HANG_GUARD)


class Cluster:
    def __init__(self, crds=True):
        self.lockstep = os.path.abspath(sys.argv[1])
        self.kubeconfig = os.environ["KUBECONFIG"]
        self.folder = os.environ["LOCKSTEP_KUBE_DIR"]
        self.api = Api(self.kubeconfig)
        self._programs = 0
        if crds:
            self.install(subprocess.run([self.lockstep, "crds"], check=True, capture_output=True, text=True).stdout)

    def kubectl(self, *argv, stdin=None, check=True):
        done = subprocess.run(["kubectl", *argv], input=stdin, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(argv)}: {done.stderr}")
        return done.stdout

    def install(self, crds):
        """Applies the text of CRDs and waits until they are served."""
        self.kubectl("apply", "--server-side", "-f", "-", stdin=crds)
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")

    def start(self, *argv, kubeconfig=None):
        self._programs += 1
        log = os.path.join(self.folder, f"{argv[0]}-{self._programs}.log")
        return Program([self.lockstep, *argv, "--kubeconfig", kubeconfig or self.kubeconfig], log)

    def operator(self, *flags, kubeconfig=None):
        return self.start("operator", *flags, kubeconfig=kubeconfig)

    def hollow(self, nodes, *flags, gpu=8, run_time="1s"):
        program = self.start("hollow", "--nodes", str(nodes), "--gpu", str(gpu), "--run-time", run_time, *flags)
        wait_until("hollow nodes are ready", lambda: "ready:" in program.text() or not program.running())
        assert program.running(), program.text()
        return program

    # Jobs.

    def submit(self, job):
        ns = job["metadata"].get("namespace", "default")
        return self.api.create(f"{JOBS}/namespaces/{ns}/{plural(job['kind'])}", job)

    def jobs(self, ns="default", kind="PyTorchJob"):
        return {job["metadata"]["name"]: job for job in self.api.items(f"{JOBS}/namespaces/{ns}/{plural(kind)}")}

    def job(self, name, ns="default", kind="PyTorchJob"):
        return self.api.get(f"{JOBS}/namespaces/{ns}/{plural(kind)}/{name}")

    def gangs(self, ns="default"):
        return {gang["metadata"]["name"]: gang for gang in self.api.items(f"{GANGS}/namespaces/{ns}/gangs")}

    def pods(self, job=None, ns="default"):
        query = f"?labelSelector=training.kubeflow.org/job-name={job}" if job else ""
        return self.api.items(f"{CORE}/namespaces/{ns}/pods{query}")

    def wait_for_jobs(self, count, condition="Succeeded", ns="default", guard=HANG_GUARD):
        def unfinished():
            return [name for name, job in self.jobs(ns).items() if not is_true(job, condition)]

        wait_until(f"{count} jobs {condition}", lambda: len(self.jobs(ns)) >= count and not unfinished(), guard,
                   lambda: f"; not so: {[summary(self.jobs(ns)[name]) for name in unfinished()[:5]]}")

    def audit(self, *flags):
        """What `lockstep audit` finds in the whole log of this API server; fails on a violation. Unless flags say
        otherwise a node may not carry too much for one moment: nobody else places pods here."""
        command = [self.lockstep, "audit", os.environ["LOCKSTEP_AUDIT_LOG"], *(flags or ["--excess-after", "0s"])]
        done = subprocess.run(command, capture_output=True, text=True)
        print(done.stdout, done.stderr, sep="", flush=True)
        assert done.returncode == 0, "lockstep audit found violations"
        return self.verdict(*command[2:])

    def verdict(self, *flags):
        """The report of `lockstep audit`, whatever it finds."""
        done = subprocess.run([self.lockstep, "audit", "-o", "json", *flags], capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)


def plural(kind):
    return kind.lower() + "s"


def holder(cluster):
    """Identity of the operator that leads; its pid is in it, between underscores."""
    lease = cluster.api.find(LEASE)
    return lease and lease["spec"].get("holderIdentity")


def condition(job, kind):
    return next((c for c in job.get("status", {}).get("conditions", []) if c["type"] == kind), None)


def is_true(job, kind):
    found = condition(job, kind)
    return found is not None and found["status"] == "True"


def summary(job):
    conditions = job.get("status", {}).get("conditions", [])
    return job["metadata"]["name"] + ": " + "; ".join(f"{c['type']}={c['status']} {c.get('message')}" for c in conditions)


def pytorchjob(name, pods, gpu=1, requests=None, ns="default", annotations=None):
    """A master and `pods` - 1 workers; `requests` instead of GPUs. Unless other annotations say otherwise the ranks meet
    before they work, as real ones do: a part of a gang gets nowhere, however short its run time."""
    if annotations is None:
        annotations = {"hollow.lockstep.dev/rendezvous": f"{name}/{pods}"}
    resources = {"requests": requests} if requests else {"limits": {"nvidia.com/gpu": gpu}}

    def replica(count):
        container = {"name": "pytorch", "image": "example.com/train", "resources": resources}
        template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}
        return {"replicas": count, "restartPolicy": "OnFailure", "template": template}

    specs = {"Master": replica(1)}
    if pods > 1:
        specs["Worker"] = replica(pods - 1)
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, "namespace": ns},
            "spec": {"pytorchReplicaSpecs": specs}}


def tfjob(name, **replicas):
    """tfjob("a", PS=1, Worker=3): pods of one CPU each that meet before they work."""
    meet = {"hollow.lockstep.dev/rendezvous": f"{name}/{sum(replicas.values())}"}
    container = {"name": "tensorflow", "image": "example.com/train", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"annotations": meet}, "spec": {"containers": [container]}}
    specs = {role: {"replicas": count, "template": template} for role, count in replicas.items()}
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name, "namespace": "default"},
            "spec": {"tfReplicaSpecs": specs, "runPolicy": {"cleanPodPolicy": "All"}}}


def live(pods):
    return [pod["metadata"]["name"] for pod in pods if pod.get("status", {}).get("phase") not in TERMINAL]
