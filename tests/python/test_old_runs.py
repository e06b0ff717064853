"""Run directories of an earlier version (tests/fixtures/runs) evaluate, predict, report, go on."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from series_files import done, result, run

FIXTURES = Path(__file__).parents[1] / "fixtures" / "runs"


@pytest.fixture
def old(tmp_path):
    """A copy of the fixtures that knows where it is."""
    folder = tmp_path / "old"
    shutil.copytree(FIXTURES, folder)
    for pattern in ("config.toml", "seeds.toml", "sweep.json"):
        for file in folder.rglob(pattern):
            file.write_text(file.read_text().replace("FIXTURES", str(folder)))
    return folder


def assert_close(file, other):
    """The same weights, but for what another CPU rounds otherwise."""
    ours, theirs = load_file(file), load_file(other)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], rtol=1e-3, atol=1e-4, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.parametrize("name", ["classes", "targets", "seeds/seed-2", "sweep/rank=3/seed-1"])
def test_an_old_run_evaluates_to_what_it_said(old, name):
    folder = old / name
    shown = done(run("eval", folder))
    facts = result(folder)
    if facts["test"] is None:  # a sweep leaves TEST alone
        return
    score = facts["test"]["accuracy"] if facts["measure"] == "accuracy" else facts["test"]["r2"]
    assert f"{100 * score:.2f} %" in shown if facts["measure"] == "accuracy" else f"{score:.4f}" in shown


@pytest.mark.parametrize(("name", "file"), [("classes", "waves.csv"), ("targets", "levels.csv")])
def test_an_old_run_predicts(old, name, file):
    lines = done(run("predict", old / name, "--input", old / file)).splitlines()
    assert len(lines) == 37
    assert lines[0].startswith("series,predicted")


@pytest.mark.parametrize("name", ["classes", "targets", "seeds", "interrupted", "sweep/rank=2"])
def test_an_old_run_is_reported(old, name):
    page = Path(done(run("report", old / name)).strip())
    assert page.exists()
    assert "Chart" in page.read_text()


def test_an_old_run_that_is_finished_stays_as_it_is(old):
    before = (old / "classes" / "result.json").read_bytes()
    shown = done(run("train", "--resume", old / "classes"))
    assert "test accuracy" in shown
    assert (old / "classes" / "result.json").read_bytes() == before


def test_an_old_run_interrupted_in_an_epoch_goes_on_to_the_same_weights(old):
    done(run("train", "--resume", old / "interrupted"))
    assert_close(old / "interrupted" / "best" / "model.safetensors", FIXTURES / "interrupted-to-the-end.safetensors")
    facts = result(old / "interrupted")
    assert (facts["epochs"], facts["best_epoch"]) == (6, 6)
    records = [json.loads(line) for line in (old / "interrupted" / "metrics.jsonl").read_text().splitlines()]
    assert [r["step"] for r in records if r["kind"] == "evaluation"] == [3, 6, 9, 12, 15, 18]


def test_old_seeds_go_on_for_more_epochs(old):
    shown = done(run("train", "--resume", old / "seeds", "--set", "train.epochs=3"))
    assert "over 2 seeds" in shown
    assert result(old / "seeds" / "seed-2")["epochs"] == 3


def test_an_old_sweep_goes_on_where_it_stopped(old):
    folder = old / "sweep"
    (folder / "rank=3" / "seed-1" / "result.json").unlink()
    small = ("model.width=8", "model.heads=2", "model.feed_forward=12", "train.batch=8", "train.epochs=2")
    small += (
        "run.refit=false",
        "loss.label_smoothing=0",
        "augment.scale=0",
        "augment.warp=0",
    )  # as the preset was then
    small += ("train.keep=best", "train.patience=30 epochs")
    sets = [word for key in (*small, "train.checkpoints_kept=1", "model.rank=3") for word in ("--set", key)]
    vary = ("--vary", "model.rank=2,3", "--threads", "1", "--run", folder)
    ran = run("sweep", "series/default", "--train", old / "waves.csv", *sets, *vary)
    assert "rank=2" not in ran.stderr, ran.stderr  # it was finished
    assert "2/2" in ran.stderr
    assert ran.stdout.count("validation accuracy") == 1
    assert (folder / "sweep.html").exists()
    assert done(ran)
