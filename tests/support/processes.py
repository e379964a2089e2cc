"""Pythons and threads of their own, for what must not have happened before; Ctrl-C for this one."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor


def printed(code, *more, arguments=(), dropped=(), path=False, **environment) -> str:
    """Run code, one piece after the other, in a Python of its own, and return what it prints.

    With `path` it finds the tests' modules; `dropped` are variables that it does not get.
    """
    variables = {name: text for name, text in os.environ.items() if name not in dropped}
    if path:
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    line = [sys.executable, "-c", "\n".join(map(textwrap.dedent, (code, *more))), *arguments]
    return output_of(line, env={**variables, **environment})


def output_of(command, **options) -> str:
    """Run a command that is to end well, and return what it prints."""
    options = {"capture_output": True, "text": True, "timeout": 1800, **options}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def in_a_child(work) -> None:
    """Do something in a fork of this process, which is to end well."""
    child = os.fork()
    if not child:
        signal.alarm(300)
        status = 1
        try:
            work()
            status = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def in_a_fresh_thread(work):
    """Do some work in a thread that has used no GPU and copies no context; return its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@contextlib.contextmanager
def interrupted_after(seconds: float):
    """Raise a KeyboardInterrupt within the block, once so much time has gone by."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
