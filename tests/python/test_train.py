"""primal train: what a run leaves behind, where its settings come from, what it learns, and how it fails."""

import json
import re
import statistics
from pathlib import Path

import pytest
from safetensors import safe_open
from series_files import (
    LEARNING,
    TINY,
    done,
    make_gaps,
    make_series,
    metrics,
    records,
    result,
    run,
    settings,
    tensor_bytes,
    the_error,
    without_labels,
    write_csv,
    write_ts,
)

ACCURACY = {"key": "accuracy", "name": "accuracy", "share": True, "lower_is_better": False}


def test_the_run_directory_holds_all_that_happened(trained):
    files = {str(p.relative_to(trained)) for p in trained.rglob("*") if p.is_file()}
    assert files >= {
        *("config.toml", "metrics.jsonl", "log.txt", "result.json", "analysis.json", "data.json", "report.html"),
        *("best/model.safetensors", "best/state.json"),
        *(f"checkpoints/step-36/{name}" for name in ("model.safetensors", "optimizer.safetensors", "state.json")),
    }
    assert any(name.startswith("events.") for name in files)
    assert not any(name.endswith(".tmp") for name in files)


def test_every_epoch_and_every_evaluation_is_recorded(trained):
    first, *lines = metrics(trained)
    assert first == {"kind": "metric"} | ACCURACY
    assert [(r["kind"], r["epoch"], r["step"]) for r in lines] == [
        (kind, epoch, 3 * epoch) for epoch in range(1, 13) for kind in ("train", "evaluation")
    ]
    assert {r["split"] for r in records(trained, "evaluation")} == {"validation"}
    assert all(len(record["objective"]) == 2 for record in lines)
    for record in records(trained, "train"):
        assert record["loss"] == pytest.approx(record["task_loss"] + record["ksvd"])


def test_the_result_says_what_was_trained_how_long_and_what_the_scores_are(trained):
    facts = result(trained)
    assert (facts["family"], facts["metric"], facts["measure"]) == ("time_series", ACCURACY, "accuracy")
    assert (facts["steps"], facts["epochs"]) == (36, 12)
    assert facts["best_step"] == 3 * facts["best_epoch"]
    state = json.loads((trained / "best" / "state.json").read_text())
    assert (state["step"], state["epoch"]) == (facts["best_step"], facts["best_epoch"])


def test_the_classes_are_learnt(trained):
    test = result(trained)["test"]
    assert test["accuracy"] >= 0.9
    assert sum(map(sum, test["confusion"])) == 30
    assert test["accuracy"] == pytest.approx(sum(test["confusion"][i][i] for i in range(3)) / 30)
    assert [len(layer["lambda"]) for layer in json.loads((trained / "analysis.json").read_text())["layers"]] == [2, 2]


def test_tensorboard_reads_the_curves(trained):
    pytest.importorskip("tensorboard")
    from tensorboard_events import read_events

    events = read_events(trained)
    for tag, kind, name in [
        ("train/loss", "train", "task_loss"),
        ("train/accuracy", "train", "accuracy"),
        ("train/epoch", "train", "epoch"),
        ("validation/loss", "evaluation", "loss"),
        ("validation/accuracy", "evaluation", "accuracy"),
    ]:
        expected = [(r["step"], pytest.approx(r[name], rel=1e-6)) for r in records(trained, kind)]
        assert events[tag] == expected
        assert len(expected) == 12
    assert len(events["train/J of layer 2"]) == len(events["validation/macro_f1"]) == 12
    best = json.loads((trained / "best" / "state.json").read_text())
    assert (best["step"], pytest.approx(best["evaluation"]["macro_f1"])) in events["validation/macro_f1"]


def rank_of(*arguments, **environment):
    listing = done(run("train", "--keys", *arguments, **environment))
    return re.search(r"^model\.rank = (\S+)", listing, re.MULTILINE).group(1)


def test_flags_outrank_the_environment_and_that_the_preset():
    assert rank_of("uea/JapaneseVowels") == "40"
    assert rank_of("uea/JapaneseVowels", PRIMAL_MODEL_RANK="7") == "7"
    assert rank_of("uea/JapaneseVowels", "--set", "model.rank=5", PRIMAL_MODEL_RANK="7") == "5"


def test_own_presets_build_on_others(tmp_path):
    (tmp_path / "base.toml").write_text("[model]\nrank = 11\nheads = 3\n")
    (tmp_path / "own.toml").write_text('base = "base.toml"\n[model]\nrank = 12\n')
    assert rank_of(tmp_path / "own.toml") == "12"


def test_the_written_configuration_gives_the_same_run_bit_for_bit(data, trained, tmp_path):
    done(run("train", trained / "config.toml", "--data", data, "--run", tmp_path / "again"))
    assert metrics(tmp_path / "again") == metrics(trained)
    assert tensor_bytes(tmp_path / "again") == tensor_bytes(trained)
    assert result(tmp_path / "again")["test"] == result(trained)["test"]


def test_another_seed_gives_another_run(data, trained, tmp_path):
    one = ("--set", "train.epochs=1", "--seed", "2")
    done(run("train", *TINY, *LEARNING, *one, "--data", data, "--run", tmp_path / "other"))
    assert records(tmp_path / "other", "train")[0] != records(trained, "train")[0]
    assert result(tmp_path / "other")["seed"] == 2


def test_several_seeds_end_with_mean_and_deviation(data, tmp_path):
    output = done(run("train", *TINY, "--data", data, "--run", tmp_path / "run", "--seeds", "3", "--seed", "4"))
    accuracies = [100 * result(tmp_path / "run" / f"seed-{seed}")["test"]["accuracy"] for seed in (4, 5, 6)]
    mean, deviation = statistics.mean(accuracies), statistics.stdev(accuracies)
    assert f"mean {mean:.1f} % +- {deviation:.1f} % over 3 seeds, protocol honest\n" in output
    assert done(run("train", "--resume", tmp_path / "run")) == output


def test_the_same_series_as_csv_give_the_same_run(data, trained, tmp_path):
    train = write_csv(tmp_path / "train.csv", make_series(60, 0))
    test = write_csv(tmp_path / "test.csv", make_series(30, 1000))
    done(run("train", *TINY, *LEARNING, "--train", train, "--test", test, "--run", tmp_path / "run"))
    assert metrics(tmp_path / "run") == metrics(trained)
    assert result(tmp_path / "run")["test"] == result(trained)["test"]


def test_a_single_file_is_enough(tmp_path):
    """A fifth of it is TEST, and the preset is the one for own series."""
    train = write_csv(tmp_path / "pumps.csv", make_series(60, 0))
    output = run("train", *TINY[1:], "--train", train, "--run", tmp_path / "run")
    assert result(tmp_path / "run")["preset"] == "series/default"
    assert "pumps: 38 training series, 10 for validation" in output.stderr
    assert [sum(row) for row in result(tmp_path / "run")["test"]["confusion"]] == [4, 4, 4]


@pytest.mark.parametrize(
    ("layers", "name", "primal"), [("softmax,primal", "Primal.+", 1), ("softmax,softmax", "Transformer", 0)]
)
def test_layers_choose_the_model(data, tmp_path, layers, name, primal):
    folder = tmp_path / "run"
    done(run("train", *TINY, *LEARNING, "--data", data, "--run", folder, "--set", f"model.layers={layers}"))
    assert result(folder)["model"] == name
    assert result(folder)["test"]["accuracy"] >= 0.75
    assert len(json.loads((folder / "analysis.json").read_text())["layers"]) == primal
    assert {len(r["objective"]) for r in metrics(folder)[1:]} == {primal}


@pytest.mark.parametrize(("pooling", "padding", "features"), [("flatten", "respect", 12 * 16), ("mean", "ignore", 16)])
def test_pooling_and_padding(data, tmp_path, pooling, padding, features):
    choice = ("--set", f"model.pooling={pooling}", "--set", f"model.padding={padding}")
    done(run("train", *TINY, *LEARNING, "--data", data, "--run", tmp_path / "run", *choice))
    with safe_open(tmp_path / "run" / "best" / "model.safetensors", "pt") as file:
        assert list(file.get_slice("head.weight").get_shape()) == [3, features]
    losses = [r["task_loss"] for r in records(tmp_path / "run", "train")]
    assert losses[-1] < losses[0]


def test_only_the_time_encoding_sees_how_long_a_series_took(tmp_path):
    files = ("--train", write_csv(tmp_path / "train.csv", make_gaps(80, 1)))
    files += ("--test", write_csv(tmp_path / "test.csv", make_gaps(40, 2)))
    settings = ("train.epochs=20", "optimizer.name=adamw", "optimizer.lr=5e-3", "loss.eta=0")
    settings += ("model.pooling=mean", "model.padding=respect")
    accuracy = {}
    for time in ("order", "bochner"):
        changes = [word for setting in (*settings, f"model.time={time}") for word in ("--set", setting)]
        done(run("train", *TINY, *files, *changes, "--run", tmp_path / time))
        accuracy[time] = result(tmp_path / time)["test"]["accuracy"]
    assert accuracy["bochner"] >= 0.95
    assert accuracy["order"] <= 0.7


def test_patience_ends_a_run_that_no_longer_gets_better(data, tmp_path):
    still = ("--set", "optimizer.lr=0", "--set", "train.epochs=50", "--set", "train.patience=2")
    output = done(run("train", *TINY, "--data", data, "--run", tmp_path / "run", *still))
    assert "epoch 1 of 3 by" in output
    assert [r["kind"] for r in metrics(tmp_path / "run")] == ["metric", *["train", "evaluation"] * 3]


WRONG_SETTINGS = {
    "preset": (["uea/JapaneseVowel"], "did you mean uea/JapaneseVowels?"),
    "key": (["--set", "model.rang=3"], "unknown key model.rang; did you mean model.rank?"),
    "type": (["--set", "model.rank=3.5"], 'model.rank: expected a whole number or a list of them, got "3.5"'),
    "choice": (["--set", "model.pooling=max"], 'model.pooling: expected one of flatten, mean, got "max"'),
    "list": (["--set", "model.layers=primal,hard"], 'window, reformer, got "hard"'),
    "range": (["--set", "model.heads=3"], "16 is not divisible by 3 heads"),
    "protocol": (["--protocol", "kind"], "--protocol: kind not in {honest,paper}"),
    "set": (["--set", "data.set=Tyny"], 'data set "Tyny": expected Tyny_TRAIN.ts and Tyny_TEST.ts'),
    "length": (["--set", "train.epochs=0"], "train.length: expected at least 1 epoch, got 0 epochs"),
    "span": (
        ["--set", "train.length=5 hours"],
        'train.length: expected a length such as "5000 steps" or "100 epochs", got "5 hours"',
    ),
    "precision": (["--set", "train.precision=half"], "expected one of float32, bfloat16, auto, got"),
    "file": (["--train", "absent.csv"], "absent.csv"),
    "only test": (["--test", "absent.csv"], "data.test: given without data.train"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG_SETTINGS.values(), ids=WRONG_SETTINGS)
def test_wrong_settings_are_one_line_and_leave_nothing_behind(data, tmp_path, arguments, message):
    preset = TINY if arguments[0].startswith("--") else ()
    answer = run("train", *preset, *arguments, "--data", data, "--run", tmp_path / "run", cwd=tmp_path)
    assert message in the_error(answer, "train")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_variable_is_named(data, tmp_path):
    answer = run("train", *TINY, "--data", data, "--run", tmp_path / "run", PRIMAL_LOSS_ETA="much")
    assert the_error(answer, "train") == 'PRIMAL_LOSS_ETA: loss.eta: expected a number, got "much"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nrank = = 3\n", ":2: "),
        ("[model]\n\nrank = 'a'\n", ":3: model.rank: expected a whole number or a list of them, got 'a'"),
        ("[model]\nrak = 3\n", ":2: unknown key model.rak; did you mean model.rank?"),
        ("base = 'bad.toml'\n", ": the chain of base files does not end"),
    ],
)
def test_a_bad_preset_is_named_with_its_line(tmp_path, text, message):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    assert the_error(run("train", file, "--run", tmp_path / "run"), "train").startswith(f"{file}{message}")
    assert list(tmp_path.iterdir()) == [file]


def write_targets(file):
    file.write_text("series,x,target\n" + "".join(f"{i},{i},0.5\n{i},2,0.5\n" for i in range(20)))
    return file


def write_latin(file):
    text = write_csv(file, make_series(20, 0, classes=("grün", "blau"))).read_text()
    file.write_text(text, encoding="latin-1")
    return file


def wrong_data(folder):
    """Files that are there but cannot be trained on: name -> file, what the message says after its name."""
    good = write_ts(folder / "good.ts", make_series(6, 0)).read_text()
    (folder / "number.ts").write_text(good.replace("@data\n", "@data\n1,2,x:3,4,5:up\n"))
    return {
        "number": (folder / "number.ts", ':6: channel 1, value 3: expected a number, got "x"'),
        "no labels in .ts": (
            write_ts(folder / "a.ts", without_labels(make_series(20, 0))),
            ": the series have neither class labels nor targets",
        ),
        "no labels in CSV": (
            write_csv(folder / "b.csv", without_labels(make_series(20, 0))),
            ':2: series "0": expected',
        ),
        "one class": (
            write_csv(folder / "d.csv", make_series(20, 0, classes=("up",))),
            ": expected series of at least",
        ),
        "one target": (write_targets(folder / "e.csv"), ": expected at least two different targets, got only 0.5"),
        "not UTF-8": (write_latin(folder / "f.csv"), ':2: series "0": expected a label in UTF-8, got '),
        "few": (write_csv(folder / "c.csv", make_series(3, 0)), ": 3 series are too few to hold some out"),
    }


WRONG_DATA = ("number", "no labels in .ts", "no labels in CSV", "one class", "one target", "not UTF-8", "few")


@pytest.mark.parametrize("kind", WRONG_DATA)
def test_wrong_data_are_one_line_and_leave_nothing_behind(tmp_path, kind):
    file, message = wrong_data(tmp_path)[kind]
    answer = run("train", *TINY, "--train", file, "--run", tmp_path / "run")
    assert the_error(answer, "train").startswith(f"{file}{message}")
    assert not (tmp_path / "run").exists()


def test_wrong_data_leave_nothing_behind_for_several_seeds_either(tmp_path):
    file, _ = wrong_data(tmp_path)["number"]
    the_error(run("train", *TINY, "--train", file, "--run", tmp_path / "run", "--seeds", "2"), "train")
    assert not (tmp_path / "run").exists()


def test_a_run_is_not_overwritten(data, trained):
    before = tensor_bytes(trained)
    message = the_error(run("train", *TINY, "--data", data, "--run", trained), "train")
    assert message == f"{trained}: there is a run already; go on with it by --resume {trained}"
    assert tensor_bytes(trained) == before


def test_too_many_threads_are_refused(data, tmp_path):
    preset, _, _, *settings = TINY
    answer = run("train", preset, *settings, "--threads", "100000", "--data", data, "--run", tmp_path / "run")
    assert the_error(answer, "train") == "run.threads: expected at most 1024, got 100000"
    assert not (tmp_path / "run").exists()


def test_a_model_that_does_not_fit_into_memory_leaves_nothing_behind(data, tmp_path):
    huge = ("--set", "model.feed_forward=100000000000000")
    answer = run("train", *TINY, *huge, "--data", data, "--run", tmp_path / "run")
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith("primal train: not enough memory: ")
    assert not (tmp_path / "run").exists()


def test_a_folder_for_data_must_be_there(tmp_path):
    answer = run("train", *TINY, "--data", tmp_path / "none", "--run", tmp_path / "run")
    assert the_error(answer, "train") == f"--data {tmp_path / 'none'}: there is no such folder"


def test_a_time_encoding_without_times_is_said(data, tmp_path):
    answer = run("train", *TINY, "--set", "model.time=bochner", "--data", data, "--run", tmp_path / "run")
    done(answer)
    assert "note: model.time is bochner, but the training file has no times" in answer.stderr


DIVERGING = ("--set", "optimizer.name=sgd", "--set", "optimizer.lr=1e30")


def test_a_loss_that_is_not_finite_fails_with_advice(data, tmp_path):
    answer = run("train", *TINY, *DIVERGING, "--data", data, "--run", tmp_path / "run")
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith("primal train: the loss became NaN at step 2; try a smaller")
    assert not (tmp_path / "run" / "result.json").exists()
    assert "failed: the loss became NaN at step 2; try" in (tmp_path / "run" / "log.txt").read_text()
    report = done(run("report", tmp_path / "run")).strip()
    assert "It stopped: the loss became NaN at step 2." in Path(report).read_text()


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ("loss.eta=1e39", "try loss.eta=0.1 instead of 1e+39"),
        ("optimizer.weight_decay=1e35", "try optimizer.weight_decay=0.01 instead of 1e+35"),
    ],
)
def test_the_advice_names_what_is_absurd(data, tmp_path, change, advice):
    answer = run("train", *TINY, *settings(change, "optimizer.name=sgd"), "--data", data, "--run", tmp_path / "run")
    assert answer.returncode == 1
    assert answer.stderr.endswith(f"; {advice}\n")


def test_a_folder_is_no_configuration(tmp_path):
    (tmp_path / "x.toml").mkdir()
    message = the_error(run("train", tmp_path / "x.toml"), "train")
    assert message == f"{tmp_path / 'x.toml'}: is a directory, expected a TOML file"


def test_a_model_that_explodes_in_its_last_step_fails_with_advice(data, tmp_path):
    last = ("--set", "train.epochs=1", "--set", "train.batch=100")
    answer = run("train", *TINY, *DIVERGING, *last, "--data", data, "--run", tmp_path / "run")
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith("primal train: the loss ")


def test_a_set_without_preset_gets_the_default_one(data, tmp_path):
    changes = ("--set", "model.width=16", "--set", "model.heads=2", "--set", "train.epochs=1", "--threads", "1")
    done(run("train", "uea/Tiny", *changes, "--data", data, "--run", tmp_path / "run"))
    config = (tmp_path / "run" / "config.toml").read_text()
    assert 'set = "Tiny"' in config
    assert 'preset = "uea/Tiny"' in config
    assert 'pooling = "mean"' in config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("schedule.warmup=-5", "schedule.warmup: expected at least 0 steps, got -5 steps"),
        ("schedule.warmup_steps=-5", "schedule.warmup: expected at least 0 steps, got -5 steps"),
        (
            "train.patience=1000000000000000000",
            "train.patience: expected at most 1000000000 epochs, got 1000000000000000000 epochs",
        ),
    ],
)
def test_stretches_that_nobody_means_are_refused(data, tmp_path, change, message):
    folder = tmp_path / "run"
    assert the_error(run("train", *TINY, "--set", change, "--data", data, "--run", folder), "train") == message
    assert not folder.exists()
