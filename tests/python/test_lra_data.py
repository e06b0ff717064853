"""Data of the Long Range Arena: primal data list, info and make, and sets that are missing."""

import filecmp
import json
import re
import shutil
import signal
from pathlib import Path

import pytest
from lra_files import TESTS, TINY_LRA, make_lra_sets, make_reviews
from series_files import done, run, settings, start, the_error

REVIEWS = make_reviews(24, 1)  # of the TEST of lra/text


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_lra_sets(tmp_path_factory.mktemp("lra"))


def test_data_are_listed(data, tmp_path):
    sets = json.loads(done(run("data", "list", "--data", data, "--json", cwd=tmp_path)))
    places = {one["name"]: one["place"] for one in sets if one["family"] == "lra"}
    assert places == {f"lra/{task}": str((data / file).parent) for task, file in TESTS.items()}


def test_info_tells_examples_lengths_and_classes(data, tmp_path):
    parts = json.loads(done(run("data", "info", "lra/text", "--data", data, "--json", cwd=tmp_path)))
    lengths = sorted(len(text) for _, text in REVIEWS)
    assert [part["part"] for part in parts] == ["TRAIN", "TEST"]
    assert parts[1] == {
        "part": "TEST",
        "examples": 24,
        "sequences": 1,
        "shortest": lengths[0],
        "longest": lengths[-1],
        "median_length": lengths[12],
        "mean_length": pytest.approx(sum(lengths) / 24),
        "classes": {"neg": 12, "pos": 12},
    }
    text = done(run("data", "info", "lra/retrieval", "--data", data, cwd=tmp_path))
    assert "validation\n  examples  10 pairs\n" in text
    message = the_error(run("data", "info", "lra/listops", cwd=tmp_path), "data")
    assert message.startswith("data of lra/listops: expected DIR/")
    assert "primal data make lra/listops makes it" in message


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A working directory in which lra/listops was trained with nothing there; and the answer. 660 MB."""
    folder = tmp_path_factory.mktemp("made")
    short = settings("data.tokens=40", "train.length=2 steps")
    answer = run("train", "lra/listops", *TINY_LRA, *short, "--run", "run", cwd=folder)
    yield folder, answer
    shutil.rmtree(folder)


def test_a_set_that_is_missing_is_made_by_training(made):
    folder, answer = made
    assert "96000 training examples, 2000 for validation, 2000 for TEST" in answer.stderr
    assert f"lra/listops is not there: making it in {Path('data/lra/listops')}\n" in answer.stderr
    assert "protocol honest" in done(answer)
    first = (folder / "data" / "lra" / "listops" / "basic_val.tsv").read_text().splitlines()[:2]
    assert first[0] == "Source\tTarget"
    assert re.fullmatch(r"[\[\]() 0-9A-Z]+\t\d", first[1])


def test_data_make_gives_the_same_files(made, tmp_path):
    folder, output = made[0] / "data" / "lra" / "listops", made[0] / "again"
    assert done(run("data", "make", "lra/listops", "--output", output)) == f"lra/listops in {output}\n"
    names = [f"basic_{part}.tsv" for part in ("train", "val", "test")]
    assert sorted(path.name for path in output.iterdir()) == sorted(names)
    assert filecmp.cmpfiles(folder, output, names, shallow=False) == (names, [], [])


def test_an_interrupted_making_leaves_nothing(tmp_path):
    for command in (
        ("data", "make", "lra/listops", "--output", tmp_path / "a" / "b"),
        ("train", "lra/listops", *TINY_LRA, "--run", tmp_path / "run"),
    ):
        process = start(*command, cwd=tmp_path)
        while "making lra/listops" not in (line := process.stderr.readline()):
            assert line, "ended"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 130
        assert "interrupted; nothing was made" in errors
        assert list(tmp_path.iterdir()) == []


def test_data_make_knows_what_it_can_make(tmp_path):
    assert "lra/listops" in done(run("data", "make", "--help"))
    for name in ((), ("lra/nothing",)):
        answer = run("data", "make", *name, cwd=tmp_path)
        assert answer.returncode == 2
        assert answer.stderr.count("\n") == 1
    message = run("data", "make", "lra/retrieval-wikitext", "--data", tmp_path, cwd=tmp_path)
    assert the_error(message, "data").startswith("lra/retrieval-wikitext: expected wiki.{train,valid,test}.tokens")
    assert list(tmp_path.iterdir()) == []


def test_missing_data_say_where_they_were_looked_for_and_how_to_get_them(tmp_path):
    answer = run("train", "lra/image", *TINY_LRA, "--data", tmp_path, "--run", tmp_path / "run", cwd=tmp_path)
    message = the_error(answer, "train")
    assert message.startswith("data of lra/image: expected DIR/")
    assert f"got none for DIR = {tmp_path}, data (not there)" in message
    assert "unpack the binary version of CIFAR-10" in message
    assert not (tmp_path / "run").exists()
