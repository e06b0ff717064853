"""loss.class_weights: what rare classes gain by them, and which are refused."""

import csv
import math
import random

import pytest
from series_files import (
    TINY,
    Series,
    done,
    make_series,
    records,
    result,
    run,
    settings,
    tensor_bytes,
    the_error,
    write_csv,
)

RARE = 10  # one series of so many


def make_rare(count, seed):
    """Noise about 0, or about 0.6 in one of ten: the classes overlap, so the frequent one is the better guess."""
    draw = random.Random(seed)
    made = []
    for i in range(count):
        level = 0.6 if i % RARE == 0 else 0.0
        values = [[round(draw.gauss(level, 1), 4), round(draw.gauss(-level, 1), 4)] for _ in range(4)]
        made.append(Series(str(i), "rare" if level else "frequent", values))
    return made


LEARNING = settings("train.epochs=8", "optimizer.lr=5e-3", "loss.eta=0", "data.validation=0.1")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    train, test = write_csv(folder / "train.csv", make_rare(400, 1)), write_csv(folder / "test.csv", make_rare(300, 2))
    return "--train", train, "--test", test


@pytest.fixture(scope="module")
def weighted(files, tmp_path_factory):
    """A run for each choice of weights: those of the classes by their names, frequent and rare."""
    folder = tmp_path_factory.mktemp("weighted")

    def train(weights):
        if not (folder / weights).exists():
            choice = settings(f"loss.class_weights={weights}", "train.keep=last")
            done(run("train", *TINY, *LEARNING, *choice, *files, "--run", folder / weights))
        return folder / weights

    return train


def recalls(folder):
    """Of frequent and rare."""
    return [row[i] / sum(row) for i, row in enumerate(result(folder)["test"]["confusion"])]


def test_balanced_weights_find_the_rare_class(weighted):
    none, balanced = recalls(weighted("none")), recalls(weighted("balanced"))
    assert result(weighted("none"))["test"]["classes"] == ["frequent", "rare"]
    assert none[1] < 0.4
    assert balanced[1] > none[1] + 0.3
    assert balanced[0] > 0.6
    assert result(weighted("none"))["test"]["accuracy"] > result(weighted("balanced"))["test"]["accuracy"]


def test_only_the_ratios_of_numbers_count(weighted):
    # In 360 series 36 are rare: balanced is 1 to 9.
    assert tensor_bytes(weighted("1,9")) == tensor_bytes(weighted("balanced"))
    assert tensor_bytes(weighted("2,18")) == tensor_bytes(weighted("balanced"))
    assert tensor_bytes(weighted("9,1")) != tensor_bytes(weighted("balanced"))
    assert recalls(weighted("9,1"))[1] <= recalls(weighted("none"))[1]


def test_equal_weights_are_none(weighted):
    for equal, none in zip(records(weighted("1,1"), "train"), records(weighted("none"), "train"), strict=True):
        assert equal["task_loss"] == pytest.approx(none["task_loss"], rel=1e-3)
    assert recalls(weighted("1,1")) == pytest.approx(recalls(weighted("none")), abs=0.02)


def test_evaluations_are_not_weighted(weighted, files):
    """Only training is: the losses of runs with different weights can be compared."""
    _, *rows = csv.reader(done(run("predict", weighted("balanced"), "--input", files[3])).splitlines())
    shares = [float(row[3 if one.label == "rare" else 2]) for row, one in zip(rows, make_rare(300, 2), strict=True)]
    loss = -sum(map(math.log, shares)) / len(shares)
    assert result(weighted("balanced"))["test"]["loss"] == pytest.approx(loss, abs=1e-5)


def test_the_weights_are_in_the_configuration(weighted, files, tmp_path):
    folder = weighted("1,9")
    assert "class_weights = [1.0, 9.0]\n" in (folder / "config.toml").read_text()
    assert 'class_weights = "balanced"\n' in (weighted("balanced") / "config.toml").read_text()
    done(run("train", folder / "config.toml", "--run", tmp_path / "again"))
    assert tensor_bytes(tmp_path / "again") == tensor_bytes(folder)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("1,2,3", "expected 2 numbers, as there are classes, got 3"),
        ("1", "expected 2 numbers, as there are classes, got 1"),
        ("1,-2", "expected numbers from 0, got -2"),
        ("0,0", "expected a class that occurs to have a weight above 0, got none"),
        ("even", 'expected none, balanced or a list of numbers, got "even"'),
        ("1,nan", 'expected none, balanced or a list of numbers, got "1,nan"'),
        ("", 'expected none, balanced or a list of numbers, got ""'),
    ],
)
@pytest.mark.parametrize("seeds", [1, 2])
def test_wrong_weights_are_one_line_and_leave_nothing_behind(files, tmp_path, weights, message, seeds):
    choice = settings(f"loss.class_weights={weights}")
    answer = run("train", *TINY, *choice, *files, "--run", tmp_path / "run", "--seeds", seeds)
    assert the_error(answer, "train").removeprefix("--set: ") == f"loss.class_weights: {message}"
    assert not (tmp_path / "run").exists()


def test_wrong_weights_in_a_file_are_named_with_their_line(tmp_path):
    (tmp_path / "own.toml").write_text("[loss]\nclass_weights = [1, 'two']\n")
    message = the_error(run("train", tmp_path / "own.toml", "--run", tmp_path / "run"), "train")
    assert message.startswith(
        f"{tmp_path / 'own.toml'}:2: loss.class_weights: expected none, balanced or a list of numbers"
    )


@pytest.mark.parametrize("weights", ["balanced", "1,2"])
def test_targets_have_no_classes_to_weigh(tmp_path, weights):
    file = write_csv(tmp_path / "level.csv", make_series(20, 0, classes=("1.5", "2.5")))
    file.write_text(file.read_text().replace(",label\n", ",target\n", 1))
    choice = settings(f"loss.class_weights={weights}")
    message = the_error(run("train", *TINY, *choice, "--train", file, "--run", tmp_path / "run"), "train")
    assert message.startswith("loss.class_weights: belongs to classes, but level has targets; expected none, got ")
    assert not (tmp_path / "run").exists()
