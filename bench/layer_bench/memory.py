"""Peak memory, each measurement in a fresh process.

The peak of the resident memory while a job runs once, above what is resident before: PyTorch, the parameters, the
input, and what a tiny call of the same job leaves behind (threads, buffers of the BLAS). Outputs and gradients count.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock

from layer_bench import machine
from layer_bench.workloads import Workload, jobs

TINY_LENGTH = 4


class ChildFailed(RuntimeError):
    """A process that was to measure ended without an answer."""


def in_fresh_process(function: Callable[..., Any], *arguments: object) -> Any:
    """A process forked from one that has imported PyTorch and has not yet run anything."""
    context = _fork_server()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, function, arguments), daemon=True)
    process.start()
    sender.close()
    try:
        value, error = receiver.recv()
    except EOFError:
        process.join()
        raise ChildFailed(f"exit code {process.exitcode}") from None
    process.join()
    if error is not None:
        raise ChildFailed(error)
    return value


def peak_megabytes(workload: Workload, subject: str, threads: int) -> float:
    return in_fresh_process(_peak, workload, subject, threads)


def peak_growth(workload: Workload, subject: str, job: Callable[[], object]) -> float:
    """Of a job of this process, which is new and has run nothing yet. The job has run once then."""
    # A compiled job is compiled for its very sizes, and the compiler itself needs much memory.
    warm_up = job if subject == "compile" else jobs(replace(workload, batch=1, length=TINY_LENGTH), [subject])[subject]
    warm_up()
    if warm_up is job:
        job.module.zero_grad()
        job.x.grad = None
    del warm_up
    return peak_of(job)


def peak_of(job: Callable[[], object]) -> float:
    """The same of a job whose like has run in small."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before = _status("VmRSS")
    job()
    return _status("VmHWM") - before


def resident_peak() -> float:
    """Of this process since it began, in MB."""
    return _status("VmHWM")


@cache
def _fork_server() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["layer_bench.memory", "torch._dynamo"])  # the latter at the first zero_grad, else
    # Ctrl-C reaches all processes of a terminal. This one speaks for all, and ends its children.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Until Python 3.13 the server does not get sys.path, and passes over what it cannot import.
    with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        forkserver.ensure_running()
    signal.signal(signal.SIGINT, before)
    return context


def _answer(sender: Connection, function: Callable[..., Any], arguments: tuple) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent was interrupted
        try:
            answer = (function(*arguments), None)
        except Exception as error:  # the parent tells
            answer = (None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        sender.send(answer)


def _peak(workload: Workload, subject: str, threads: int) -> float:
    machine.set_up(threads)
    return peak_growth(workload, subject, jobs(workload, [subject])[subject])


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {name}")
