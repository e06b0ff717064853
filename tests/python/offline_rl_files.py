"""Small recorded sets of a hopper, and an agent that trains on them in no time.

sets = make_hopper(tmp_path / "sets")
run("train", "offline-rl/hopper-medium", *TINY_AGENT, "--data", sets, "--run", tmp_path / "run")

They are recorded by the program itself. A hopper falls early, so that its episodes are short.
"""

import math
import shutil
import struct
from pathlib import Path

import pytest
from series_files import done, run, settings

FIXTURES = Path(__file__).parents[1] / "fixtures" / "trajectories"
# Four steps, an evaluation after every second.
TINY_AGENT = (
    *("--threads", "1"),
    *settings("model.width=8", "model.heads=2", "model.feed_forward=16", "model.rank=3", "model.steps=4"),
    *settings("train.length=4 steps", "train.evaluate=2 steps", "train.batch=4", "schedule.warmup=2 steps"),
    *settings("eval.episodes=3", "eval.quick_episodes=2"),
)


def needs_robots(folder):
    """Skips where the program was built without MuJoCo or HDF5."""
    answer = run("data", "make", "offline-rl/hopper-random", "--steps", "1", "--output", folder / "try")
    if answer.returncode == 2 and "was built without" in answer.stderr:
        pytest.skip(answer.stderr.strip())
    done(answer)


def set_file(folder, name="hopper-medium"):
    return folder / "offline-rl" / name / f"{name.replace('-', '_')}-home.hdf5"


def make_hopper(folder, name="hopper-medium", steps=2000, seed=1):
    """A set in a folder for --data. -> the folder"""
    place = set_file(folder, name).parent
    done(run("data", "make", f"offline-rl/{name}", "--steps", steps, "--seed", seed, "--output", place))
    return folder


def train_hopper(folder, sets):
    """An agent on hopper-medium; output.txt has what was printed. -> its run directory"""
    answer = run("train", "offline-rl/hopper-medium", *TINY_AGENT, "--data", sets, "--run", folder)
    (folder / "output.txt").write_text(done(answer) + answer.stderr)
    return folder


def write_walk(path):
    """Episodes of 3 and 11 steps of nothing that could be played: states of 3 numbers, actions of 2."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(FIXTURES / "minari.hdf5", path))


def write_walk_with_nan(path):
    """The same, but for a number that is none."""
    content, number = write_walk(path).read_bytes(), struct.pack("<d", 200.0625)
    assert content.count(number) == 1
    path.write_bytes(content.replace(number, struct.pack("<d", math.nan)))
    return path
