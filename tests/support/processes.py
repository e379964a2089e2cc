"""Fresh Python processes and threads, and Ctrl-C for this process."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor


def printed(code, *more, arguments=(), dropped=(), path=False, **environment) -> str:
    """Run pieces of code in a fresh Python process, and return its output.

    With `path`, it can import the tests' modules; its environment lacks the `dropped` variables.
    """
    variables = {name: text for name, text in os.environ.items() if name not in dropped}
    if path:
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    line = [sys.executable, "-c", "\n".join(map(textwrap.dedent, (code, *more))), *arguments]
    return output_of(line, env={**variables, **environment})


def output_of(command, **options) -> str:
    """Run a command that must succeed, and return its output."""
    options = {"capture_output": True, "text": True, "timeout": 1800, **options}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def in_a_child(work) -> None:
    """Do something in a fork of this process, which must succeed."""
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
    """Run a function in a thread that has used no GPU and copies no context; return its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@contextlib.contextmanager
def interrupted_after(seconds: float):
    """Raise KeyboardInterrupt in the block after this time."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
