"""Time and peak memory of a training epoch: the program beside the same model and step in plain eager PyTorch.

    .venv/bin/python bench/train_epoch.py [--set JapaneseVowels] [--epochs 4] [--rounds 3] [--threads 2]

Both train on data of the same shapes, in turn, in one run; the best and the median epoch of each are compared. The
first epoch of every process is left out (page faults, first touch of every kernel).
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from eager_classifier import Classifier, RAdam, loss_of

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build" / "release" / "bin" / "primal"


def program_epochs(options: argparse.Namespace) -> tuple[list[float], float]:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [PROGRAM, "train", f"uea/{options.set}", "--protocol", "paper", "--no-report", "--run", run]
        command += ["--threads", str(options.threads), "--set", f"train.epochs={options.epochs + 1}"]
        command += ["--set", "train.checkpoint_seconds=3600"]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        memory = json.loads((run / "result.json").read_text())["peak_memory_mb"]
        return [r["seconds"] for r in records if r["kind"] == "train"][1:], memory


def eager_epochs(options: argparse.Namespace, facts: dict) -> list[float]:
    torch.manual_seed(1)
    cases, tokens, batch = facts["cases"], facts["tokens"], 16
    model = Classifier(facts["channels"], facts["classes"], tokens, facts["rank"], facts["rows"])
    optimizer = RAdam(model.parameters())
    x, real = torch.randn(cases, tokens, facts["channels"]), torch.ones(cases, tokens)
    labels = torch.randint(facts["classes"], (cases,))
    seconds = []
    for _ in range(options.epochs + 1):
        start = time.perf_counter()
        for chosen in torch.randperm(cases).split(batch):
            logits, objectives = model(x[chosen], real[chosen])
            loss = loss_of(logits, labels[chosen], objectives, facts["eta"])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 4.0)
            optimizer.step()
            loss.item()
        seconds.append(time.perf_counter() - start)
    return seconds[1:]


def facts_of(name: str) -> dict:
    """Shapes from the program's own configuration and data facts: one epoch of a tiny model."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        small = ["model.width=8", "model.heads=1", "model.feed_forward=8", "train.epochs=1"]
        command = [str(PROGRAM), "train", f"uea/{name}", "--protocol", "paper", "--no-report", "--run", str(run)]
        subprocess.run([*command, *(a for s in small for a in ("--set", s))], check=True, capture_output=True)
        data = json.loads((run / "data.json").read_text())
        config = dict(line.split(" = ", 1) for line in (run / "config.toml").read_text().splitlines() if " = " in line)
        log = (run / "log.txt").read_text()
    return {
        "cases": int(log.split(": ")[1].split()[0]),
        "tokens": data["tokens"],
        "channels": data["channels"],
        "classes": len(data["classes"]),
        "rank": int(config["rank"]),
        "rows": int(config["rows"]) or int(config["rank"]) * int(config["rows_per_rank"]),
        "eta": float(config["eta"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="JapaneseVowels")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    facts = facts_of(options.set)
    ours, eager, memory = [], [], 0.0
    for _ in range(options.rounds):
        seconds, memory = program_epochs(options)
        ours += seconds
        eager += eager_epochs(options, facts)
    eager_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.set}: {facts['cases']} series of {facts['tokens']} steps, {options.threads} threads")
    print(f"{'':22}{'best':>9}{'median':>9}   peak memory")
    for name, values, peak in (("primal", ours, memory), ("eager PyTorch", eager, eager_memory)):
        print(f"{name:22}{min(values):7.2f} s{statistics.median(values):7.2f} s   {peak:7.0f} MB")
    best, median = min(eager) / min(ours), statistics.median(eager) / statistics.median(ours)
    print(f"{'eager / primal':22}{best:8.2f} {median:8.2f}    {eager_memory / memory:7.2f}")


if __name__ == "__main__":
    main()
