"""Runs whose layers remember: the keys of the memory, and what eval, predict, analyze and report make of such a run."""

import json

import pytest
from browser import needs_browser, open_page
from series_files import TINY, done, make_set, result, run, settings, the_error

MEMORY = (
    *TINY,
    *settings("model.layers=primal,softmax", "model.memory=decay", "model.memory_scales=3", "model.convolution=3"),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_set(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def remembering(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory") / "run"
    done(run("train", *MEMORY, "--set", "train.epochs=2", "--data", data, "--run", folder))
    return folder


def scales_of(folder):
    return json.loads((folder / "analysis.json").read_text())["time_scales"]


def test_every_layer_tells_its_time_scales(remembering):
    memories = scales_of(remembering)
    assert [(m["layer"], m["memory"]) for m in memories] == [
        (f"layer {i}", direction) for i in (1, 2) for direction in ("forward", "backward")
    ]
    width = int(next(s for s in TINY if s.startswith("model.width=")).split("=")[1])
    for memory in memories:
        assert len(memory["tokens"]) == 3 * width
        assert memory["tokens"] == sorted(memory["tokens"])
        assert 0.5 < memory["tokens"][0] < 2 < memory["tokens"][-1]


def test_analyze_prints_them(remembering, data):
    text = done(run("analyze", remembering, "--data", data))
    assert "shortest" in text
    assert "backward" in text
    told = json.loads(done(run("analyze", remembering, "--data", data, "--json")))
    told = told[0] if isinstance(told, list) else told
    assert len(told["time_scales"]) == 4


def test_such_a_run_evaluates_and_goes_on(remembering, data, tmp_path):
    accuracy = result(remembering)["test"]["accuracy"]
    assert f"{100 * accuracy:.2f} %" in done(run("eval", remembering, "--data", data))
    half = tmp_path / "half"
    done(run("train", *MEMORY, "--set", "train.epochs=1", "--data", data, "--run", half))
    done(run("train", "--resume", half, "--set", "train.epochs=2", "--data", data))
    assert result(half)["test"] == result(remembering)["test"]


def test_a_run_without_a_memory_tells_none(trained):
    assert "time_scales" not in json.loads((trained / "analysis.json").read_text())


@needs_browser
def test_the_page_draws_them(remembering):
    page = open_page(remembering / "report.html")
    assert page.problems() == []
    assert "Memory" in page.text
    assert sum("forward: what came before" in label for label in page.labels) == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.memory=fade", 'model.memory: expected one of none, decay, got "fade"'),
        ("model.memory_scales=0", "model.memory_scales: "),
        ("model.convolution=4", "model.convolution: expected an odd number or 0, got 4"),
        ("model.convolution=-1", "model.convolution: "),
    ],
)
def test_wrong_values_are_told_in_a_line(setting, message, data, tmp_path):
    answer = run("train", *TINY, "--set", setting, "--data", data, "--run", tmp_path / "run")
    assert message in the_error(answer, "train")
    assert not (tmp_path / "run").exists()


def test_targets_train_with_a_preset_of_classes(tmp_path):
    """Its label smoothing is left out; who asks for it is told (test_regression.py)."""
    lines = ["series,level,target"]
    lines += [f"s{i},{(i % 7) + 0.1 * t},{i % 7}" for i in range(40) for t in range(5)]
    file = tmp_path / "levels.csv"
    file.write_text("\n".join(lines) + "\n")
    small = settings("model.width=8", "model.heads=2", "model.feed_forward=8", "model.rank=2", "train.length=2 epochs")
    done(run("train", "series/default", "--train", file, *small, "--run", tmp_path / "run"))
    assert "r2" in result(tmp_path / "run")["test"]
