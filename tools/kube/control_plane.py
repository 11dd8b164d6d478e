"""A real etcd and kube-apiserver (and scheduler, controller-manager) on free loopback ports, in one folder."""
import contextlib
import fcntl
import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from certificates import Certificates
from processes import spawn

HERE = os.path.dirname(os.path.abspath(__file__))
READY_TIMEOUT = 180  # seconds; 6 are usual, a busy two-core machine needs many more
_SHM = "/dev/shm"
_SHM_NEEDED = 1 << 30  # bytes; containers often have 64 MiB there, too little for etcd


class StartError(Exception):
    """Says which program failed and shows the end of its log."""


def add_options(parser):
    parser.add_argument("--scheduler", action="store_true", help="run the kube-scheduler too")
    parser.add_argument("--controller-manager", action="store_true",
                        help="run the kube-controller-manager too (garbage collection, service accounts, node "
                             "taints, namespace deletion)")
    parser.add_argument("--admission", default="", metavar="PLUGIN[,PLUGIN]", help="more admission plugins")
    parser.add_argument("--apiserver-flag", action="append", default=[], metavar="FLAG",
                        help="passed on, for example --apiserver-flag=--max-requests-inflight=50")


class ControlPlane:
    """Started in the constructor's folder; `processes` maps names to Popen objects of the live programs."""

    def __init__(self, folder, options):
        self.folder = os.path.abspath(folder)
        self.options = options
        self.processes = {}
        self.kubeconfig = self._path("kubeconfig")
        self._data = None
        self._data_lock = None

    def start(self, check_owner=lambda: None):
        """Returns when the API server is ready. `check_owner` is called while waiting and may raise."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        for name in ("kubeconfig", "audit.log"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(name))
        self._check_owner = check_owner
        self._certificates = Certificates(self._path("certificates"))
        self._make_data_folder()
        # A free port may be taken between our look and the program's; then the start is simply tried again.
        for last in (False, False, True):
            try:
                self._start_etcd()
                self._start_apiserver()
                break
            except StartError as e:
                if last or "address already in use" not in str(e):
                    raise
                self.kill()
                shutil.rmtree(os.path.join(self._data, "etcd"), ignore_errors=True)
        if self.options.controller_manager:
            self._start_controller_manager()
        if self.options.scheduler:
            self._start_scheduler()
        self._certificates.kubeconfig(self.kubeconfig, self._server, "lockstep-admin", "system:masters")

    def ended(self):
        """Names of programs that ended by themselves."""
        return [name for name, process in self.processes.items() if process.poll() is not None]

    def kill(self):
        """At once: nothing here is worth a clean end, and audit lines are written as they happen."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        self.processes = {}

    def remove_data(self):
        if self._data:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data_lock.close()

    def log_tail(self, name, lines=15):
        with open(self._path(f"{name}.log"), errors="replace") as f:
            return "".join(f.readlines()[-lines:])

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _start_etcd(self):
        client, peer = free_ports(2)
        self._etcd = f"http://127.0.0.1:{client}"
        peer_url = f"http://127.0.0.1:{peer}"
        self._run("etcd", "--name=lockstep", f"--data-dir={self._data}/etcd", "--unsafe-no-fsync",
                  f"--listen-client-urls={self._etcd}", f"--advertise-client-urls={self._etcd}",
                  f"--listen-peer-urls={peer_url}", f"--initial-advertise-peer-urls={peer_url}",
                  f"--initial-cluster=lockstep={peer_url}", "--quota-backend-bytes=4294967296",
                  "--log-level=warn")
        self._wait("etcd", lambda: json.load(urllib.request.urlopen(self._etcd + "/health"))["health"] == "true")

    def _start_apiserver(self):
        port, = free_ports(1)
        self._server = f"https://127.0.0.1:{port}"
        crt = self._certificates.path
        disabled = []
        if not self.options.controller_manager:
            # Nobody makes default service accounts, and nobody takes the not-ready taint off new nodes.
            disabled = ["ServiceAccount", "TaintNodesByCondition"]
        plugins = ["OwnerReferencesPermissionEnforcement"] + [p for p in self.options.admission.split(",") if p]
        flags = [
            f"--etcd-servers={self._etcd}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={port}", "--endpoint-reconciler-type=none",
            f"--tls-cert-file={crt('apiserver.crt')}", f"--tls-private-key-file={crt('apiserver.key')}",
            f"--client-ca-file={crt('ca.crt')}", "--authorization-mode=RBAC", "--anonymous-auth=false",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={crt('service-accounts.pub')}",
            f"--service-account-signing-key-file={crt('service-accounts.key')}",
            "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true", "--profiling=false",
            f"--enable-admission-plugins={','.join(plugins)}",
            "--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000", "--event-ttl=1h",
            f"--audit-policy-file={HERE}/audit-policy.yaml", f"--audit-log-path={self._path('audit.log')}",
            "--audit-log-format=json", "--audit-log-mode=blocking",
            "--audit-log-maxsize=100000",  # MB; readers follow one file, so it is never rotated
        ]
        if disabled:
            flags.append(f"--disable-admission-plugins={','.join(disabled)}")
        self._run("kube-apiserver", *flags, *self.options.apiserver_flag)
        self._certificates.kubeconfig(self._path("kubeconfig.probe"), self._server, "lockstep-probe",
                                      "system:masters")
        self._wait("kube-apiserver", lambda: self._get("/readyz") == b"ok")
        self._wait("kube-apiserver", lambda: self._get("/api/v1/namespaces/default"))

    def _start_controller_manager(self):
        crt = self._certificates.path
        config = self._component_kubeconfig("kube-controller-manager")
        self._run("kube-controller-manager", f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0",
                  "--use-service-account-credentials=true", f"--root-ca-file={crt('ca.crt')}",
                  f"--service-account-private-key-file={crt('service-accounts.key')}",
                  "--kube-api-qps=1000", "--kube-api-burst=2000", "--profiling=false")
        self._wait("kube-controller-manager", lambda: self._get("/api/v1/namespaces/default/serviceaccounts/default"))

    def _start_scheduler(self):
        config = self._component_kubeconfig("kube-scheduler")
        with open(self._path("kube-scheduler.yaml"), "w") as f:
            json.dump({
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                # The defaults (50, 100) would slow it down next to what it is compared with.
                "clientConnection": {"kubeconfig": config, "qps": 1000, "burst": 2000},
            }, f)
        self._run("kube-scheduler", f"--config={self._path('kube-scheduler.yaml')}", "--secure-port=0")

    def _component_kubeconfig(self, name):
        path = self._path(f"kubeconfig.{name}")
        self._certificates.kubeconfig(path, self._server, f"system:{name}")
        return path

    def _run(self, name, *flags):
        for folder in program_folders():
            program = os.path.join(folder, name)
            if os.access(program, os.X_OK):
                break
        else:
            raise StartError(f"{name} is not built: run tools/kube/build")
        log = self._path(f"{name}.log")
        with open(log, "w"):
            pass
        self.processes[name] = spawn([program, *flags], log=log)

    def _wait(self, name, ready):
        end = time.monotonic() + READY_TIMEOUT
        last = None
        while True:
            self._check_owner()
            if self.processes[name].poll() is not None:
                raise StartError(f"{name} ended with {self.processes[name].returncode}:\n{self.log_tail(name)}")
            try:
                if ready():
                    return
            except (OSError, ValueError) as e:  # URLError is an OSError
                last = e
            if time.monotonic() > end:
                raise StartError(f"{name} is not ready after {READY_TIMEOUT} s ({last}):\n{self.log_tail(name)}")
            time.sleep(0.05)

    def _get(self, path):
        context = ssl.create_default_context(cafile=self._certificates.path("ca.crt"))
        context.load_cert_chain(self._certificates.path("lockstep-probe.crt"),
                                self._certificates.path("lockstep-probe.key"))
        with urllib.request.urlopen(self._server + path, context=context, timeout=10) as answer:
            return answer.read()

    def _make_data_folder(self):
        """etcd's data in memory where there is room. A lock shows that the folder is in use, so that what a
        killed supervisor left behind can be told apart and swept."""
        shm = os.access(_SHM, os.W_OK) and shutil.disk_usage(_SHM).free > _SHM_NEEDED
        prefix = f"lockstep-kube-{os.getuid()}-"
        if not shm:
            self._data = tempfile.mkdtemp(prefix="data-", dir=self.folder)
            self._data_lock = open(os.path.join(self._data, "lock"), "w")
            return
        with open(os.path.join(_SHM, f"{prefix}lock"), "w") as sweep:
            fcntl.flock(sweep, fcntl.LOCK_EX)
            for name in os.listdir(_SHM):
                folder = os.path.join(_SHM, name)
                if name.startswith(prefix) and os.path.isdir(folder) and not is_locked(os.path.join(folder, "lock")):
                    shutil.rmtree(folder, ignore_errors=True)
            self._data = tempfile.mkdtemp(prefix=prefix, dir=_SHM)
            self._data_lock = open(os.path.join(self._data, "lock"), "w")
            fcntl.flock(self._data_lock, fcntl.LOCK_EX)


def is_locked(path):
    try:
        with open(path) as f:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True


def program_folders():
    return subprocess.run([os.path.join(HERE, "path")], check=True, capture_output=True,
                          text=True).stdout.strip().split(":")


def environment(plane):
    """What a command needs to use the control plane."""
    path = ":".join([*program_folders(), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "KUBECONFIG": plane.kubeconfig, "LOCKSTEP_KUBE_DIR": plane.folder,
            "LOCKSTEP_AUDIT_LOG": os.path.join(plane.folder, "audit.log")}


def free_ports(count):
    """Below the range from which outgoing connections take theirs, so that only other starts can race for them."""
    sockets = []
    try:
        while len(sockets) < count:
            s = socket.socket()
            with contextlib.suppress(OSError):
                s.bind(("127.0.0.1", random.SystemRandom().randrange(12000, 32000)))
                sockets.append(s)
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()
