"""Processes that die with their owner.

Three nets, each for when the one before it is cut: the supervisor ends its children; a child gets SIGKILL from
the kernel when the supervisor dies (PR_SET_PDEATHSIG); what a child leaves behind falls to the supervisor, which
is a subreaper, and is killed too.
"""
import ctypes
import os
import signal
import subprocess
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper():
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent, sig=signal.SIGKILL):
    """To be called in a new child. `parent` is the pid seen before the fork: it may have died since."""
    _libc.prctl(_PR_SET_PDEATHSIG, sig, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), sig)


def spawn(argv, log=None, **options):
    """Starts a process that dies with this one. With `log` (a path) it gets its own session and no terminal."""
    parent = os.getpid()

    def prepare():
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(sig, signal.SIG_DFL)
        die_with_parent(parent)

    if log is None:
        return subprocess.Popen(argv, preexec_fn=prepare, **options)
    with open(log, "ab") as out:
        return subprocess.Popen(argv, preexec_fn=prepare, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                start_new_session=True, **options)


def start_time(pid):
    """Clock ticks since boot at which `pid` started; None when there is no such process. Tells a recycled pid."""
    fields = _stat_fields(pid)
    return int(fields[19]) if fields and fields[0] != "Z" else None


def descendants(root):
    """Live (not zombie) processes below `root`, children first come first."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _stat_fields(int(name))
            if fields and fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(name))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def kill_descendants(root=None, timeout=10):
    """Kills whatever is below this process and reaps it. Returns what would not go."""
    root = root or os.getpid()
    end = time.monotonic() + timeout
    while True:
        left = descendants(root)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap()
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)


def reap():
    """Collects ended children, adopted ones too."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _stat_fields(pid):
    """/proc/<pid>/stat from the state on (the name before it may hold anything)."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
