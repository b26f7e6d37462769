"""The real command in a process of its own that has torch imported already: cheap and apart."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumpbench.cli.main import main
from jumpbench.tables.runs import __main__ as one_run

LIMIT_SECONDS = 30.0


@dataclass(frozen=True)
class Tried:
    """How a call ended: its exit status (negative: a signal; None: no end in time), its words."""

    status: int | None
    out: str
    err: str


def forked(
    arguments: Sequence[str],
    before: Callable[[], object] | None = None,
    limit: float = LIMIT_SECONDS,
) -> Tried:
    """``main(arguments)`` in a forked process; ``before`` is called there first."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        child = os.fork()
        if child == 0:
            _child(arguments, before, out, err)
        status = _ended(child, limit)
        return Tried(status, out.read_text(errors="replace"), err.read_text(errors="replace"))


def _child(arguments: Sequence[str], before: Callable | None, out: Path, err: Path) -> None:
    status = 70
    try:
        os.setsid()
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        if before is not None:
            before()
        status = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(status)


def _ended(child: int, limit: float) -> int | None:
    end = time.monotonic() + limit
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.005)


class ForkedPopen(subprocess.Popen):
    """``subprocess.Popen`` that forks this process where it would start another one of jumpbench,
    or Lightning the other processes of a run: with torch loaded already, which takes seconds.

    What the other processes get is what they would get: environment, output, session and the
    system's reactions to signals; no open file besides.
    """

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        argv = self._argv_of_jumpbench(args)
        if argv is None:
            return super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest
            )
        reads, writes, tells = rest[3], rest[6], rest[8]  # the child's ends of its pipes
        self.pid = os.fork()
        if self.pid == 0:
            status = 70
            try:
                if rest[-2]:  # start_new_session
                    os.setsid()
                for end, number in ((reads, 0), (writes, 1), (tells, 2)):
                    if end != -1:
                        os.dup2(end, number)
                os.closerange(3, 4096)
                sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
                sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.chdir(cwd or ".")
                if env is not None:
                    os.environ.clear()
                    os.environ.update(env)
                if preexec_fn is not None:
                    preexec_fn()
                sys.argv = argv
                status = main(argv[1:]) if argv[0] == "jumpbench" else one_run.main()
                sys.stdout.flush()
            except BaseException:
                status = 1
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stderr.flush()
                os._exit(status)
        self._child_created = True
        self._close_pipe_fds(*rest[3:9])

    @staticmethod
    def _argv_of_jumpbench(args):
        """The words of jumpbench's command; of a run that starts its others, its own."""
        if args[0] == sys.executable and args[1] == "-m" and args[2].startswith("jumpbench"):
            return list(args[2:])
        repeated = args[0] == sys.executable and sys.argv[0] == "jumpbench.tables.runs"
        return list(sys.argv) if repeated else None


def obey_modes() -> None:
    """From here on this process reads nothing that its files' modes forbid, also as root."""

    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice 32 bits of each
    header, library = Header(0x20080522, 0), ctypes.CDLL(None, use_errno=True)
    if library.capget(ctypes.byref(header), sets) == 0:
        sets[0] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        library.capset(ctypes.byref(header), sets)
