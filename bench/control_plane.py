"""A control plane with hollow nodes and an operator, for one benchmark case."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


class ControlPlane:
    """Starts an API server of its own; everything it started ends with it."""

    def __init__(self, *flags):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
        self.children = []
        self.audit_read, self.audit_entries = 0, []  # bytes of the log read so far, and what they hold
        subprocess.run([ROOT / "tools/kube/up", self.dir / "kube", "--owner", str(os.getpid()), *flags],
                       check=True, stdout=subprocess.DEVNULL)
        self.kubeconfig = self.dir / "kube/kubeconfig"
        self.audit_log = self.dir / "kube/audit.log"
        self._write_credentials()
        crds = subprocess.run([BUILD / "lockstep", "crds"], check=True, capture_output=True).stdout
        self.kubectl("apply", "--server-side", "-f", "-", input=crds)
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait(timeout=30)
        subprocess.run([ROOT / "tools/kube/down", self.dir / "kube"], stdout=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def _write_credentials(self):
        config = yaml.safe_load(self.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = cluster["server"]
        for name, value in (("ca", cluster["certificate-authority-data"]), ("cert", user["client-certificate-data"]),
                            ("key", user["client-key-data"])):
            file = self.dir / name
            file.touch(mode=0o600)
            file.write_bytes(base64.b64decode(value))

    def kubectl(self, *args, **kwargs):
        bin_dir = subprocess.run([ROOT / "tools/kube/path"], check=True, capture_output=True, text=True).stdout.strip()
        kubectl = next(p for d in bin_dir.split(":") if (p := pathlib.Path(d) / "kubectl").exists())
        return subprocess.run([kubectl, "--kubeconfig", self.kubeconfig, *args], check=True, capture_output=True, **kwargs)

    def start(self, *args):
        """Starts a lockstep subcommand and waits until it says something."""
        log = open(self.dir / f"{args[0]}.log", "wb")
        child = subprocess.Popen([BUILD / "lockstep", *args, "--kubeconfig", self.kubeconfig], stdout=log, stderr=log)
        self.children.append(child)
        return child

    def hollow(self, nodes, gpu, run_time):
        child = self.start("hollow", "--nodes", str(nodes), "--gpu", str(gpu), "--run-time", run_time)
        log = self.dir / "hollow.log"
        wait_for(lambda: b"ready:" in log.read_bytes(), 120, "hollow nodes")
        return child

    def operator(self):
        child = self.start("operator", "--log-format", "text")
        time.sleep(1)  # its first lists; nothing is measured yet
        return child

    def raw(self, plan, connections=32):
        """Sends the requests of `plan` with the raw client; returns its result."""
        file = self.dir / "plan.jsonl"
        file.write_text("".join(json.dumps(request) + "\n" for request in plan))
        done = subprocess.run([BUILD / "raw_client", "--server", self.server, "--ca", self.dir / "ca", "--cert",
                               self.dir / "cert", "--key", self.dir / "key", "--connections", str(connections), file],
                              capture_output=True, text=True)
        if done.returncode == 2:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)

    def audit(self):
        """The audit log so far. Only what is new since the last call is read: the run has the same two cores."""
        with open(self.audit_log, "rb") as log:
            log.seek(self.audit_read)
            while (line := log.readline()).endswith(b"\n"):
                self.audit_read += len(line)
                self.audit_entries.append(json.loads(line))
        return self.audit_entries


def wait_for(fact, seconds, what):
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {seconds} s")
        time.sleep(0.1)
