"""The Long Range Arena as users meet it: train, resume, eval, predict, analyze, and what cannot be."""

import csv
import json
import re
import shutil
import signal
from pathlib import Path

import pytest
from lra_files import TESTS, TINY_LRA, make_lra_sets, make_reviews, write_reviews
from series_files import (
    assert_same_run,
    done,
    metrics,
    records,
    result,
    run,
    score_line,
    settings,
    start,
    the_error,
    wait_until,
)

PRESETS = sorted(
    path.stem for path in (Path(__file__).parents[2] / "configs" / "lra").glob("*.toml") if path.stem[0] != "_"
)
# Long enough to tell good words from bad ones.
LEARNING = settings("model.width=16", "train.length=60 steps", "train.evaluate=20 steps", "optimizer.lr=2e-2")
REVIEWS = make_reviews(24, 1)  # those of TEST
KINDS = json.loads(done(run("info", "--json")))["attention_kinds"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_lra_sets(tmp_path_factory.mktemp("lra"))


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A run that has learnt the reviews."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    answer = run("train", "lra/text", *TINY_LRA, *LEARNING, "--data", data, "--run", folder)
    (folder / "output.txt").write_text(done(answer) + answer.stderr)
    return folder


@pytest.fixture(scope="module")
def answers(data, trained):
    """What is said of TEST."""
    return done(run("predict", trained, "--input", data / "imdb" / "imdb_test.tsv"))


def keys_of(*arguments):
    listing = done(run("train", *arguments, "--keys"))
    return dict(re.findall(r'^(\S+) = ("[^"]*"|\[.*?\]|\S+)', listing, re.MULTILINE))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_understood(preset):
    keys = keys_of(f"lra/{preset}")
    is_paper = preset.endswith("-paper")
    assert keys["run.family"] == '"lra"'
    assert keys["data.task"] == '"' + re.sub("-(plus|memory|paper|tuned)", "", preset) + '"'
    assert keys["run.protocol"] == ('"paper"' if is_paper else '"honest"')
    assert keys["model.padding"] == ('"ignore"' if is_paper else '"respect"')
    assert keys["model.pooling"] == ('"padded_mean"' if is_paper else '"mean"')
    assert ("softmax" in keys["model.layers"]) == ("-plus" in preset)


def test_there_is_a_preset_for_each_published_run():
    published = [
        f"{task}{plus}-paper"
        for task in ("listops", "text", "retrieval", "image", "pathfinder")
        for plus in ("", "-plus")
    ]
    assert set(published) <= set(PRESETS)
    assert {name.removesuffix("-paper") for name in published} <= set(PRESETS)


def test_the_run_directory_holds_all_that_happened(trained):
    names = {path.name for path in trained.iterdir()}
    assert names >= {"config.toml", "metrics.jsonl", "log.txt", "result.json", "analysis.json", "data.json", "best"}
    facts = result(trained)
    assert (facts["family"], facts["data"], facts["model"]) == ("lra", "lra/text", "PrimalFormer")
    assert (facts["steps"], facts["protocol"]) == (60, "honest")
    assert [(r["split"], r["step"]) for r in records(trained, "evaluation")] == [
        ("validation", step) for step in (20, 40, 60)
    ]
    assert json.loads((trained / "data.json").read_text())["classes"] == ["neg", "pos"]
    assert "lra/text: 54 training examples, 6 for validation, 24 for TEST" in (trained / "output.txt").read_text()


def test_the_reviews_are_learnt(trained):
    test = result(trained)["test"]
    assert test["accuracy"] >= 0.9
    assert sum(map(sum, test["confusion"])) == len(REVIEWS)


def test_the_report_is_written(trained):
    page = (trained / "report.html").read_text()
    assert "lra/text" in page
    assert "PrimalFormer" in page


def test_analyze_shows_the_spectra_of_both_layers(trained, data):
    text = done(run("analyze", trained, "--data", data))
    assert text.startswith(f"{trained}: PrimalFormer on lra/text TRAIN, ")
    told = json.loads(done(run("analyze", trained, "--data", data, "--part", "test", "--json")))
    assert [(layer["index"], layer["heads"]) for layer in told[0]["layers"]] == [(0, 2), (1, 2)]


def test_eval_repeats_the_score_of_the_run(trained, data):
    test = result(trained)["test"]
    output = done(run("eval", trained, "--data", data))
    assert output.startswith(f"PrimalFormer of {trained} on lra/text TEST, 24 examples\n")
    assert score_line("accuracy", f"{100 * test['accuracy']:.2f} %") in output
    told = json.loads(done(run("eval", trained, "--data", data, "--json")))
    assert told["score"] == test["accuracy"]
    assert told["evaluation"]["confusion"] == test["confusion"]
    assert told["evaluation"]["loss"] == pytest.approx(test["loss"])


def test_eval_of_a_file_needs_no_data_of_the_run(trained, data, tmp_path):
    told = json.loads(done(run("eval", trained, "--file", data / "imdb" / "imdb_test.tsv", "--json", cwd=tmp_path)))
    assert told["score"] == result(trained)["test"]["accuracy"]
    assert told["what"].endswith("imdb_test.tsv, 24 examples")


def table(text):
    """(number, class, probabilities) of each example."""
    header, *rows = csv.reader(text.splitlines())
    assert header == ["example", "predicted", "p(neg)", "p(pos)"]
    return [(int(number), predicted, list(map(float, shares))) for number, predicted, *shares in rows]


def assert_same_answers(text, other):
    """But for the last digit: examples go through the model in other batches."""
    for (number, predicted, shares), expected in zip(table(text), table(other), strict=True):
        assert (number, predicted) == expected[:2]
        assert shares == pytest.approx(expected[2], abs=3e-6)


def test_predictions_have_the_accuracy_of_the_run(trained, answers):
    rows = table(answers)
    assert [number for number, *_ in rows] == list(range(1, 25))
    for _, predicted, shares in rows:
        assert sum(shares) == pytest.approx(1, abs=2e-6)
        assert predicted == ("neg", "pos")[shares.index(max(shares))]
    hits = sum(row[1] == ("neg", "pos")[label] for row, (label, _) in zip(rows, REVIEWS, strict=True))
    assert hits / 24 == pytest.approx(result(trained)["test"]["accuracy"])


def test_texts_may_come_one_per_line_from_a_file_or_a_pipe(trained, answers, tmp_path):
    lines = "".join(text + "\n" for _, text in REVIEWS)
    (tmp_path / "reviews.txt").write_text(lines)
    assert_same_answers(done(run("predict", trained, "--input", tmp_path / "reviews.txt")), answers)
    assert_same_answers(done(run("predict", trained, "--input", "-", text=lines)), answers)
    done(run("predict", trained, "--input", tmp_path / "reviews.txt", "--batch", 5, "--output", tmp_path / "out.csv"))
    assert_same_answers((tmp_path / "out.csv").read_text(), answers)


def test_a_line_is_answered_before_the_next(trained):
    process = start("predict", trained, "--input", "-")
    lines = []
    for text, count in (("great fine good\n", 2), ("poor awful dull\n", 1)):
        process.stdin.write(text)
        process.stdin.flush()
        lines += [process.stdout.readline() for _ in range(count)]
    process.communicate()
    assert [line.split(",")[:2] for line in lines[1:]] == [["1", "pos"], ["2", "neg"]]


def test_labels_are_not_looked_at(trained, answers, tmp_path):
    file = write_reviews(tmp_path / "swapped.tsv", [(1 - label, text) for label, text in REVIEWS])
    assert done(run("predict", trained, "--input", file)) == answers


# Dropout, accumulation and the cycle of the momentum have a state of their own.
CAREFUL = (
    *("lra/text-plus", *TINY_LRA, *settings("train.batch=2", "train.accumulate=2", "train.checkpoint_steps=1")),
    *settings("train.length=24 steps", "train.evaluate=8 steps", "schedule.warmup=8 steps", "model.dropout=0.2"),
)


def test_an_interrupted_run_goes_on_bit_for_bit(data, tmp_path):
    whole, folder = tmp_path / "whole", tmp_path / "run"
    done(run("train", *CAREFUL, "--data", data, "--run", whole))
    process = start("train", *CAREFUL, "--data", data, "--run", folder)
    wait_until(process, (folder / "checkpoints" / "step-3").exists)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors.endswith(f"interrupted; go on with: primal train --resume {folder} --data {data}\n")
    assert not (folder / "result.json").exists()
    done(run("train", "--resume", folder, "--data", data))
    assert_same_run(folder, whole)


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_data_of_a_run_are_those_it_began_with(data, trained, part, tmp_path):
    folder, other = shutil.copytree(trained, tmp_path / "run"), shutil.copytree(data / "imdb", tmp_path / "other/imdb")
    write_reviews(other / f"imdb_{part}.tsv", make_reviews(30, 7))
    message = the_error(run("eval", folder, "--data", tmp_path / "other"), "eval")
    assert message.startswith(f"{folder / 'data.json'}: the data of lra/text have changed since this run began")
    longer = ("--resume", folder, "--set", "train.length=80 steps", "--data", tmp_path / "other")
    message = the_error(run("train", *longer), "train")
    which = {"train": "training", "test": "TEST"}[part]
    assert message.startswith(f"{folder / 'data.json'}: the {which} data of lra/text have changed since")


def test_more_steps_may_be_asked_of_a_finished_run(data, trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "run")
    done(run("train", "--resume", folder, "--set", "train.length=62 steps", "--data", data))
    assert result(folder)["steps"] == 62


def test_a_refit_trains_on_all_of_train(data, tmp_path):
    folder = tmp_path / "run"
    answer = run("train", "lra/text", *TINY_LRA, *settings("run.refit=true"), "--data", data, "--run", folder)
    assert "refitted on all of TRAIN" in done(answer)
    told = json.loads(done(run("eval", folder, "--data", data, "--json")))
    assert told["score"] == result(folder)["test"]["accuracy"]


def test_two_seeds_hold_other_texts_out(data, tmp_path):
    folder = tmp_path / "run"
    output = done(run("train", "lra/text", *TINY_LRA, "--seeds", "2", "--data", data, "--run", folder))
    assert "over 2 seeds, protocol honest" in output
    first, second = (json.loads((folder / f"seed-{i}" / "data.json").read_text()) for i in (1, 2))
    assert first == second
    assert metrics(folder / "seed-1") != metrics(folder / "seed-2")


def test_the_published_text_run_says_that_test_chooses(data, tmp_path):
    folder = tmp_path / "run"
    answer = run("train", "lra/text-paper", *TINY_LRA, "--data", data, "--run", folder)
    assert "protocol paper, seed 1, step " in done(answer)
    assert "by TEST itself" in answer.stdout
    assert "note: the published run has no validation part here: its weights are chosen by TEST\n" in answer.stderr
    assert {r["split"] for r in records(folder, "evaluation")} == {"test"}
    assert "60 training examples, 24 for TEST" in answer.stderr
    assert result(folder)["validation_accuracy"] is None


def test_the_published_listops_run_is_chosen_by_its_validation_part(data, tmp_path):
    folder = tmp_path / "run"
    answer = run("train", "lra/listops-paper", *TINY_LRA, "--data", data, "--run", folder)
    assert re.search(r"protocol paper, seed 1, step \d of 4 by validation accuracy", done(answer))
    assert {r["split"] for r in records(folder, "evaluation")} == {"validation"}
    assert result(folder)["test"]["accuracy"] >= 0
    assert "note:" not in answer.stderr


@pytest.mark.parametrize("protocol", ["", "-plus-paper"])
@pytest.mark.parametrize("task", ["listops", "retrieval", "image"])
def test_every_task_is_trained_evaluated_and_asked(task, protocol, data, tmp_path):
    folder = tmp_path / "run"
    small = settings("train.length=2 steps", "train.batch=4", "data.tokens=200")
    done(run("train", f"lra/{task}{protocol}", *TINY_LRA, *small, "--data", data, "--run", folder))
    facts = result(folder)
    assert facts["data"] == f"lra/{task}"
    told = json.loads(done(run("eval", folder, "--data", data, "--json")))
    assert told["score"] == facts["test"]["accuracy"]
    header, *rows = csv.reader(done(run("predict", folder, "--input", data / TESTS[task])).splitlines())
    classes = [name.removeprefix("p(").removesuffix(")") for name in header[2:]]
    assert classes == told["evaluation"]["classes"]
    counts = [[row[1] for row in rows].count(name) for name in classes]
    assert counts == [sum(row[i] for row in facts["test"]["confusion"]) for i in range(len(classes))]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "primal"])
def test_every_kind_of_attention_trains_beside_ours(kind, data, tmp_path):
    published = settings("model.masking=published", "data.padded_to=full", "data.tokens=64")
    for name, change in (("right", ()), ("published", published)):
        short = settings(f"model.layers={kind},primal", "train.length=2 steps")
        done(run("train", "lra/text", *TINY_LRA, *short, *change, "--data", data, "--run", tmp_path / name))
        assert result(tmp_path / name)["model"] == "Primal.+"


def test_a_kind_that_cannot_take_the_batches_says_so(data, tmp_path):
    change = settings("model.layers=nystrom,primal", "model.masking=published", "data.padded_to=batch")
    answer = run("train", "lra/text", *TINY_LRA, *change, "--data", data, "--run", tmp_path / "run")
    assert answer.returncode == 2
    message = answer.stderr.splitlines()[-1]
    assert message.startswith("primal train: nystrom_attention: the published masking needs a multiple of 64 tokens")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("data.task=texts", "data.task: expected one of listops, text, retrieval, retrieval-wikitext, image"),
        ("data.task=7", "data.task: "),
        ("model.vocabulary=256", "model.vocabulary: expected 0 or at least 257 for text, got 256"),
        ("data.validation=0", "data.validation: expected more than 0 with the honest protocol"),
        ("data.validation=0.01", "data.validation: expected a share that holds at least one of 60 training examples"),
        ("data.black=white", '--set: data.black: expected one of pixel, padding, got "white"'),
        ("data.padded_to=most", '--set: data.padded_to: expected one of batch, full, got "most"'),
        ("model.pooling=last", '--set: model.pooling: expected one of mean, padded_mean, got "last"'),
        ("loss.label_smoothing=1", "loss.label_smoothing: expected less than 1, got 1"),
        ("model.layers=primal,sofmax", "--set: model.layers: expected a list of primal, softmax, "),
        ("model.heads=3", "model.width: 8 is not divisible by 3 heads"),
        ("attention.nystrom_kernel=4", "attention.nystrom_kernel: expected an odd number or 0, got 4"),
        ("attention.window=3", "attention.window: expected an even number"),
        ("attention.linformer_rows=0", "attention.linformer_rows: "),
        ("data.train=x.tsv", "--set: unknown key data.train"),
    ],
)
def test_what_cannot_be_is_said_in_one_line_before_training(change, message, data, tmp_path):
    answer = run("train", "lra/text", *TINY_LRA, *settings(change), "--data", data, "--run", tmp_path / "run")
    assert the_error(answer, "train").startswith(message)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "good\n", ":1: expected 4 columns with tabs between them (label, rating, id, text), got 1"),
        ("a.txt", "good\n\nbad\n", ":2: column 1: expected a text, got nothing"),
        ("a.txt", "go\0d\n", ":1: expected text, got a zero byte"),
    ],
)
def test_inputs_that_cannot_be_read_are_named_with_their_line(name, content, message, trained, tmp_path):
    (tmp_path / name).write_text(content)
    assert the_error(run("predict", trained, "--input", tmp_path / name), "predict").startswith(
        f"{tmp_path / name}{message}"
    )


def test_only_texts_come_from_a_pipe(data, tmp_path):
    done(run("train", "lra/listops", *TINY_LRA, "--data", data, "--run", tmp_path / "run"))
    message = the_error(run("predict", tmp_path / "run", "--input", "-", text="[MAX 1 2 ]\t2\n"), "predict")
    assert message == "--input -: expected a file of lra/listops, got standard input"
