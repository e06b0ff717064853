"""--json: what other programs read instead of tables."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import save_file
from series_files import (
    TINY,
    done,
    make_gaps,
    make_series,
    make_set,
    result,
    run,
    settings,
    the_error,
    without_labels,
    write_csv,
)

GOLDEN = Path(__file__).parents[1] / "golden"
ACCURACY = {"key": "accuracy", "name": "accuracy", "share": True, "lower_is_better": False}
R2 = {"key": "r2", "name": "R2", "share": False, "lower_is_better": False}


def as_json(answer, code=0):
    """The standard output is one JSON value and nothing else."""
    assert answer.returncode == code, answer.stderr
    return json.loads(answer.stdout)


def test_eval_of_classes(data, trained):
    facts = as_json(run("eval", trained, "--data", data, "--json"))
    assert facts.keys() == {"what", "metric", "score", "evaluation", "notes"}
    assert facts["what"] == f"PrimalFormer of {trained} on Tiny TEST, 30 series"
    assert facts["metric"] == ACCURACY
    test = result(trained)["test"]
    assert facts["score"] == test["accuracy"]
    assert facts["evaluation"].keys() == test.keys()
    assert facts["evaluation"]["classes"] == ["down", "up", "wave"]
    for key in ("accuracy", "confusion", "macro_f1"):
        assert facts["evaluation"][key] == test[key]
    assert facts["evaluation"]["loss"] == pytest.approx(test["loss"])


def targets(path, count, seed):
    """A set whose target is the mean of the first channel."""
    series = make_series(count, seed, missing=0)
    lines = [
        f"{one.name},{row[0]},{row[1]},{sum(r[0] for r in one.values) / len(one.values):.4f}\n"
        for one in series
        for row in one.values
    ]
    path.write_text("series,x,y,target\n" + "".join(lines))
    return path


def test_eval_of_targets_in_a_file(tmp_path):
    file = targets(tmp_path / "level.csv", 40, 0)
    model = [word for word in TINY if word != "data.set=Tiny"]
    model.remove("--set")
    done(run("train", *model, "--train", file, "--run", tmp_path / "run"))
    facts = as_json(run("eval", tmp_path / "run", "--file", targets(tmp_path / "other.csv", 20, 1), "--json"))
    assert facts["metric"] == R2
    assert facts["what"] == f"PrimalFormer of {tmp_path / 'run'} on {tmp_path / 'other.csv'}, 20 series"
    evaluation = facts["evaluation"]
    assert evaluation.keys() == result(tmp_path / "run")["test"].keys()
    assert evaluation["r2"] == facts["score"]
    assert evaluation["cases"] == len(evaluation["pairs"]) == 20
    assert {"rmse", "mae", "median_error", "loss"} <= evaluation.keys()


def test_info():
    facts = as_json(run("info", "--json"))
    assert facts.keys() == {
        *("primal", "libtorch", "threads", "cpu", "cpu_has", "cpu_lacks", "libtorch_uses"),
        *("feature_maps", "attention_kinds", "fused", "kernels"),
    }
    text = done(run("info"))
    for key in ("primal", "libtorch", "cpu"):
        assert facts[key] in text
    assert facts["threads"] == 1
    assert facts["fused"].keys() == {"float32", "bfloat16"}
    assert {"primal", "softmax"} <= set(facts["attention_kinds"])
    assert "cosine" in facts["feature_maps"]
    assert all(kernel.keys() == {"name", "available", "used", "reason"} for kernel in facts["kernels"])
    assert [kernel["available"] for kernel in facts["kernels"] if kernel["used"]] == [True]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = make_set(tmp_path_factory.mktemp("sets"))
    make_set(folder / "Long", "Long", lengths=(20, 30))
    return folder


def test_data_list(folder, tmp_path):
    sets = as_json(run("data", "list", "--data", folder, "--json", cwd=tmp_path))
    assert all(one.keys() == {"name", "family", "place"} for one in sets)
    assert {"name": "Tiny", "family": "time_series", "place": str(folder)} in sets
    assert {"name": "Long", "family": "time_series", "place": str(folder / "Long")} in sets
    shown = dict(
        line.split(maxsplit=1) for line in done(run("data", "list", "--data", folder, cwd=tmp_path)).splitlines()
    )
    assert shown == {one["name"]: one["place"] for one in sets}


def test_the_flag_may_stand_before_or_after_the_name(folder, tmp_path):
    before = run("data", "--json", "--data", folder, "info", "Tiny", cwd=tmp_path)
    after = run("data", "info", "Tiny", "--json", "--data", folder, cwd=tmp_path)
    assert as_json(before) == as_json(after)


def test_data_info_of_a_set(folder, tmp_path):
    parts = as_json(run("data", "info", "Tiny", "--data", folder, "--json", cwd=tmp_path))
    assert [part["file"] for part in parts] == [str(folder / f"Tiny_{name}.ts") for name in ("TRAIN", "TEST")]
    for part, series in zip(parts, (make_series(60, 0), make_series(30, 1000)), strict=True):
        lengths = [len(one.values) for one in series]
        assert part == {
            "file": part["file"],
            "cases": len(series),
            "channels": 2,
            "channel_names": [],
            "notes": [],
            "shortest": min(lengths),
            "longest": max(lengths),
            "mean_length": pytest.approx(sum(lengths) / len(lengths)),
            "missing": sum(value is None for one in series for row in one.values for value in row),
            "has_times": False,
            "classes": dict.fromkeys(("down", "up", "wave"), len(series) / 3),
        }


def test_data_info_of_files(tmp_path):
    (timed,) = as_json(run("data", "info", write_csv(tmp_path / "a.csv", make_gaps(4, 0)), "--json"))
    assert timed["has_times"]
    assert timed["classes"] == {"fast": 2, "slow": 2}
    bare = write_csv(tmp_path / "b.csv", without_labels(make_series(4, 0)))
    assert "classes" not in as_json(run("data", "info", bare, "--json"))[0]
    (level,) = as_json(run("data", "info", targets(tmp_path / "c.csv", 10, 0), "--json"))
    low, high = level["targets"]
    assert low < high
    assert "classes" not in level


def test_verify():
    files = [GOLDEN / "causal_small.safetensors", GOLDEN / "time_series_primalformer.safetensors"]
    verified = as_json(run("verify", *files, "--json"))
    assert [one["file"] for one in verified] == [str(file) for file in files]
    for one in verified:
        assert one.keys() == {"file", "variant", "sizes", "ok", "tensors"}
        assert one["ok"] is True
        assert all(tensor.keys() == {"name", "double", "float", "ok"} for tensor in one["tensors"])
        assert all(tensor["ok"] and tensor["double"] < 1e-10 for tensor in one["tensors"])
    assert f": {len(verified[0]['tensors'])} tensors, 0 above tolerance" in done(run("verify", files[0]))


def test_verify_of_a_file_that_is_not_met(tmp_path):
    with safe_open(GOLDEN / "causal_small.safetensors", "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        save_file(tensors | {"out": tensors["out"] * 1.01}, tmp_path / "wrong.safetensors", file.metadata())
    (one,) = as_json(run("verify", tmp_path / "wrong.safetensors", "--json"), code=1)
    assert one["ok"] is False
    assert [tensor["name"] for tensor in one["tensors"] if not tensor["ok"]] == ["out"]


def test_sweep(data, tmp_path):
    small = [word for word in TINY if word not in ("--threads", "1")]
    command = ("sweep", *small, *settings("train.epochs=1"), "--threads", "1", "--data", data)
    vary = ("--vary", "model.rank=2,3", "--run", tmp_path / "sweep")
    answer = run(*command, *vary, "--json")
    table = as_json(answer)
    assert table == json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    assert table.keys() == {"title", "part", "metric", "measure", "protocol", "cells"}
    assert (table["title"], table["part"], table["protocol"]) == ("uea/JapaneseVowels", "validation", "honest")
    assert (table["metric"], table["measure"]) == (ACCURACY, "accuracy")
    for rank, cell in zip("23", table["cells"], strict=True):
        assert cell.keys() == {"values", "accuracy", "deviation", "seeds", "seconds", "run", "finished", "failed"}
        assert cell["values"] == {"model.rank": rank}
        assert cell["accuracy"] == result(Path(cell["run"]) / "seed-1")["validation_accuracy"]
        assert (cell["seeds"], cell["finished"], cell["failed"]) == (1, True, 0)
    assert answer.stderr.count("\n") == 2
    assert not list((tmp_path / "sweep").rglob("report.html"))


def test_errors_are_one_line_and_no_json(data, trained, tmp_path):
    broken = shutil.copytree(trained, tmp_path / "broken")
    shutil.rmtree(broken / "best")
    for command, *arguments in (
        ("eval", broken, "--data", data),
        ("analyze", broken, "--data", data),
        ("data", "info", tmp_path / "absent.csv"),
        ("verify", tmp_path / "absent.safetensors"),
        ("sweep", "uea/JapaneseVowels", "--vary", "model.rang=2"),
    ):
        assert the_error(run(command, *arguments, "--json", cwd=tmp_path), command)
