"""primal analyze --ksvd: whether trained layers hold a kernel SVD, beside untrained and random weights."""

import json
import math
import re

import pytest
from series_files import LEARNING, TINY, done, run, settings, the_error

MEASURES = {
    *("residual", "residual_e", "residual_r", "direction", "ineffective", "forward", "overlap_e", "overlap_r"),
    *("subspace_e", "subspace_r", "energy", "rank_correlation", "lambda_ratio", "balance", "largest_part"),
}


@pytest.fixture(scope="module")
def twin(data, tmp_path_factory):
    """The run `trained` without the KSVD term."""
    folder = tmp_path_factory.mktemp("twin") / "run"
    done(run("train", *TINY, *LEARNING, *settings("loss.eta=0"), "--data", data, "--run", folder))
    return folder


def analysed(*arguments):
    (one,) = json.loads(done(run("analyze", *arguments, "--ksvd", "--json")))
    return one["ksvd"]


def test_each_measure_stands_beside_untrained_and_random_weights(data, trained):
    found = analysed(trained, "--data", data)
    assert found.keys() == {"layers"}
    assert [layer["name"] for layer in found["layers"]] == ["layer 1", "layer 2"]
    for layer in found["layers"]:
        assert (layer["rank"], layer["rows"], layer["features"], layer["samples"]) == (4, 12, 8, 32)
        for column, count in (("trained", 64), ("untrained", 64), ("random", 2 * 128)):
            measured = layer[column]
            assert measured.keys() - {"kernel"} == {*MEASURES, "mean_residual", "heads"}
            assert measured["residual"]["count"] == count
            assert [head.keys() for head in measured["heads"]] == [MEASURES] * 2
            for key in ("ineffective", "overlap_e", "subspace_e", "subspace_r", "energy", "direction"):
                assert -1e-9 <= measured[key]["mean"] <= 1 + 1e-9
            assert measured["residual"]["mean"] >= measured["direction"]["mean"]
        for column in ("trained", "untrained"):
            explained = layer[column]["kernel"]["explained"]
            assert len(explained) == 8
            assert explained == sorted(explained)
            assert explained[-1] == pytest.approx(1)
            assert 1 <= layer[column]["kernel"]["effective_rank"] <= 8


def test_random_and_untrained_weights_do_not_pass(data, trained):
    for layer in analysed(trained, "--data", data)["layers"]:
        assert layer["random"]["direction"]["mean"] > 0.5
        assert layer["untrained"]["direction"]["mean"] > 0.5
        assert layer["grade"] in {"closer", "chance", "unscaled"}
        assert layer["verdict"].startswith(f"{layer['name']} ")


def test_untrained_weights_are_those_that_the_run_began_with(data, tmp_path):
    still = settings("optimizer.lr=1e-30", "train.epochs=1", "train.seed=7")
    done(run("train", *TINY, *still, "--data", data, "--run", tmp_path / "run"))
    for layer in analysed(tmp_path / "run", "--data", data)["layers"]:
        for key in MEASURES:
            assert layer["trained"][key]["mean"] == pytest.approx(layer["untrained"][key]["mean"], rel=1e-6), key


def test_the_table_shows_what_the_json_holds(data, trained):
    text = done(run("analyze", trained, "--data", data, "--ksvd"))
    first = analysed(trained, "--data", data)["layers"][0]
    lines = text.splitlines()
    at = lines.index("layer 1 as a kernel SVD: s = 4, 12 rows, 8 features, heads 2, samples 32")
    assert lines[at + 1].split() == ["KSVD", "trained", "untrained", "random"]
    (row,) = [line for line in lines[at : at + 20] if line.startswith("energy of the best s")]
    cells = re.split(r"\s{2,}", row)
    assert cells[1] == "1"
    for cell, column in zip(cells[2:], ("trained", "untrained", "random"), strict=True):
        assert float(cell.split(" +- ")[0]) == pytest.approx(first[column]["energy"]["mean"], rel=1e-2)
    assert first["verdict"] in lines


def test_without_the_flag_nothing_is_measured(data, trained):
    (one,) = json.loads(done(run("analyze", trained, "--data", data, "--json")))
    assert "ksvd" not in one
    assert "kernel SVD" not in done(run("analyze", trained, "--data", data))


def test_a_twin_without_the_term_is_a_column_of_its_own(data, trained, twin):
    found = analysed(trained, "--data", data, "--twin", twin)
    assert found["twin"] == str(twin)
    alone = analysed(twin, "--data", data)
    for layer, of_twin in zip(found["layers"], alone["layers"], strict=True):
        assert layer["twin"]["residual"] == of_twin["trained"]["residual"]
        assert layer["twin"]["kernel"] == of_twin["trained"]["kernel"]
    assert "eta = 0" in done(run("analyze", trained, "--data", data, "--ksvd", "--twin", twin))


def test_it_is_the_same_every_time_and_writes_nothing(data, trained):
    before = {path: path.stat().st_mtime_ns for path in [trained, *trained.rglob("*")]}
    assert analysed(trained, "--data", data) == analysed(trained, "--data", data)
    assert {path: path.stat().st_mtime_ns for path in [trained, *trained.rglob("*")]} == before


def test_the_number_of_random_weights_may_be_chosen(data, trained):
    layer = analysed(trained, "--data", data, "--examples", "1", "--null", "30")["layers"][0]
    assert layer["random"]["residual"]["count"] == 2 * 30
    assert layer["trained"]["residual"]["count"] == 2


def test_other_scores_in_a_layer_change_the_score_of_the_task(data, trained):
    changed = analysed(trained, "--data", data, "--part", "test", "--intervene")["changed"]
    evaluated = json.loads(done(run("eval", trained, "--data", data, "--json")))
    assert changed["own"]["score"] == pytest.approx(evaluated["score"])
    assert changed["what"] == "Tiny TEST, 30 series"
    assert [layer["name"] for layer in changed["layers"]] == ["layer 1", "layer 2"]
    for layer in changed["layers"]:
        assert layer.keys() == {"name", "best_pairs", "random", "none"}
        for key in ("best_pairs", "random", "none"):
            assert 0 <= layer[key]["score"] <= 1
            assert layer[key]["loss"] != changed["own"]["loss"]
    text = done(run("analyze", trained, "--data", data, "--part", "test", "--ksvd", "--intervene"))
    assert "accuracy on Tiny TEST, 30 series: " in text


def test_training_on_the_conditions_comes_closer_to_them(data, trained, twin, tmp_path):
    conditions = settings("loss.ksvd=stationarity", "loss.eta=1")
    done(run("train", *TINY, *LEARNING, *conditions, "--data", data, "--run", tmp_path / "run"))
    found = {folder: analysed(folder, "--data", data)["layers"] for folder in (tmp_path / "run", trained, twin)}
    for ours, objective, without in zip(*found.values(), strict=True):
        assert ours["trained"]["residual"]["mean"] < 0.9 * objective["trained"]["residual"]["mean"]
        assert ours["trained"]["residual"]["mean"] < 0.9 * without["trained"]["residual"]["mean"]


def test_the_objective_is_what_is_trained_on_unless_told_otherwise(data, trained, tmp_path):
    said = settings("loss.ksvd=objective")
    done(run("train", *TINY, *LEARNING, *said, "--data", data, "--run", tmp_path / "run"))
    same, default = (folder / "best" / "model.safetensors" for folder in (tmp_path / "run", trained))
    assert same.read_bytes() == default.read_bytes()


def test_a_softmax_layer_has_no_kernel_svd(data, tmp_path):
    mixed = settings("model.layers=softmax,softmax", "train.epochs=1")
    done(run("train", *TINY, *mixed, "--data", data, "--run", tmp_path / "run"))
    assert analysed(tmp_path / "run", "--data", data) == {"layers": []}
    done(run("analyze", tmp_path / "run", "--data", data, "--ksvd"))


def test_numbers_are_finite_or_null(data, trained):
    def check(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for one in value:
                check(one)
        assert not isinstance(value, float) or math.isfinite(value)

    check(analysed(trained, "--data", data))


def test_wrong_arguments_are_one_line(data, trained, twin, tmp_path):
    small = tmp_path / "small"
    done(run("train", *TINY, *settings("model.rank=2", "train.epochs=1", "loss.eta=0"), "--data", data, "--run", small))
    for arguments, message in (
        (["--twin", twin], "--twin requires --ksvd; try --help"),
        (["--intervene"], "--intervene requires --ksvd; try --help"),
        (["--ksvd", "--null", "0"], "--null: expected a whole number, at least 1, got 0; try --help"),
        (["--ksvd", "--twin", tmp_path / "none"], rf".*{tmp_path}/none: no run here \(config.toml is missing\)"),
        (["--ksvd", "--twin", trained], rf".*--twin {trained}: expected a run with loss.eta = 0, got 0.01"),
        (["--ksvd", "--twin", small], rf".*--twin {small}: its primal layers are not of the sizes of those of the run"),
    ):
        answer = run("analyze", trained, "--data", data, *arguments)
        assert re.fullmatch(message, the_error(answer, "analyze"))
