"""Series with targets instead of classes: training, evaluation, prediction, sweep and report."""

import csv
import importlib.util
import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from browser import needs_browser, open_page
from series_files import (
    TINY,
    done,
    make_series,
    metrics,
    records,
    result,
    run,
    score_line,
    tensor_bytes,
    the_error,
    write_csv,
    write_ts,
)

SMALL = TINY[1:3] + TINY[5:]  # without its set
LEARNING = ("--set", "train.epochs=40", "--set", "optimizer.lr=3e-3", "--set", "train.patience=0")


def make_waves(count, seed):
    """The target is the height of a wave, far from 0 and in a large unit: it must be scaled to be learned."""
    draw = random.Random(seed)
    made = []
    for i in range(count):
        height, phase = draw.uniform(0.5, 3), draw.uniform(0, 6)
        values = [
            [round(height * math.sin(0.7 * step + phase) + draw.gauss(0, 0.05), 4), round(draw.gauss(0, 1), 4)]
            for step in range(draw.randint(10, 16))
        ]
        made.append(
            replace(make_series(1, 0)[0], name=f"w{i}", label=repr(round(5000 + 100 * height, 3)), values=values)
        )
    return made


def write_targets(path, series):
    """The long format with a column target."""
    text = write_csv(path, series).read_text()
    path.write_text(text.replace(",label\n", ",target\n", 1))
    return path


R2 = {"key": "r2", "name": "R2", "share": False, "lower_is_better": False}
TRAIN, TEST = make_waves(80, 1), make_waves(30, 2)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return write_targets(folder / "train.csv", TRAIN), write_targets(folder / "test.csv", TEST)


def command(file, folder):
    best = ("--set", "train.keep=best", "--set", "run.refit=false")
    return ("train", "series/default", *SMALL, *best, "--train", file, "--run", folder)


def train(files, folder, *more):
    return run(*command(files[0], folder), "--test", files[1], *more)


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    """(run directory, what was printed)"""
    folder = tmp_path_factory.mktemp("run") / "waves"
    return folder, done(train(files, folder, *LEARNING))


def answers(text):
    header, *rows = csv.reader(text.splitlines())
    assert header == ["series", "predicted"]
    return {name: float(value) for name, value in rows}


def test_the_height_of_a_wave_is_learned(trained):
    folder, output = trained
    facts = result(folder)
    assert (facts["measure"], facts["metric"]) == ("r2", R2)
    assert facts["test"]["r2"] > 0.8
    assert facts["validation_r2"] > 0.8
    assert f"test R2 {facts['test']['r2']:.3f}, RMSE " in output
    assert f"by validation R2 {facts['validation_r2']:.3f}" in output


def test_the_figures_of_a_run_are_those_of_its_predictions(trained, files):
    folder, _ = trained
    said = answers(done(run("predict", folder, "--input", files[1])))
    truth = {one.name: float(one.label) for one in TEST}
    assert said.keys() == truth.keys()
    errors = [said[name] - truth[name] for name in truth]
    mean = sum(truth.values()) / len(truth)
    spread = sum((value - mean) ** 2 for value in truth.values())
    test = result(folder)["test"]
    assert test["r2"] == pytest.approx(1 - sum(e * e for e in errors) / spread, abs=1e-5)
    assert test["rmse"] == pytest.approx(math.sqrt(sum(e * e for e in errors) / len(errors)), rel=1e-4)
    assert test["mae"] == pytest.approx(sum(map(abs, errors)) / len(errors), rel=1e-4)
    assert test["cases"] == len(test["pairs"]) == 30
    for pair, (true, predicted) in zip(test["pairs"], sorted((truth[n], said[n]) for n in truth), strict=True):
        assert pair == pytest.approx([true, predicted], abs=0.01)


def test_eval_says_the_same_of_test_and_of_a_file(trained, files):
    folder, _ = trained
    test = result(folder)["test"]
    for output in (done(run("eval", folder)), done(run("eval", folder, "--file", files[1]))):
        assert "\n" + score_line("R2", f"{test['r2']:.4f}") in output
        for name, key in (("RMSE", "rmse"), ("MAE", "mae"), ("median error", "median_error")):
            assert "\n" + score_line(name, f"{test[key]:.5g}") in output
        assert "\n" + score_line("loss", f"{test['loss']:.4f}") in output


def test_the_epoch_with_the_best_validation_r2_is_kept(trained):
    folder, _ = trained
    assert metrics(folder)[0] == {"kind": "metric"} | R2
    best = max(records(folder, "evaluation"), key=lambda record: record["r2"])
    assert result(folder)["best_epoch"] == best["epoch"]
    assert result(folder)["validation_r2"] == best["r2"]
    last = records(folder, "train")[-1]
    assert last["r2"] == pytest.approx(1 - last["task_loss"], abs=1e-6), "targets have deviation 1"


def test_series_to_predict_need_no_targets(trained, files, tmp_path):
    folder, _ = trained
    lines = files[1].read_text().splitlines()
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
    assert answers(done(run("predict", folder, "--input", bare))) == answers(
        done(run("predict", folder, "--input", files[1]))
    )


def test_seeds_are_averaged(files, tmp_path):
    output = done(train(files, tmp_path / "run", "--seeds", "2"))
    scores = [result(tmp_path / "run" / f"seed-{seed}")["test"]["r2"] for seed in (1, 2)]
    deviation = abs(scores[0] - scores[1]) / math.sqrt(2)
    assert f"mean {sum(scores) / 2:.3f} +- {deviation:.3f} over 2 seeds" in output


def test_the_paper_protocol_takes_the_best_test_epoch(files, tmp_path):
    output = done(train(files, tmp_path / "run", "--protocol", "paper"))
    tests = [record["r2"] for record in metrics(tmp_path / "run") if record["kind"] == "evaluation"]
    assert result(tmp_path / "run")["test"]["r2"] == max(tests)
    assert "by TEST itself" in output


def test_a_resumed_run_ends_with_the_same_bits(files, tmp_path):
    constant = ("--set", "schedule.name=constant")
    done(train(files, tmp_path / "whole", *constant, "--set", "train.epochs=4"))
    done(train(files, tmp_path / "parts", *constant, "--set", "train.epochs=2"))
    done(run("train", "--resume", tmp_path / "parts", "--set", "train.epochs=4"))
    assert metrics(tmp_path / "parts") == metrics(tmp_path / "whole")
    assert tensor_bytes(tmp_path / "parts" / "best") == tensor_bytes(tmp_path / "whole" / "best")


@pytest.fixture(scope="module")
def swept(files, tmp_path_factory):
    """(folder of a sweep, what it wrote)"""
    folder = tmp_path_factory.mktemp("grid") / "sweep"
    own = ("series/default", *SMALL[2:], "--train", files[0], "--test", files[1], "--set", "run.threads=1")
    return folder, run("sweep", *own, "--vary", "model.rank=2,4", "--run", folder)


def test_a_sweep_goes_by_validation_r2(swept):
    folder, answer = swept
    output = done(answer)
    grid = json.loads((folder / "sweep.json").read_text())
    assert (grid["part"], grid["measure"]) == ("validation", "r2")
    for cell in grid["cells"]:
        own = folder / f"rank={cell['values']['model.rank']}" / "seed-1"
        assert cell["r2"] == result(own)["validation_r2"]
        assert f"seed-1  validation R2 {cell['r2']:.3f}\n" in answer.stderr
        assert f"{cell['r2']:.3f}" in output
    assert "validation R2 " in output.splitlines()[0]


@needs_browser
def test_the_page_of_a_sweep_names_r2(swept):
    page = open_page(swept[0] / "sweep.html")
    assert page.problems() == []
    assert "Validation R² by model.rank" in page.text


@needs_browser
def test_the_report_shows_the_answers(trained, files, tmp_path):
    folder, _ = trained
    done(run("report", folder))
    page = open_page(folder / "report.html")
    assert page.problems() == []
    assert f"{result(folder)['test']['r2']:.3f} Test R²" in page.text
    assert "Half of the answers are within" in page.text
    assert "test cases are right" not in page.text
    assert any(label.startswith("Answers. ") for label in page.labels)

    # Beside a classification there is no score in common.
    classes = write_csv(tmp_path / "classes.csv", make_series(40, 3))
    done(run(*command(classes, tmp_path / "classes")))
    done(run("report", folder, tmp_path / "classes", "--output", tmp_path / "both.html"))
    page = open_page(tmp_path / "both.html")
    assert page.problems() == []
    assert "test score" in page.text
    assert {label.split(".")[0] for label in page.labels} >= {"Accuracy", "R²"}


def test_files_of_the_other_kind_are_refused(trained, files, tmp_path):
    folder, _ = trained
    classes = write_csv(tmp_path / "classes.csv", make_series(40, 3))
    error = the_error(run("eval", folder, "--file", classes), "eval")
    assert error == f"{classes}: the series have class labels, expected targets as the training series have"
    error = the_error(train((files[0], classes), tmp_path / "run"), "train")
    assert error == f"{classes}: the series have class labels, expected targets as the training series have"
    error = the_error(train((classes, files[1]), tmp_path / "run"), "train")
    assert error == f"{files[1]}: the series have targets, expected class labels as the training series have"
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_learned_is_refused(files, tmp_path):
    same = write_targets(tmp_path / "same.csv", [replace(one, label="7.5") for one in TRAIN])
    error = the_error(train((same, files[1]), tmp_path / "run"), "train")
    assert error == f"{same}: expected at least two different targets, got only 7.5"
    error = the_error(train(files, tmp_path / "run", "--set", "loss.label_smoothing=0.1"), "train")
    assert error == "loss.label_smoothing: belongs to classes, but train has targets; expected 0, got 0.1"
    bare = write_targets(tmp_path / "bare.csv", TRAIN)
    bare.write_text("\n".join(line.rsplit(",", 1)[0] for line in bare.read_text().splitlines()) + "\n")
    error = the_error(train((bare, files[1]), tmp_path / "run"), "train")
    assert error.startswith(f"{bare}: the series have neither class labels nor targets (")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("unit", "deviation"), [("e200", "inf"), ("e-200", "0")])
def test_targets_without_a_deviation_are_refused(unit, deviation, tmp_path):
    file = write_targets(tmp_path / "far.csv", [replace(one, label=one.label + unit) for one in TRAIN])
    message = the_error(run(*command(file, tmp_path / "run")), "train")
    assert message == f"{file}: expected targets whose deviation is a number, got {deviation}; give them another unit"


def test_a_target_beyond_all_bounds_is_named(trained, tmp_path):
    far = write_targets(tmp_path / "far.csv", [*TEST, replace(TEST[0], name="far", label="1e30")])
    error = the_error(run("eval", trained[0], "--file", far), "eval")
    assert error.startswith(f'{far}: series "far": a target lies ')


def test_what_is_left_to_train_on_must_have_different_targets(tmp_path):
    lone = [replace(one, label="1.5" if i == 0 else "0.5") for i, one in enumerate(TRAIN)]
    file = write_targets(tmp_path / "lone.csv", lone)
    answers = [run(*command(file, tmp_path / f"{i}"), "--seed", i, "--set", "data.validation=0.9") for i in (1, 2, 3)]
    messages = {the_error(answer, "train") for answer in answers if answer.returncode != 0}
    expected = f"{file}: the 6 series that are left to train on all have target 0.5; hold out fewer "
    assert messages == {expected + "(data.validation, data.test_share), or add data"}


def test_small_differences_of_large_targets_count(tmp_path):
    large = [replace(one, label=repr(1.7e9 + float(one.label))) for one in TRAIN]
    file = write_targets(tmp_path / "large.csv", large)
    done(run(*command(file, tmp_path / "run"), *LEARNING))
    assert result(tmp_path / "run")["test"]["r2"] > 0.5
    assert result(tmp_path / "run")["test"]["rmse"] < 100
    said = answers(done(run("predict", tmp_path / "run", "--input", file)))
    assert len(set(said.values())) > 40
    done(run("report", tmp_path / "run"))
    assert json.dumps(result(tmp_path / "run")["test"]["pairs"][0][0]) in (tmp_path / "run/report.html").read_text()


def test_equal_test_targets_are_no_failure(files, tmp_path):
    same = write_targets(tmp_path / "same.csv", [replace(one, label="5123.4") for one in TEST])
    done(train((files[0], same), tmp_path / "run"))
    assert result(tmp_path / "run")["test"]["r2"] == 0
    done(run("report", tmp_path / "run"))
    assert "No better than the mean" not in (tmp_path / "run" / "report.html").read_text()


def test_classes_and_targets_are_not_compared_in_a_sweep(files, tmp_path):
    classes = write_csv(tmp_path / "classes.csv", make_series(40, 3))
    vary = ("--vary", f"data.train={files[0]},{classes}", "--set", "run.threads=1", "--run", tmp_path / "sweep")
    answer = run("sweep", "series/default", *SMALL[2:], *vary)
    assert answer.returncode == 2
    assert answer.stderr.endswith("is judged by accuracy, others by R2; make a sweep for each kind of data\n")


def test_targets_of_a_ts_file_are_read(files, trained, tmp_path):
    path = write_ts(tmp_path / "waves.ts", TEST)
    text = path.read_text()
    start = text.index("@classLabel")
    path.write_text(text[:start] + "@targetLabel true" + text[text.index("\n", start) :])
    output = done(run("eval", trained[0], "--file", path))
    assert score_line("R2", f"{result(trained[0])['test']['r2']:.4f}") in output


def test_a_published_regression_set_is_found_by_name(tmp_path):
    data = Path(importlib.util.find_spec("aeon").origin).parent / "datasets" / "data"
    output = done(run("train", "uea/Covid3Month", *SMALL, "--data", data, "--run", tmp_path / "run"))
    assert "PrimalFormer on Covid3Month" in output
    assert result(tmp_path / "run")["test"]["cases"] == 61
