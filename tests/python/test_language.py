"""Language models as users meet them: train, resume, eval, predict, and what cannot be."""

import csv
import json
import math
import re
import signal
from pathlib import Path

import pytest
from language_files import TINY_LANGUAGE, make_wikitext, write_text
from series_files import assert_same_run, done, metrics, records, result, run, settings, start, the_error, wait_until

PRESETS = sorted(
    path.stem for path in (Path(__file__).parents[2] / "configs" / "language").glob("*.toml") if path.stem[0] != "_"
)
LEARNING = settings("train.length=150 steps", "train.evaluate=50 steps", "optimizer.lr=1e-2", "model.width=32")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "grammar.txt")


@pytest.fixture(scope="module")
def wikitext(tmp_path_factory):
    return make_wikitext(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="module")
def trained(text, tmp_path_factory):
    """A run that has learnt the grammar, byte by byte."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    done(run("train", "language/bytes", *TINY_LANGUAGE, *LEARNING, "--train", text, "--run", folder, cwd=folder.parent))
    return folder


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_understood(preset):
    listing = done(run("train", f"language/{preset}", "--keys"))
    keys = dict(re.findall(r'^(\S+) = ("[^"]*"|\[.*?\]|\S+)', listing, re.MULTILINE))
    assert keys["run.family"] == '"language"'
    assert keys["run.protocol"] == ('"paper"' if preset.endswith("-paper") else '"honest"')
    assert int(keys["eval.context"]) < int(keys["data.block"])


def test_the_run_directory_holds_all_that_happened(trained):
    names = {path.name for path in trained.iterdir()}
    assert names >= {"config.toml", "metrics.jsonl", "log.txt", "result.json", "analysis.json", "data.json", "best"}
    facts = result(trained)
    assert (facts["family"], facts["model"], facts["steps"]) == ("language", "PrimalFormer", 150)
    assert [record["split"] for record in records(trained, "evaluation")] == ["validation"] * 3


def test_the_grammar_is_learnt(trained):
    test = result(trained)["test"]
    # Four choices of 5, 4 and 5 in 28 bytes or so: 0.24 bits per byte cannot be known.
    assert 0.2 < test["bits_per_byte"] < 1.6
    assert test["perplexity"] == pytest.approx(2 ** test["bits_per_byte"], rel=1e-6)
    assert test["loss"] == pytest.approx(math.log(test["perplexity"]), rel=1e-6)


def test_details_of_test_go_into_the_result(trained):
    test = result(trained)["test"]
    assert [place["from"] for place in test["by_place"]][:4] == [0, 1, 2, 4]
    assert len(test["samples"]) == 3
    assert all(sample["text"] for sample in test["samples"])
    mean = {key: sum(map(sum, (p["nll"] for p in test[key]))) for key in ("most_surprising", "least_surprising")}
    assert mean["most_surprising"] >= mean["least_surprising"]


def test_the_report_is_written(trained):
    assert "bits per byte" in (trained / "report.html").read_text()


def test_eval_repeats_the_score_of_the_run(trained):
    told = json.loads(done(run("eval", trained, "--json", cwd=trained.parent)))
    assert told["score"] == pytest.approx(result(trained)["test"]["bits_per_byte"], rel=1e-9)
    table = done(run("eval", trained, cwd=trained.parent))
    assert "bits per byte" in table
    assert "perplexity" in table


def test_eval_of_a_file(trained, tmp_path):
    other = write_text(tmp_path / "other.txt", 50, seed=5)
    told = json.loads(done(run("eval", trained, "--file", other, "--json", cwd=tmp_path)))
    assert told["score"] == pytest.approx(result(trained)["test"]["bits_per_byte"], rel=0.3)
    odd = tmp_path / "odd.txt"
    odd.write_text("QQZ#!~" * 40)
    assert json.loads(done(run("eval", trained, "--file", odd, "--json", cwd=tmp_path)))["score"] > 3


def test_predict_tells_how_surprising_every_token_is(trained, tmp_path):
    other = write_text(tmp_path / "other.txt", 20, seed=5)
    table = done(run("predict", trained, "--input", other, cwd=tmp_path))
    header, *rows = csv.reader(table.splitlines())
    assert header == ["token", "text", "surprise"]
    size = other.stat().st_size
    assert "".join(row[1] for row in rows) == other.read_text().replace("\n", "\\n")
    total = sum(float(row[2]) for row in rows)
    assert done(run("predict", trained, "--input", "-", cwd=tmp_path, text=other.read_text())) == table
    told = json.loads(done(run("eval", trained, "--file", other, "--json", cwd=tmp_path)))
    assert total / size / math.log(2) == pytest.approx(told["score"], rel=1e-3)


def test_analyze_shows_the_spectra_of_both_layers(trained):
    told = json.loads(done(run("analyze", trained, "--json", cwd=trained.parent)))
    assert [layer["index"] for layer in told[0]["layers"]] == [0, 1]


def test_other_scores_in_a_causal_layer_change_the_surprise(trained):
    ask = ("analyze", trained, "--part", "test", "--ksvd", "--intervene", "--null", "1")
    (told,) = json.loads(done(run(*ask, "--json", cwd=trained.parent)))
    changed = told["ksvd"]["changed"]
    evaluated = json.loads(done(run("eval", trained, "--json", cwd=trained.parent)))
    assert changed["own"]["score"] == pytest.approx(evaluated["score"], rel=1e-6)
    assert "TRAIN" in changed["shown"]  # the best pairs are of data that are not judged
    assert len(changed["layers"]) == len(told["ksvd"]["layers"]) == 2
    for layer in changed["layers"]:
        scores = [layer[key]["score"] for key in ("best_pairs", "random", "none")]
        assert all(score > 0 and score != changed["own"]["score"] for score in scores)
    assert "pairs of causal layers: of " in done(run(*ask, cwd=trained.parent))


def test_words_of_wikitext(wikitext, tmp_path):
    answer = run(
        *("train", "language/wikitext-2", *TINY_LANGUAGE, *settings("train.accumulate=1", "data.breaks=document")),
        *("--data", wikitext, "--run", tmp_path / "run"),
        cwd=tmp_path,
    )
    done(answer)
    facts = json.loads((tmp_path / "run" / "data.json").read_text())
    assert facts["coder"]["unit"] == "words"
    test = result(tmp_path / "run")["test"]
    assert test["perplexity"] > 1
    assert "bits_per_byte" in test
    assert "word_perplexity" in test
    told = json.loads(done(run("data", "info", "language/wikitext-2", "--data", wikitext, "--json")))
    assert told


def test_subwords_are_trained_on_the_way(wikitext, tmp_path):
    done(
        run(
            *("train", "language/wikitext-2", *TINY_LANGUAGE, *settings("data.unit=subwords", "data.subword_size=320")),
            *("--data", wikitext, "--run", tmp_path / "run", *settings("train.accumulate=1")),
            cwd=tmp_path,
        )
    )
    assert json.loads((tmp_path / "run" / "data.json").read_text())["coder"]["unit"] == "subwords"
    assert done(run("generate", tmp_path / "run", "--prompt", "the cat", "--tokens", "5", cwd=tmp_path))


def test_a_run_that_was_killed_goes_on_bit_for_bit(text, tmp_path):
    options = (*TINY_LANGUAGE, *settings("train.length=60 steps", "train.checkpoint_steps=1", "model.memory=decay"))
    arguments = ("train", "language/bytes", *options, "--train", text, "--no-report")
    done(run(*arguments, "--run", tmp_path / "whole", cwd=tmp_path))
    process = start(*arguments, "--run", tmp_path / "cut", cwd=tmp_path)
    wait_until(process, lambda: len(list((tmp_path / "cut" / "checkpoints").glob("step-*[0-9]"))) > 0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.communicate()
    done(run("train", "--resume", tmp_path / "cut", "--no-report", cwd=tmp_path))
    assert_same_run(tmp_path / "cut", tmp_path / "whole")


def test_another_seed_trains_another_model(text, tmp_path):
    for seed in (1, 2):
        arguments = (*TINY_LANGUAGE, "--train", text, "--run", tmp_path / str(seed), "--seed", seed, "--no-report")
        done(run("train", "language/bytes", *arguments, cwd=tmp_path))
    assert metrics(tmp_path / "1") != metrics(tmp_path / "2")


@pytest.mark.parametrize("layers", ["softmax,primal", "linear,flow", "performer,cosformer", "window,softmax"])
def test_causal_kinds_train_and_write(layers, text, tmp_path):
    options = (*TINY_LANGUAGE, *settings(f"model.layers={layers}", "model.convolution=3"))
    done(run("train", "language/bytes", *options, "--train", text, "--run", tmp_path / "run", cwd=tmp_path))
    assert done(run("generate", tmp_path / "run", "--prompt", "the ", "--tokens", "8", cwd=tmp_path))


def test_kinds_that_cannot_be_causal_say_so(text, tmp_path):
    arguments = (*TINY_LANGUAGE, "--train", text, "--run", tmp_path / "run", "--set", "model.layers=nystrom,primal")
    message = the_error(run("train", "language/bytes", *arguments, cwd=tmp_path), "train")
    assert "nystrom" in message
    assert "causal" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "empty"), (b"a", "tokens"), (None, "missing.txt")], ids=["empty", "short", "missing"]
)
def test_texts_that_cannot_be_used(content, said, tmp_path):
    path = tmp_path / "missing.txt"
    if content is not None:
        path.write_bytes(content)
    message = the_error(
        run("train", "language/bytes", "--train", path, "--run", tmp_path / "run", cwd=tmp_path), "train"
    )
    assert "missing.txt" in message
    assert said in message or "expected" in message
    assert not (tmp_path / "run").exists()


def test_invalid_utf8_is_no_word(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"good line\nbad \xff line\n" * 50)
    arguments = ("--train", path, "--run", tmp_path / "run", "--set", "data.unit=words")
    assert re.search(r"bad\.txt:2: ", the_error(run("train", "language/bytes", *arguments, cwd=tmp_path), "train"))


def test_a_missing_set_says_what_was_looked_for(tmp_path):
    message = the_error(run("train", "language/wikitext-103", "--data", tmp_path, cwd=tmp_path), "train")
    assert "wiki.train.tokens" in message or "wiki.{train,valid,test}.tokens" in message
    assert str(tmp_path) in message


def test_a_context_as_long_as_the_block_is_refused(text, tmp_path):
    arguments = (*TINY_LANGUAGE, "--train", text, "--set", "eval.context=32", "--run", tmp_path / "run")
    message = the_error(run("train", "language/bytes", *arguments, cwd=tmp_path), "train")
    assert message.endswith("eval.context: expected less than a block of 32 tokens, got 32")


def test_a_changed_test_text_is_not_evaluated(wikitext, tmp_path):
    options = (*TINY_LANGUAGE, *settings("train.accumulate=1"))
    sets = make_wikitext(tmp_path / "sets")
    done(run("train", "language/wikitext-2", *options, "--data", sets, "--run", tmp_path / "run", cwd=tmp_path))
    with (sets / "wikitext-2" / "wiki.test.tokens").open("a") as file:
        file.write(" the cat sees the dog . \n")
    message = the_error(run("eval", tmp_path / "run", "--data", sets, cwd=tmp_path), "eval")
    assert message.endswith("the texts of wikitext-2 have changed since this run began; restore them, or give a file")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--test", "mine.txt"), "data.test: given without data.train"),
        (("--set", "data.validation=mine.txt"), "data.validation: given without data.train"),
        (("--set", "run.refit=true"), "run.refit: this family of tasks has no refit"),
    ],
)
def test_what_makes_no_sense_is_refused_before_training(arguments, said, tmp_path):
    assert the_error(run("train", "language/wikitext-2", *arguments, cwd=tmp_path), "train") == said
