"""What is refused or bounded rather than taken: numbers out of range, endless inputs, memory."""

import json
import math
import os
import resource
import subprocess

import pytest
from series_files import PROGRAM, TINY, done, environment, make_series, run, settings, the_error, write_csv

LARGEST = 2**63 - 1
OUT_OF_RANGE = {
    "augment.noise=-0.1": "augment.noise: expected at least 0, got -0.1",
    "augment.scale=-1": "augment.scale: expected at least 0, got -1",
    "augment.warp=-0.5": "augment.warp: expected at least 0, got -0.5",
    "augment.warp=1": "augment.warp: expected less than 1, got 1",
    "train.clip=-1": "train.clip: expected at least 0, got -1",
    "train.checkpoint_seconds=-1": "train.checkpoint_seconds: expected at least 0, got -1",
    "train.checkpoint_steps=-1": "train.checkpoint_steps: expected at least 0, got -1",
    "train.checkpoints_kept=0": "train.checkpoints_kept: expected at least 1, got 0",
    "train.seed=-1": "train.seed: expected at least 0, got -1",
    "optimizer.lr=-1": "optimizer.lr: expected at least 0, got -1",
    "schedule.step_every=-1": "schedule.step_every: expected at least 0, got -1",
    "schedule.start_divisor=0": "schedule.start_divisor: expected more than 0, got 0",
    "loss.eta=-1": "loss.eta: expected at least 0, got -1",
    f"train.epochs={LARGEST}": f"train.length: expected at most 1000000000 epochs, got {LARGEST} epochs",
    f"train.batch={LARGEST}": f"train.batch: expected at most 1000000000, got {LARGEST}",
    f"model.rank={LARGEST}": f"model.rank: expected at most 1000000000, got {LARGEST}",
}


@pytest.mark.parametrize(("change", "message"), OUT_OF_RANGE.items())
def test_numbers_out_of_their_range_are_refused(data, tmp_path, change, message):
    answer = run("train", *TINY, "--set", change, "--data", data, "--run", tmp_path / "run")
    assert the_error(answer, "train") == message
    assert not (tmp_path / "run").exists()


def test_the_last_seed_must_be_a_number(data, tmp_path):
    seeds = ("--seed", LARGEST, "--seeds", "2")
    message = the_error(run("train", *TINY, *seeds, "--data", data, "--run", tmp_path / "run"), "train")
    assert message.startswith(f"--seeds: 2 seeds from {LARGEST} on would go beyond the largest")
    assert not (tmp_path / "run").exists()


def with_memory(gigabytes, *arguments, **options):
    """The program with a limit of its address space."""
    limit = int(gigabytes * 2**30)
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        **{"capture_output": True, "text": True, "check": False, "env": environment(), "timeout": 300},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        **options,
    )


@pytest.mark.parametrize("source", ["/dev/zero", "-"])
def test_a_source_that_never_ends_is_refused(source):
    with open("/dev/zero", "rb") as zeros:
        answer = with_memory(8, "data", "info", source, stdin=zeros)
    name = "standard input" if source == "-" else source
    assert the_error(answer, "data") == (
        f"{name}:1: expected text, got a zero byte at column 1 (is the file binary or UTF-16?)"
    )


def test_a_file_that_does_not_fit_into_memory_is_one_line_and_a_failure(tmp_path):
    file = tmp_path / "huge.csv"
    with open(file, "wb") as huge:
        os.truncate(huge.fileno(), 2**40)
    assert the_error(with_memory(8, "data", "info", file), "data", code=1).startswith("not enough memory: ")


def write_long(path, *, cases, steps):
    rows = (f"s{i},{math.sin(t / (1 + i % 2)):.3f},{'ab'[i % 2]}\n" for i in range(cases) for t in range(steps))
    path.write_text("series,x,label\n" + "".join(rows))
    return path


def test_spectra_of_long_series_are_of_fewer(tmp_path):
    """32 series of 20,000 steps in one batch would take some 4 GB."""
    file = write_long(tmp_path / "long.csv", cases=24, steps=20_000)
    small = settings("model.width=16", "model.heads=2", "model.feed_forward=16", "model.rank=3", "train.batch=1")
    options = (*small, "--set", "train.length=1 steps", "--threads", "1", "--no-report")
    done(with_memory(4, "train", "--train", file, *options, "--run", tmp_path / "run"))
    analysis = json.loads((tmp_path / "run" / "analysis.json").read_text())
    assert analysis["what"] == "long TRAIN, 3 series (no more, because they are long)"
    assert [layer["tokens"] for layer in analysis["layers"]] == [20_000, 20_000]
    assert json.loads((tmp_path / "run" / "result.json").read_text())["peak_memory_mb"] < 1000
    (one,) = json.loads(done(run("analyze", tmp_path / "run", "--json")))
    assert one["what"] == f"PrimalFormer on {analysis['what']}"
    assert one["layers"] == analysis["layers"]
    (asked,) = json.loads(done(run("analyze", tmp_path / "run", "--examples", "4", "--json")))
    assert asked["what"] == "PrimalFormer on long TRAIN, 4 series"


def test_names_of_files_and_classes_do_not_reach_the_terminal_raw(tmp_path):
    red = "\x1b[31mred"
    file = write_csv(tmp_path / f"{red}.csv", make_series(20, 0, classes=(red, "b\x07lue")))
    shown = "\\x1b[31mred"
    output = done(run("data", "info", file))
    assert shown in output.splitlines()[0]
    assert any(line.startswith(f"    {shown:20}") for line in output.splitlines())
    (info,) = json.loads(done(run("data", "info", file, "--json")))
    assert red in info["classes"]

    small = settings("model.width=16", "model.heads=2", "model.feed_forward=16", "model.rank=3", "train.epochs=1")
    answer = run("train", "--train", file, *small, "--run", tmp_path / "run", "--no-report")
    evaluation = run("eval", tmp_path / "run", "--file", file)
    missing = run("train", "--train", tmp_path / f"{red}-absent.csv", "--run", tmp_path / "other")
    for text in (
        *(done(answer), answer.stderr, (tmp_path / "run" / "log.txt").read_text()),
        *(done(evaluation), evaluation.stderr, the_error(missing, "train"), output),
    ):
        assert not any(ord(c) < 32 and c != "\n" for c in text), text
    assert f"{shown:16}" in evaluation.stdout


def test_a_name_of_two_lines_gives_a_message_of_one(tmp_path):
    file = tmp_path / "two\nlines.csv"
    file.write_text("series,x\n1,one\n")
    name = str(file).replace("\n", "\\x0a")
    assert the_error(run("data", "info", file), "data") == f'{name}:2: column 2: expected a number, got "one"'
