"""The process that owns a control plane: it starts it, keeps it until its owner is gone, and takes it down."""
import contextlib
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import time

import processes
from control_plane import ControlPlane, StartError, environment

COMMAND_GRACE = 5  # seconds between SIGTERM and SIGKILL for a command that must end early


class OwnerGone(Exception):
    pass


class Supervisor:
    """`owner` is a descriptor that becomes readable when the owner is gone (a pipe's end, a pidfd), or None."""

    def __init__(self, folder, options, owner, command=None, remove_folder=False):
        self.plane = ControlPlane(folder, options)
        self.command = command
        self.remove_folder = remove_folder
        self._owner = owner
        self._wake, wake_in = os.pipe()
        os.set_blocking(wake_in, False)
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(wake_in)
        self._stop = False
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the command as well; that decides
        signal.signal(signal.SIGCHLD, lambda *_: None)
        processes.become_subreaper()

    def run(self, on_ready=lambda: None):
        """Returns an exit status: the command's, 0 when told to stop, 125 when the control plane failed."""
        try:
            self.plane.start(self._check_owner)
            on_ready()
            status = self._run_command() if self.command else self._wait_for_stop()
        except StartError as e:
            print(f"kube: {e}", file=sys.stderr)
            status = 125
        except (OwnerGone, BrokenPipeError):
            status = 143
        finally:
            self.plane.kill()
            left = processes.kill_descendants()
            self.plane.remove_data()
            if self.remove_folder:
                shutil.rmtree(self.plane.folder, ignore_errors=True)
        if left:
            print(f"kube: processes that would not end: {left}", file=sys.stderr)
        return status

    def _run_command(self):
        command = processes.spawn(self.command, env=environment(self.plane))
        try:
            while command.poll() is None:
                self._check_owner()
                self._check_plane()
                self._reap_adopted(command)
                self._wait(60)
        finally:
            if command.poll() is None:
                command.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    command.wait(COMMAND_GRACE)
        code = command.returncode
        return code if code >= 0 else 128 - code

    def _wait_for_stop(self):
        with contextlib.suppress(OwnerGone):
            while True:
                self._check_owner()
                self._check_plane()
                self._wait(60)
        return 0

    def _on_stop(self, *_):
        self._stop = True

    def _check_owner(self):
        if self._stop or (self._owner is not None and select.select([self._owner], [], [], 0)[0]):
            raise OwnerGone()

    def _check_plane(self):
        for name in self.plane.ended():
            raise StartError(f"{name} ended by itself:\n{self.plane.log_tail(name)}")

    def _wait(self, seconds):
        """Until a signal (a child's end, a stop) or the owner's end."""
        watched = [self._wake] + ([self._owner] if self._owner is not None else [])
        if self._wake in select.select(watched, [], [], seconds)[0]:
            os.read(self._wake, 4096)

    def _reap_adopted(self, command):
        """Orphans of the command fall to us; a test that waits for their end must not see zombies for ever."""
        own = {command.pid} | {p.pid for p in self.plane.processes.values()}
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if ended.si_pid in own:
                    return  # left for its Popen object
                os.waitpid(ended.si_pid, 0)


def running(folder):
    """The supervisor's pid, or None."""
    try:
        with open(os.path.join(folder, "supervisor")) as f:
            pid, started = map(int, f.read().split())
    except (FileNotFoundError, ValueError):
        return None
    return pid if processes.start_time(pid) == started else None


def detach(folder, options, owner_pid):
    """Runs a supervisor in the background; returns an exit status when the control plane is ready or failed."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = open(os.path.join(folder, "lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # waits for another start in this folder
    if running(folder):
        return 0
    ready, ready_in = os.pipe()
    if os.fork() == 0:
        os.close(ready)
        os.setsid()
        if os.fork():
            os._exit(0)
        os._exit(_run_detached(folder, options, owner_pid, ready_in, lock))
    os.close(ready_in)
    lock.close()
    os.wait()
    with os.fdopen(ready) as answer:
        message = answer.read()
    if message != "ready":
        with open(os.path.join(folder, "supervisor.log")) as log:
            sys.stderr.write(log.read())
        return 1
    return 0


def stop(folder, timeout=30):
    pid = running(folder)
    if not pid:
        return True
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + timeout
    while running(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _run_detached(folder, options, owner_pid, ready_in, lock):
    log = os.open(os.path.join(folder, "supervisor.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    name = os.path.join(folder, "supervisor")
    with open(name, "w") as f:
        f.write(f"{os.getpid()} {processes.start_time(os.getpid())}\n")
    try:
        owner = os.pidfd_open(owner_pid) if owner_pid else None
    except ProcessLookupError:
        return 143

    def on_ready():
        os.write(ready_in, b"ready")
        os.close(ready_in)
        lock.close()

    status = Supervisor(folder, options, owner).run(on_ready)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)
    sys.stderr.flush()
    return status
