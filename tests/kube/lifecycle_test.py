"""The control plane of tools/kube starts, works, and leaves no process and no file behind, however it ends.

Every process that a test starts inherits a mark in its environment, by which what is left is found.
"""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

KUBE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "kube")
HANG_GUARD = 300  # seconds; nothing is expected to come near


def marked(mark):
    """Live processes (zombies have no environment) with the mark."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as f:
                    if mark.encode() in f.read():
                        with open(f"/proc/{name}/comm") as comm:
                            found.append((comm.read().strip(), int(name)))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass
    return found


def wait_until(what, fact):
    end = time.monotonic() + HANG_GUARD
    while not (value := fact()):
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.02)
    return value


class Lifecycle(unittest.TestCase):
    def setUp(self):
        self.mark = f"LOCKSTEP_TEST_MARK={uuid.uuid4()}"
        self.folder = tempfile.mkdtemp(prefix="lockstep-lifecycle-")
        self.temporary = os.path.join(self.folder, "tmp")
        os.mkdir(self.temporary)
        name, value = self.mark.split("=")
        self.env = {**os.environ, name: value, "TMPDIR": self.temporary}
        self.started = []

    def tearDown(self):
        for _, pid in marked(self.mark):
            os.kill(pid, signal.SIGKILL)
        subprocess.run(["rm", "-rf", self.folder], check=True)

    def run_tool(self, *argv):
        return subprocess.run([os.path.join(KUBE, argv[0]), *argv[1:]], env=self.env, capture_output=True, text=True,
                              timeout=HANG_GUARD)

    def start_with(self, command):
        """A `with` whose command has written its ready file."""
        ready = os.path.join(self.folder, "ready")
        owner = subprocess.Popen([os.path.join(KUBE, "with"), "--", "sh", "-c", f"echo > {ready}; {command}"],
                                 env=self.env)
        wait_until("the command runs", lambda: os.path.exists(ready) or owner.poll() is not None)
        self.assertIsNone(owner.poll(), "`with` ended early")
        names = {name for name, _ in marked(self.mark)}
        self.assertIn("etcd", names)
        self.assertIn("kube-apiserver", names)
        return owner

    def expect_nothing_left(self):
        wait_until("all processes gone", lambda: not marked(self.mark))
        self.assertEqual(os.listdir(self.temporary), [])

    def test_command_sees_a_working_cluster_and_its_status_is_passed_on(self):
        audit_copy = os.path.join(self.folder, "audit")
        script = f"""
            set -e
            kubectl auth whoami -o json > /dev/null
            kubectl create namespace here
            kubectl -n here run p --image=none --labels=rank=3 --overrides='{{"spec":{{"nodeName":"n"}}}}'
            kubectl -n here get pod p -o name
            cp $LOCKSTEP_AUDIT_LOG {audit_copy}
            exit 7"""
        done = self.run_tool("with", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("pod/p", done.stdout)
        with open(audit_copy) as f:
            events = [json.loads(line) for line in f]
        creates = [e for e in events if e["verb"] == "create" and e["objectRef"]["resource"] == "pods"]
        self.assertEqual(len(creates), 1)
        self.assertEqual(creates[0]["requestObject"]["metadata"]["labels"], {"rank": "3"})
        self.assertTrue(creates[0]["responseObject"]["metadata"]["uid"])
        self.assertEqual({e["stage"] for e in events}, {"ResponseComplete"})
        self.expect_nothing_left()

    def test_real_scheduler_and_controller_manager_do_their_work(self):
        script = """
            set -e
            kubectl get serviceaccount default > /dev/null
            kubectl create configmap owner
            uid=$(kubectl get configmap owner -o jsonpath='{.metadata.uid}')
            kubectl create -f - <<END
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [
              {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "$uid"}]}}
END
            kubectl delete configmap owner
            kubectl wait --for=delete configmap/owned --timeout=120s
            kubectl run p --image=none
            kubectl wait pod/p --for=condition=PodScheduled=False --timeout=120s"""
        done = self.run_tool("with", "--scheduler", "--controller-manager", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.expect_nothing_left()

    def test_kill_9_of_the_owner_leaves_nothing(self):
        owner = self.start_with("sleep 100000 & setsid sleep 100000 & sleep 100000")
        owner.kill()
        owner.wait()
        self.expect_nothing_left()

    def test_sigterm_reaches_the_command_first(self):
        told = os.path.join(self.folder, "told")
        owner = self.start_with(f"trap 'echo > {told}; exit 0' TERM; while :; do sleep 0.1; done")
        owner.terminate()
        self.assertEqual(owner.wait(HANG_GUARD), 143)
        self.assertTrue(os.path.exists(told))
        self.expect_nothing_left()

    def test_a_server_that_dies_ends_the_run(self):
        owner = self.start_with("sleep 100000")
        etcd, = [pid for name, pid in marked(self.mark) if name == "etcd"]
        os.kill(etcd, signal.SIGKILL)
        self.assertEqual(owner.wait(HANG_GUARD), 125)
        self.expect_nothing_left()

    def test_up_stays_until_down_and_is_private(self):
        plane = os.path.join(self.folder, "plane")
        first = self.run_tool("up", plane)
        self.assertEqual(first.returncode, 0, first.stderr)
        kubeconfig = first.stdout.strip()
        self.assertEqual(os.stat(kubeconfig).st_mode & 0o777, 0o600)
        servers = sorted(marked(self.mark))
        again = self.run_tool("up", plane)
        self.assertEqual((again.returncode, again.stdout), (0, first.stdout))
        self.assertEqual(sorted(marked(self.mark)), servers)  # nothing was started twice
        self.assertEqual(self.run_tool("down", plane).returncode, 0)
        self.assertEqual(marked(self.mark), [])  # already when `down` returns
        self.assertEqual(self.run_tool("down", plane).returncode, 0)

    def test_up_ends_with_its_owner_and_two_run_side_by_side(self):
        planes = [os.path.join(self.folder, name) for name in ("a", "b")]
        owner = subprocess.Popen(["sleep", "100000"])
        try:
            for plane in planes:
                done = self.run_tool("up", plane, "--owner", str(owner.pid))
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(name for name, _ in marked(self.mark) if name in ("etcd", "kube-apiserver")),
                             ["etcd", "etcd", "kube-apiserver", "kube-apiserver"])
        finally:
            owner.kill()
            owner.wait()
        self.expect_nothing_left()

    def test_kill_9_of_the_supervisor_takes_the_servers_along(self):
        plane = os.path.join(self.folder, "plane")
        self.assertEqual(self.run_tool("up", plane).returncode, 0)
        with open(os.path.join(plane, "supervisor")) as f:
            os.kill(int(f.read().split()[0]), signal.SIGKILL)
        self.expect_nothing_left()
        # The remains are no hindrance to the next start.
        self.assertEqual(self.run_tool("up", plane).returncode, 0)
        self.assertEqual(self.run_tool("down", plane).returncode, 0)

    def test_a_server_that_cannot_start_is_named_with_its_words(self):
        done = self.run_tool("with", "--apiserver-flag=--no-such-flag", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("kube-apiserver ended with", done.stderr)
        self.assertIn("no-such-flag", done.stderr)
        self.expect_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
