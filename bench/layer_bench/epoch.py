"""A training epoch of the program beside eager PyTorch: bench/train_epoch.py, with eager in a process of its own."""

from __future__ import annotations

import argparse

import train_epoch

from layer_bench import machine
from layer_bench.memory import in_fresh_process, resident_peak

SET = "JapaneseVowels"


def measure(epochs: int, rounds: int, threads: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of each epoch and peak memory in MB, by subject."""
    if not machine.PROGRAM.is_file():
        raise FileNotFoundError("the program is not built: ninja -C build/release primal_cli")
    train_epoch.PROGRAM = machine.PROGRAM
    options = argparse.Namespace(set=SET, epochs=epochs, threads=threads)
    facts = train_epoch.facts_of(SET)
    seconds: dict[str, list[float]] = {"ours": [], "eager": []}
    memory: dict[str, float] = {}
    for _ in range(rounds):
        ours, memory["ours"] = train_epoch.program_epochs(options)
        eager, memory["eager"] = in_fresh_process(_eager, options, facts)
        seconds["ours"] += ours
        seconds["eager"] += eager
    return seconds, memory


def _eager(options: argparse.Namespace, facts: dict) -> tuple[list[float], float]:
    machine.set_up(options.threads)
    return train_epoch.eager_epochs(options, facts), resident_peak()
