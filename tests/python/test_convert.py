"""primal convert: primal layers in place of others, what they learn before training, and how it goes on."""

import json
import os
import re
import shutil
import signal

import pytest
from language_files import TINY_LANGUAGE, write_text
from lra_files import TINY_LRA, make_lra_sets
from safetensors.torch import load_file
from series_files import (
    LEARNING,
    TINY,
    done,
    make_series,
    metrics,
    records,
    result,
    run,
    settings,
    start,
    the_error,
    wait_until,
    write_ts,
)

QUICK = ("--threads", "1", "--steps", "40")
SOFTMAX = settings("model.layers=softmax,softmax")


@pytest.fixture(scope="module")
def transformer(data, tmp_path_factory):
    """A run with two softmax layers that has learnt the set."""
    folder = tmp_path_factory.mktemp("transformer") / "run"
    done(run("train", *TINY, *LEARNING, *SOFTMAX, "--data", data, "--run", folder))
    return folder


@pytest.fixture(scope="module")
def converted(transformer, data, tmp_path_factory):
    """(folder, what it wrote): both layers are converted, and all that is asked for is trained."""
    folder = tmp_path_factory.mktemp("converted") / "run"
    answer = run("convert", transformer, "--layers", "all", "--scratch", "--data", data, "--run", folder, *QUICK)
    done(answer)
    return folder, answer


@pytest.fixture(scope="module")
def untuned(transformer, data, tmp_path_factory):
    """The last layer is converted, and nothing trained."""
    folder = tmp_path_factory.mktemp("untuned") / "run"
    done(run("convert", transformer, "--no-tune", "--data", data, "--run", folder, *QUICK))
    return folder


def report_of(folder):
    return json.loads((folder / "convert.json").read_text())


def scores(folder):
    return {key: entry["score"] for key, entry in report_of(folder)["scores"].items()}


def layers_of(folder):
    return re.search(r"^layers = (.*)$", (folder / "config.toml").read_text(), re.MULTILINE).group(1)


def weights(folder):
    return load_file(folder / "model.safetensors")


def test_the_layers_learn_what_the_old_ones_did(converted):
    folder, _ = converted
    layers = report_of(folder)["layers"]
    assert [(layer["name"], layer["kind"]) for layer in layers] == [("layer 1", "softmax"), ("layer 2", "softmax")]
    for layer in layers:
        explained = layer["explained"]
        assert layer["held_out"]
        assert 0.1 < explained["closed_form"] <= explained["distilled"] < 1
    assert layers_of(folder) == '["primal", "primal"]'


def test_conversion_beats_random_weights(converted, untuned):
    """The loss is nearer to that of the old model; of thirty answers chance alone may turn some."""
    for folder in (converted[0], untuned):
        loss = {key: entry["loss"] for key, entry in report_of(folder)["scores"].items()}
        assert abs(loss["converted"] - loss["before"]) < abs(loss["fresh"] - loss["before"]) / 2
    last = report_of(untuned)["layers"][0]["explained"]
    assert last["closed_form"] > last["random"]


def test_the_scores_are_those_of_eval_and_of_the_runs(transformer, converted, data):
    folder, _ = converted
    told = scores(folder)
    evaluated = json.loads(done(run("eval", transformer, "--data", data, "--json")))
    assert told["before"] == evaluated["score"] == result(transformer)["test"]["accuracy"]
    for key, place in (("tuned", "."), ("scratch", "scratch"), ("scratch_full", "scratch-full")):
        facts = result(folder / place)
        assert told[key] == facts["test"]["accuracy"]
        assert report_of(folder)["scores"][key]["steps"] == facts["steps"]
    assert set(told) == {"before", "fresh", "converted", "tuned", "scratch", "scratch_full"}


def test_the_trainings_are_as_long_as_they_should_be(converted):
    folder, _ = converted
    steps = {key: entry.get("steps") for key, entry in report_of(folder)["scores"].items()}
    assert (steps["tuned"], steps["scratch"], steps["scratch_full"]) == (6, 6, 36)  # 2, 2 and 12 epochs


def test_training_begins_with_the_converted_weights(converted):
    folder, _ = converted
    first = records(folder, "evaluation")[0]
    assert (first["step"], first["split"]) == (0, "validation")
    assert records(folder / "scratch", "evaluation")[0]["step"] == 3
    assert first["accuracy"] <= result(folder)["validation_accuracy"]
    assert "starts from the weights of " + str(folder / "converted") in (folder / "log.txt").read_text()


def test_other_weights_are_those_of_the_run(transformer, untuned):
    old, new = weights(transformer / "best"), weights(untuned / "converted")
    kept = [name for name in new if ".layers.1.attention." not in name]
    assert set(kept) == {name for name in old if ".layers.1.attention." not in name}
    assert all(old[name].equal(new[name]) for name in kept)
    assert any(name.endswith("layers.1.attention.we") for name in new)


def test_without_training_the_new_run_is_evaluated_like_any_other(untuned, data):
    assert not (untuned / "result.json").exists()
    assert layers_of(untuned) == '["softmax", "primal"]'
    evaluated = json.loads(done(run("eval", untuned, "--data", data, "--json")))
    assert evaluated["score"] == scores(untuned)["converted"]
    assert "primal" in done(run("analyze", untuned, "--data", data)).lower()


def test_without_training_it_can_be_trained_later(transformer, untuned, data, tmp_path):
    folder = tmp_path / "run"
    command = ("convert", transformer, "--data", data, "--run", folder, *QUICK)
    done(run(*command, "--no-tune"))
    before = (folder / "converted" / "model.safetensors").read_bytes()
    assert before == (untuned / "converted" / "model.safetensors").read_bytes()
    done(run(*command))
    assert result(folder)["steps"] == 6
    assert (folder / "converted" / "model.safetensors").read_bytes() == before
    assert set(scores(folder)) == {"before", "fresh", "converted", "tuned", "scratch"}


def test_the_table_has_all_scores(converted):
    folder, answer = converted
    rows = ["before", "with fresh layers", "after conversion", "after training on", "from scratch, as long"]
    for title, key in zip(rows, ("before", "fresh", "converted", "tuned", "scratch"), strict=True):
        assert re.search(rf"^{title} +{100 * scores(folder)[key]:.1f} %", answer.stdout, re.MULTILINE), title
    assert "layer 2, step 40 of 40: explains " in answer.stderr
    assert answer.stdout.endswith(f"run directory {folder}\n")


def test_run_again_it_trains_nothing_and_says_the_same(transformer, converted, data):
    folder, first = converted
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    again = run("convert", transformer, "--layers", "1,2", "--scratch", "--data", data, "--run", folder, *QUICK)
    assert done(again) == first.stdout
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")} == before
    told = done(run("convert", transformer, "--layers", "all", "--json", "--data", data, "--run", folder, *QUICK))
    assert json.loads(told) == report_of(folder)


def test_interrupted_it_goes_on_where_it_stopped(transformer, data, tmp_path):
    folder = tmp_path / "run"
    command = ("convert", transformer, "--data", data, "--run", folder, "--length", "3000 epochs", *QUICK)
    process = start(*command)
    wait_until(process, lambda: len(list(folder.glob("metrics.jsonl"))) and len(metrics(folder)) > 3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert errors.endswith("interrupted; the same command goes on where it stopped\n")
    assert "tuned" not in scores(folder)
    begun = weights(folder / "converted")
    process = start(*command)
    lines = len(metrics(folder))
    wait_until(process, lambda: len(metrics(folder)) > lines + 3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert "after conversion" not in errors
    assert all(begun[name].equal(tensor) for name, tensor in weights(folder / "converted").items())


def test_options_of_the_new_layers_are_set(transformer, data, tmp_path):
    folder = tmp_path / "run"
    options = settings("model.rank=3,2", "model.rows_per_rank=2", "optimizer.lr=0.125")
    done(run("convert", transformer, *options, "--no-tune", "--data", data, "--run", folder, *QUICK))
    (layer,) = report_of(folder)["layers"]
    assert (layer["rank"], layer["rows"]) == (2, 4)
    assert "\nlr = 0.125\n" in (folder / "config.toml").read_text()


@pytest.mark.parametrize("kind", ["linear", "reformer", "nystrom", "linformer"])
def test_every_kind_is_converted(kind, data, tmp_path):
    done(run("train", *TINY, "--set", f"model.layers=primal,{kind}", "--data", data, "--run", tmp_path / "old"))
    done(run("convert", tmp_path / "old", "--layers", "all", "--no-tune", "--data", data, *QUICK))
    (layer,) = report_of(tmp_path / "old-converted")["layers"]
    assert (layer["name"], layer["kind"]) == ("layer 2", kind)
    assert layer["explained"]["distilled"] > 0


def test_a_refitted_run_is_refitted_again(data, tmp_path):
    done(run("train", *TINY, *SOFTMAX, "--set", "run.refit=true", "--data", data, "--run", tmp_path / "old"))
    answer = run("convert", tmp_path / "old", "--data", data, *QUICK)
    done(answer)
    assert "note: the run was refitted on all of TRAIN" in answer.stderr
    assert result(tmp_path / "old-converted")["refit"]
    assert (tmp_path / "old-converted" / "refit" / "config.toml").exists()


def test_a_refitted_run_keeps_its_length_where_the_longest_series_is_held_out(tmp_path):
    """The weights of a refit are made for the longest of all TRAIN series."""
    long = make_series(1, 0, lengths=(26, 26))
    write_ts(tmp_path / "Tiny_TRAIN.ts", make_series(60, 0) + long)
    write_ts(tmp_path / "Tiny_TEST.ts", make_series(30, 1000))
    for seed in ("1", "2", "3"):
        data, folder = tmp_path, tmp_path / f"old-{seed}"
        refit = ("--set", "run.refit=true", "--set", "data.validation=0.5", "--seed", seed)
        done(run("train", *TINY, *SOFTMAX, *refit, "--data", data, "--run", folder))
        done(run("convert", folder, "--data", data, *QUICK))


def test_the_name_of_the_run_may_end_in_a_slash(untuned, transformer, data):
    command = ("convert", f"{transformer}/", "--no-tune", "--data", data, "--run", untuned, *QUICK)
    assert done(run(*command)).startswith("Transformer of ")


def test_a_conversion_that_was_cut_off_while_it_was_written_begins_anew(transformer, data, tmp_path):
    folder = tmp_path / "run"
    command = ("convert", transformer, "--no-tune", "--data", data, "--run", folder, *QUICK)
    done(run(*command))
    whole = report_of(folder)
    cut = {**whole, "scores": {key: score for key, score in whole["scores"].items() if key != "converted"}}
    (folder / "convert.json").write_text(json.dumps(cut))
    shutil.rmtree(folder / "best")
    done(run(*command))
    assert scores(folder)["converted"] == whole["scores"]["converted"]["score"]


def test_a_schedule_that_cannot_shrink_is_told_before_the_work(transformer, data, tmp_path):
    warm = settings("schedule.name=cosine", "schedule.warmup=4 steps", "train.epochs=2")
    done(run("train", *TINY, *SOFTMAX, *warm, "--data", data, "--run", tmp_path / "warm"))
    answer = run("convert", tmp_path / "warm", "--length", "4 steps", "--data", data, *QUICK)
    message = (
        "--length 4 steps: the run's own length is 2 epochs, and its schedule shrinks with it: "
        "give the same unit, or --set schedule.warmup=..."
    )
    assert the_error(answer, "convert") == message
    done(run("convert", tmp_path / "warm", "--length", "1 epoch", "--data", data, *QUICK))


def test_causal_layers_of_a_language_model(tmp_path):
    text = write_text(tmp_path / "text.txt")
    learning = settings("model.layers=softmax,softmax", "train.length=60 steps", "optimizer.lr=1e-2")
    done(run("train", "language/bytes", *TINY_LANGUAGE, *learning, "--train", text, "--run", tmp_path / "old"))
    done(run("convert", tmp_path / "old", "--layers", "all", *QUICK, "--length", "4 steps"))
    told = report_of(tmp_path / "old-converted")
    assert told["metric"]["lower_is_better"]
    assert told["scores"]["converted"]["score"] < told["scores"]["fresh"]["score"]
    assert told["layers"][0]["rows"] == 0
    assert done(run("generate", tmp_path / "old-converted", "--prompt", "the ", "--tokens", "5"))


def test_two_towers_of_the_long_range_arena(tmp_path):
    sets = make_lra_sets(tmp_path / "sets")
    options = settings("model.layers=softmax,softmax")
    done(run("train", "lra/retrieval", *TINY_LRA, *options, "--data", sets, "--run", tmp_path / "old"))
    done(run("convert", tmp_path / "old", "--data", sets, *QUICK))
    assert result(tmp_path / "old-converted")["family"] == "lra"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layers", "3"], "--layers: expected last, all or numbers from 1 to 2, got 3"),
        (["--layers", "first"], "--layers: expected last, all or numbers from 1 to 2, got first"),
        (["--length", "0"], '--length: expected a length such as "10 epochs" or "500 steps", got "0"'),
        (
            ["--set", "train.seed=2"],
            "--set train.seed=2: a conversion keeps data, protocol and seed of the run; "
            "--layers, --length and --threads say the rest",
        ),
        (["--set", "model.ranks=2"], "--set: unknown key model.ranks; did you mean model.rank?"),
        (
            ["--set", "model.width=8"],
            "--set model.width=8: the layers that stay keep what they compute; of model.* only "
            "model.attention_dropout, model.data_dependent, model.dropout, model.feature_map, model.init, "
            "model.lambda, model.projections, model.rank, model.rows, model.rows_per_rank may change",
        ),
    ],
)
def test_what_cannot_be_is_refused(arguments, message, transformer, data, tmp_path):
    answer = run("convert", transformer, *arguments, "--data", data, "--run", tmp_path / "new", *QUICK)
    assert the_error(answer, "convert") == message
    assert not (tmp_path / "new").exists()


def test_primal_layers_are_not_converted(trained, data, tmp_path):
    answer = run("convert", trained, "--data", data, "--run", tmp_path / "new")
    assert the_error(answer, "convert") == f"{trained}: every layer is primal already"


def test_a_layer_that_is_primal_is_named(untuned, transformer, data, tmp_path):
    finished = shutil.copytree(untuned, tmp_path / "finished")
    shutil.copy(transformer / "result.json", finished)
    answer = run("convert", finished, "--data", data, "--run", tmp_path / "new")
    assert the_error(answer, "convert") == f"--layers last: layer 2 of {finished} is primal already"


def test_a_run_must_be_finished(unfinished, data, tmp_path):
    answer = run("convert", unfinished, "--data", data, "--run", tmp_path / "new")
    message = f"{unfinished}: the run is not finished; go on with it by primal train --resume {unfinished}"
    assert the_error(answer, "convert") == message


def test_a_folder_that_is_taken_is_refused(transformer, converted, data, tmp_path):
    command = ("convert", transformer, "--data", data, *QUICK)
    folder, _ = converted
    there = f"{folder}: there is another conversion already; give this one another --run"
    assert the_error(run(*command, "--run", folder), "convert") == there
    message = f"{transformer}: there is a run already; give the conversion another --run"
    assert the_error(run(*command, "--run", transformer), "convert") == message
    (tmp_path / "notes.txt").write_text("mine")
    told = the_error(run(*command, "--run", tmp_path), "convert")
    assert told == f"{tmp_path}: a new run needs a folder that is absent or empty, but there is notes.txt in this one"


def test_a_damaged_report_is_named(converted, transformer, data, tmp_path):
    folder = shutil.copytree(converted[0], tmp_path / "run")
    (folder / "convert.json").write_text("{")
    answer = run("convert", transformer, "--layers", "all", "--data", data, "--run", folder, *QUICK)
    assert the_error(answer, "convert").startswith(f"{folder / 'convert.json'}: ")


START = ("train", *TINY, *SOFTMAX)


@pytest.mark.parametrize("place", ["", "best", "best/model.safetensors"])
def test_a_run_starts_from_given_weights(place, transformer, data, tmp_path):
    given = settings(f"train.start_from={transformer / place}", "optimizer.lr=0", "run.refit=false")
    done(run(*START, *given, "--data", data, "--run", tmp_path / "run"))
    old, new = weights(transformer / "best"), weights(tmp_path / "run" / "best")
    assert all(old[name].equal(new[name]) for name in new)
    assert result(tmp_path / "run")["best_step"] == 0
    assert result(tmp_path / "run")["test"]["accuracy"] == result(transformer)["test"]["accuracy"]


def test_weights_to_start_from_may_have_a_relative_name(transformer, data, tmp_path):
    given = settings(f"train.start_from={os.path.relpath(transformer, tmp_path)}")
    done(run(*START, *given, "--data", data, "--run", tmp_path / "run", cwd=tmp_path))
    assert f'start_from = "{transformer}"' in (tmp_path / "run" / "config.toml").read_text()


def test_a_resumed_run_does_not_start_anew(transformer, data, tmp_path):
    old = shutil.copytree(transformer, tmp_path / "old")
    folder = tmp_path / "run"
    done(run(*START, *settings(f"train.start_from={old}"), "--data", data, "--run", folder))
    shutil.rmtree(old)
    done(run("train", "--resume", folder, "--set", "train.epochs=5", "--data", data))
    assert result(folder)["epochs"] == 5


@pytest.mark.parametrize(
    ("place", "options", "message"),
    [
        ("nothing", [], "expected a run, a checkpoint or a safetensors file, and there are no weights here"),
        ("", ["model.feed_forward=8"], "tensor .* is .* the model needs "),
        ("", ["model.layers=primal,primal"], "tensor .* is not part of this model"),
    ],
)
def test_weights_that_do_not_fit_are_refused(place, options, message, transformer, data, tmp_path):
    given = settings(f"train.start_from={transformer / place}", *options)
    answer = run(*START, *given, "--data", data, "--run", tmp_path / "run")
    told = the_error(answer, "train")
    assert told.startswith(f"train.start_from: {transformer / place}")
    assert re.search(message, told)
    assert not (tmp_path / "run").exists()
