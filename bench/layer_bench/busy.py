"""Training by the program on a quiet machine and beside two processes that keep the cores busy."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from layer_bench import machine

SET = "JapaneseVowels"
OTHERS = 2  # busy processes


def measure(epochs: int, rounds: int, threads: int) -> dict[str, list[float]]:
    """Seconds of a whole training: "ours" on a quiet machine, "beside" the busy processes."""
    if not machine.PROGRAM.is_file():
        raise FileNotFoundError("the program is not built: ninja -C build/release primal_cli")
    seconds: dict[str, list[float]] = {"ours": [], "beside": []}
    for _ in range(rounds):
        seconds["ours"].append(_training(epochs, threads))
        with _busy_processes():
            seconds["beside"].append(_training(epochs, threads))
    return seconds


def _training(epochs: int, threads: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [machine.PROGRAM, "train", f"uea/{SET}", "--no-report", "--run", Path(folder) / "run"]
        command += ["--threads", threads, "--set", f"train.length={epochs} epochs"]
        start = time.perf_counter()
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        return time.perf_counter() - start


@contextlib.contextmanager
def _busy_processes() -> Iterator[None]:
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(OTHERS)]
    try:
        yield
    finally:
        for process in others:
            process.kill()
            process.wait()
