"""primal analyze: spectra and findings of trained runs, as tables and as JSON."""

import json
import re
import shutil
from pathlib import Path

import pytest
from series_files import TINY, done, make_series, run, settings, the_error, write_csv

FIXTURES = Path(__file__).parents[1] / "fixtures" / "runs"


def analysis(*arguments):
    return json.loads(done(run("analyze", *arguments, "--json")))


def layers_in(folder):
    return json.loads((folder / "analysis.json").read_text())["layers"]


@pytest.fixture(scope="module")
def seeds(data, tmp_path_factory):
    """Two seeds of a model whose first layer is softmax."""
    folder = tmp_path_factory.mktemp("seeds") / "run"
    mixed = settings("model.layers=softmax,primal", "train.epochs=1")
    done(run("train", *TINY, *mixed, "--data", data, "--run", folder, "--seeds", "2", "--no-report"))
    return folder


@pytest.fixture(scope="module")
def softmax(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("softmax") / "run"
    alone = settings("model.layers=softmax,softmax", "train.epochs=1")
    done(run("train", *TINY, *alone, "--data", data, "--run", folder))
    return folder


def test_the_tables_have_a_row_for_each_primal_layer(data, trained):
    text = done(run("analyze", trained, "--data", data))
    head, *rest = text.splitlines()
    assert head == f"{trained}: PrimalFormer on Tiny TRAIN, 32 series"
    first, second = layers_in(trained)
    for layer in (first, second):
        (row,) = [line.split() for line in rest if line.startswith(layer["name"] + " ")]
        name = layer["name"].split()
        ranks = [f"{layer[key]:.2f}" for key in ("effective_rank_e", "effective_rank_r")]
        assert row[: len(name) + 5] == [*name, "4", "12", "12", *ranks]
        lambdas = sorted(value for head in layer["lambda"] for value in head)
        assert [float(word) for word in row[len(name) + 5 :][:3]] == pytest.approx(
            [lambdas[0], lambdas[4], lambdas[-1]], rel=1e-2
        )
        at = rest.index(f"{layer['name']}: singular values of the scores, mean over heads and examples")
        for name, line in zip("er", rest[at + 1 : at + 3], strict=True):
            letter, *values = line.split()
            assert letter == name
            assert list(map(float, values)) == pytest.approx(layer[f"singular_values_{name}"], rel=1e-2)


def test_as_json_it_is_what_the_run_itself_found(data, trained):
    (one,) = analysis(trained, "--data", data)
    assert one.keys() == {"run", "what", "layers", "matrices", "matrices_of", "rank_advice", "findings"}
    assert (one["run"], one["what"]) == (str(trained), "PrimalFormer on Tiny TRAIN, 32 series")
    assert one["layers"] == layers_in(trained)
    for layer in one["layers"]:
        assert (layer["rank"], layer["rows"], layer["tokens"], layer["heads"]) == (4, 12, 12, 2)
        assert [len(head) for head in layer["lambda"]] == [4, 4]
        assert all(len(layer[f"singular_values_{name}"]) == 4 for name in "er")
        assert all(1 <= layer[f"effective_rank_{name}"] <= 4 for name in "er")


def test_nothing_is_written(data, trained):
    before = {path: path.stat().st_mtime_ns for path in [trained, *trained.rglob("*")]}
    done(run("analyze", trained, "--data", data))
    assert {path: path.stat().st_mtime_ns for path in [trained, *trained.rglob("*")]} == before


def test_the_part_may_be_chosen(data, trained):
    parts = {part: analysis(trained, "--data", data, "--part", part)[0] for part in ("train", "validation", "test")}
    assert [one["what"].removeprefix("PrimalFormer on Tiny ") for one in parts.values()] == [
        *("TRAIN, 32 series", "validation part, 12 series", "TEST, 30 series")
    ]
    values = [one["layers"][0]["singular_values_e"] for one in parts.values()]
    assert values[0] != values[1] != values[2] != values[0]


def test_the_number_of_examples_may_be_chosen(data, trained):
    few, all_of_it = (analysis(trained, "--data", data, "--examples", n)[0] for n in (1, 1000))
    assert few["what"] == "PrimalFormer on Tiny TRAIN, 1 series"
    assert all_of_it["what"] == "PrimalFormer on Tiny TRAIN, 48 series"
    assert few["layers"][0]["singular_values_e"] != all_of_it["layers"][0]["singular_values_e"]
    assert few["layers"][0]["lambda"] == all_of_it["layers"][0]["lambda"]


def test_a_file_needs_no_training_data(data, trained, tmp_path):
    file = write_csv(tmp_path / "test.csv", make_series(30, 1000))  # those of TEST
    (one,) = analysis(trained, "--file", file)
    assert one["what"] == f"PrimalFormer on {file}, 30 series"
    assert one["layers"] == analysis(trained, "--data", data, "--part", "test")[0]["layers"]


def test_several_seeds_and_runs_come_one_after_another(data, trained, seeds):
    several = analysis(seeds, trained, "--data", data)
    assert [one["run"] for one in several] == [str(seeds / "seed-1"), str(seeds / "seed-2"), str(trained)]
    assert [[layer["name"] for layer in one["layers"]] for one in several] == [
        *(["layer 2"], ["layer 2"], ["layer 1", "layer 2"])
    ]
    assert several[0]["layers"] != several[1]["layers"]
    text = done(run("analyze", seeds, trained, "--data", data))
    single = [done(run("analyze", folder, "--data", data)) for folder in (seeds / "seed-1", seeds / "seed-2", trained)]
    assert text == "\n".join(single)


def test_a_run_without_primal_layers_has_no_spectrum(data, softmax):
    text = done(run("analyze", softmax, "--data", data))
    assert text.splitlines()[:2] == [
        f"{softmax}: Transformer on Tiny TRAIN, 32 series",
        "no layer has Primal-Attention: there are no scores to show",
    ]
    (one,) = analysis(softmax, "--data", data)
    assert one["layers"] == []


def test_findings_are_told(data, trained, tmp_path):
    assert done(run("analyze", trained, "--data", data)).endswith("\n\nno known sign of failure\n")
    folder = tmp_path / "sunk"
    # Weights of the last step with a learning rate of no use: it ends no better than it began.
    sunk = settings("optimizer.lr=1", "optimizer.name=sgd", "train.keep=last", "train.epochs=20")
    answer = run("train", *TINY, *sunk, "--data", data, "--run", folder)
    done(answer)
    (one,) = analysis(folder, "--data", data)
    text = done(run("analyze", folder, "--data", data))
    assert one["findings"]
    for finding in one["findings"]:
        assert finding.keys() == {"severity", "title", "text", "advice"}
        assert finding["severity"] in {"warning", "note"}
        assert f"{finding['severity']}: {finding['title']}. {finding['text']} {finding['advice']}\n" in text
    assert "no known sign of failure" not in text


def test_a_run_of_an_earlier_version_is_analysed(tmp_path):
    old = shutil.copytree(FIXTURES, tmp_path / "old")
    for file in old.rglob("config.toml"):
        file.write_text(file.read_text().replace("FIXTURES", str(old)))
    for name in ("classes", "targets"):
        (one,) = analysis(old / name)
        for ours, theirs in zip(one["layers"], layers_in(old / name), strict=True):
            assert ours["singular_values_e"] == pytest.approx(theirs["singular_values_e"], rel=1e-2, abs=1e-4)


def test_a_run_that_held_nothing_out_has_no_validation_part(data, tmp_path):
    done(run("train", *TINY, "--protocol", "paper", "--data", data, "--run", tmp_path / "run"))
    message = the_error(run("analyze", tmp_path / "run", "--part", "validation", "--data", data), "analyze")
    assert message.endswith("this run has held out no validation part")


def test_training_series_are_analysed_where_test_is_not(data, trained, tmp_path):
    copy = shutil.copytree(data, tmp_path / "data")
    (copy / "Tiny_TEST.ts").write_text("damaged")
    done(run("analyze", trained, "--data", copy))


def test_wrong_arguments_are_one_line(data, trained, tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text("series,x,y,z,label\n0,1,2,3,up\n")
    for arguments, message in (
        ([tmp_path / "none"], rf"{tmp_path}/none: no run here \(config.toml is missing\)"),
        ([trained, tmp_path, "--data", data], rf"{tmp_path}: no run here \(config.toml is missing\)"),
        ([], "RUN is required; try --help"),
        ([trained, "--part", "half"], r"--part: half not in \{train,validation,test\}; try --help"),
        ([trained, "--examples", "0"], "--examples: expected a whole number, at least 1, got 0; try --help"),
        ([trained, "--file", tmp_path / "absent.csv"], f"{tmp_path}/absent.csv: .*"),
        ([trained, "--file", wide], f"{wide}: the series have 3 channels, the training series 2"),
        ([trained], f'{trained}: data set "Tiny": expected Tiny_TRAIN.ts and Tiny_TEST.ts in .*'),
    ):
        answer = run("analyze", *arguments, cwd=tmp_path)
        assert re.fullmatch(message, the_error(answer, "analyze"))
