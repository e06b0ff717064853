"""Small made-up sets of time series as .ts and CSV files, and the program run on them.

make_set(tmp_path / "data", "Tiny")
run("train", *TINY, "--data", tmp_path / "data", "--run", tmp_path / "run")
"""

import json
import math
import os
import random
import subprocess
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

# PRIMAL_PROGRAM: another build of the program.
PROGRAM = Path(os.environ.get("PRIMAL_PROGRAM", Path(__file__).parents[2] / "build" / "release" / "bin" / "primal"))
# A model that trains in a fraction of a second, on the set "Tiny"; LEARNING: long enough to get it right.
TINY = (
    *("uea/JapaneseVowels", "--threads", "1", "--set", "data.set=Tiny"),
    *("--set", "model.width=16", "--set", "model.heads=2", "--set", "model.feed_forward=32"),
    *("--set", "model.rank=4", "--set", "model.rows=0", "--set", "train.epochs=3"),
)
LEARNING = ("--set", "train.epochs=12", "--set", "optimizer.lr=5e-3", "--set", "loss.eta=0.01")
# Epochs of 12 steps, a checkpoint after each. Dropout, accumulation, schedule and average have a state of their own.
CAREFUL = (
    *(*TINY, "--set", "train.epochs=6", "--set", "train.batch=2", "--set", "train.accumulate=2"),
    *("--set", "train.checkpoint_steps=1", "--set", "optimizer.name=adamw", "--set", "schedule.name=cosine"),
    *("--set", "train.average=0.9"),
)
# In result.json.
FROM_THE_CLOCK = {"seconds", "tokens_per_second", "peak_memory_mb"}


@dataclass(frozen=True)
class Series:
    name: str
    label: str
    values: list[list[float | None]]  # [steps][channels]; None: missing
    times: list[float] = field(default_factory=list)


def make_series(count, seed, *, classes=("down", "up", "wave"), lengths=(6, 12), missing=0.03, level=1.0):
    """Two channels of unequal lengths. The classes differ in their mean, their slope and their wave."""
    draw = random.Random(seed)
    made = []
    for i in range(count):
        kind = i % len(classes)
        steps = draw.randint(*lengths)
        values = []
        for step in range(steps):
            at = 2 * step / (steps - 1) - 1
            clean = (level * (kind - 1) + [-at, at, math.sin(6 * at)][kind % 3], level * (1 - kind) + kind * at)
            row = [round(value + draw.gauss(0, 0.2), 4) for value in clean]
            values.append([None if step > 0 and draw.random() < missing else value for value in row])
        made.append(Series(str(i), classes[kind], values))
    return made


def make_gaps(count, seed):
    """Series with times, all with the same values but for noise. The two classes differ in the time they span."""
    draw = random.Random(seed)
    made = []
    for i in range(count):
        slow = i % 2
        times = [0.0]
        for _ in range(9):
            times.append(round(times[-1] + draw.uniform(0.8, 1.2) * (4 if slow else 1), 4))
        values = [[round(math.sin(step) + draw.gauss(0, 0.1), 4)] for step in range(len(times))]
        made.append(Series(f"s{i}", "slow" if slow else "fast", values, times))
    return made


def without_labels(series):
    return [replace(one, label="") for one in series]


def write_ts(path, series, *, head=()):
    """Without labels if the series have none. `head`: directives besides the usual."""
    classes = sorted({one.label for one in series} - {""})
    lines = ["@problemName Made", "@equalLength false", f"@dimensions {len(series[0].values[0])}", *head]
    lines += [f"@classLabel true {' '.join(classes)}" if classes else "@classLabel false", "@data"]
    for one in series:
        channels = [
            ",".join("?" if v is None else repr(v) for v in channel) for channel in zip(*one.values, strict=True)
        ]
        lines.append(":".join(channels + ([one.label] if one.label else [])))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def csv_header(series, *, times=True):
    channels = [f"c{i}" for i in range(len(series[0].values[0]))]
    return ",".join(["series", *(["time"] if times and series[0].times else []), *channels, "label"]) + "\n"


def csv_rows(one, *, times=True):
    text = ""
    for step, row in enumerate(one.values):
        time = [repr(one.times[step])] if times and one.times else []
        text += ",".join([one.name, *time, *("" if v is None else repr(v) for v in row), one.label]) + "\n"
    return text


def write_csv(path, series, *, times=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_header(series, times=times) + "".join(csv_rows(one, times=times) for one in series))
    return path


def make_set(folder, name="Tiny", *, train=60, test=30, seed=0, **kind):
    """NAME_TRAIN.ts and NAME_TEST.ts in `folder`."""
    write_ts(folder / f"{name}_TRAIN.ts", make_series(train, seed, **kind))
    write_ts(folder / f"{name}_TEST.ts", make_series(test, seed + 1000, **kind))
    return folder


def environment(**changes):
    """Of the program: nothing that the shell of the tester has set for it, and one thread."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PRIMAL_") or key == "PRIMAL_CPU"}
    return {**kept, "OMP_NUM_THREADS": "1", **changes}


def run(*arguments, text=None, cwd=None, **changes):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        **{"capture_output": True, "text": True, "check": False, "input": text, "cwd": cwd},
        env=environment(**changes),
    )


def start(*arguments, **options):
    """The program in the background, with pipes."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([PROGRAM, *map(str, arguments)], text=True, env=environment(), **pipes | options)


def done(result):
    """The output of a command that must have succeeded."""
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def the_error(result, command, code=2):
    """The message of a command that must have failed with one line."""
    assert result.returncode == code, f"{result.returncode}: {result.stdout}{result.stderr}"
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith(f"primal {command}: "), result.stderr
    assert result.stdout == ""
    return result.stderr.removeprefix(f"primal {command}: ").strip()


def metrics(folder):
    """The lines of metrics.jsonl without what a clock measured; the first says what the scores are."""
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if k not in {"seconds", "tokens_per_second"}} for r in records]


def records(folder, kind):
    """Those of one kind: "train" or "evaluation"."""
    return [record for record in metrics(folder) if record["kind"] == kind]


def score_line(name, value):
    """A line of the table of primal eval."""
    return f"{name:12}{value:>12}\n"


def settings(*assignments):
    """--set for each "key=value"."""
    return tuple(word for assignment in assignments for word in ("--set", assignment))


def result(folder):
    return json.loads((folder / "result.json").read_text())


def wait_until(process, moment, seconds=60):
    """Waits for something that the process, started by start(), will do."""
    end = time.monotonic() + seconds
    while not moment():
        assert process.poll() is None, f"ended with {process.returncode}: {process.stderr.read()}"
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.002)


def steps(folder):
    """Of the complete checkpoints, rising."""
    return sorted(int(path.name.removeprefix("step-")) for path in (folder / "checkpoints").glob("step-*[0-9]"))


def newest(folder):
    return folder / "checkpoints" / f"step-{steps(folder)[-1]}"


def tensor_bytes(folder):
    """Every tensor file below a folder, byte for byte: path -> content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.safetensors"))}


def assert_same_run(folder, other):
    """Two finished runs, but for what a clock measured."""
    assert metrics(folder) == metrics(other)
    assert tensor_bytes(folder) == tensor_bytes(other)
    facts, others = result(folder), result(other)
    assert {k: v for k, v in facts.items() if k not in FROM_THE_CLOCK} == {
        k: v for k, v in others.items() if k not in FROM_THE_CLOCK
    }
