"""The data of a run are those it began with: what is TEST, files that change, move or cannot be read twice."""

import json
import os
import random
import shutil

import pytest
from series_files import (
    TINY,
    Series,
    done,
    make_series,
    result,
    run,
    settings,
    start,
    the_error,
    wait_until,
    write_csv,
    write_ts,
)

OWN = ("series/default", *TINY[1:], *settings("train.epochs=3"))


def named(series, prefix="s"):
    return [Series(f"{prefix}{one.name}", one.label, one.values) for one in series]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A file, and a run on it whose TEST is a fifth of it."""
    folder = tmp_path_factory.mktemp("own")
    series = named(make_series(50, 3))
    done(run("train", *OWN, "--train", write_csv(folder / "mine.csv", series), "--run", folder / "run"))
    return folder, series


@pytest.fixture
def copy(own, tmp_path):
    """The same, to be changed: folder, and its series."""
    folder = shutil.copytree(own[0], tmp_path / "own")
    config = folder / "run" / "config.toml"
    config.write_text(config.read_text().replace(str(own[0]), str(folder)))
    return folder, list(own[1])


def evaluation(folder):
    answer = run("eval", folder / "run", "--json")
    return json.loads(done(answer)), answer.stderr


def test_the_series_of_test_are_written_down(own):
    facts = json.loads((own[0] / "run" / "data.json").read_text())
    assert len(facts["test_series"]) == 10
    assert set(facts["test_series"]) <= {one.name for one in own[1]}


def test_test_stays_the_same_when_the_file_grows(copy):
    folder, series = copy
    before, _ = evaluation(folder)
    assert before["notes"] == []
    more = named(make_series(9, 4, classes=("down", "more", "up")), "new")  # a class of its own, in the middle
    random.Random(0).shuffle(series)
    write_csv(folder / "mine.csv", series[:20] + more + series[20:])
    after, errors = evaluation(folder)
    note = f"{folder / 'mine.csv'} has changed since this run began: TEST is still the 10 series that the run held out"
    assert after["notes"] == [note]
    assert errors == f"primal eval: note: {note}\n"
    for result_ in (before, after):
        del result_["notes"]
    assert after == before


def test_test_that_has_changed_is_refused(copy):
    folder, series = copy
    facts = json.loads((folder / "run" / "data.json").read_text())
    mine, chosen = folder / "mine.csv", facts["test_series"][3]
    at = next(i for i, one in enumerate(series) if one.name == chosen)
    changed = f"{mine}: has changed since this run began, and "
    write_csv(mine, series[:at] + series[at + 1 :])
    message = the_error(run("eval", folder / "run"), "eval")
    assert message == changed + f'series "{chosen}" of TEST is gone; restore it, or give a file'
    other = Series(chosen, series[at].label, [[v + 1 if v else v for v in row] for row in series[at].values])
    write_csv(mine, [*series[:at], other, *series[at + 1 :]])
    assert (
        the_error(run("eval", folder / "run"), "eval") == changed + "so have series of TEST; restore it, or give a file"
    )
    del facts["test_series"]  # as older runs have it
    (folder / "run" / "data.json").write_text(json.dumps(facts))
    message = the_error(run("eval", folder / "run"), "eval")
    assert message == changed + "which of its series were TEST was not written down; restore it, or give a file"


def test_another_test_file_is_mentioned(own, tmp_path):
    test = write_csv(tmp_path / "test.csv", named(make_series(12, 5)))
    files = ("--train", own[0] / "mine.csv", "--test", test)
    done(run("train", *OWN, *files, "--run", tmp_path / "run"))
    write_csv(test, named(make_series(15, 6)))
    _, errors = evaluation(tmp_path)
    assert errors == f"primal eval: note: {test} has changed since this run began: this is another TEST\n"
    message = the_error(run("train", "--resume", tmp_path / "run", *settings("train.epochs=4")), "train")
    assert "the TEST data of mine have changed since this run began" in message


@pytest.mark.parametrize("refit", ["false", "true"])
def test_a_run_evaluates_what_it_read_at_the_start(refit, own, tmp_path):
    file = write_csv(tmp_path / "mine.csv", own[1])
    more = settings("train.epochs=40", f"run.refit={refit}")
    done(run("train", *OWN, *more, "--train", file, "--run", tmp_path / "undisturbed"))
    process = start("train", *OWN, *more, "--train", file, "--run", tmp_path / "run")
    wait_until(process, (tmp_path / "run" / "metrics.jsonl").exists)
    write_csv(file, named(make_series(30, 9)))
    process.communicate()
    assert process.returncode == 0
    assert result(tmp_path / "run")["test"] == result(tmp_path / "undisturbed")["test"]


def test_seeds_have_the_same_data(own, tmp_path):
    file = write_csv(tmp_path / "mine.csv", own[1])
    process = start(
        "train", *OWN, *settings("train.epochs=40"), "--train", file, "--seeds", 2, "--run", tmp_path / "run"
    )
    wait_until(process, (tmp_path / "run" / "seed-1" / "metrics.jsonl").exists)
    write_csv(file, own[1][:-1])
    _, errors = process.communicate()
    assert process.returncode == 2
    assert "the training data of mine have changed since this run began" in errors
    assert not (tmp_path / "run" / "seed-2").exists()


@pytest.mark.parametrize("key", ["train", "test"])
def test_what_can_be_read_only_once_is_refused_at_once(key, own, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    files = {"train": own[0] / "mine.csv", "test": own[0] / "mine.csv", key: pipe}
    flags = [word for name, file in files.items() for word in (f"--{name}", file)]
    message = the_error(run("train", *OWN, *flags, "--run", tmp_path / "run"), "train")
    assert message == f"data.{key}: {pipe} can be read only once, and the run needs it again: write it to a file first"
    assert not (tmp_path / "run").exists()


def test_standard_input_is_refused_at_once(own, tmp_path):
    with (own[0] / "mine.csv").open() as file:
        process = start("train", *OWN, "--train", "/dev/stdin", "--run", tmp_path / "run", stdin=file)
        _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.startswith("primal train: data.train: /dev/stdin can be read only once")


def test_a_name_that_config_toml_cannot_hold_is_refused_at_once(own, tmp_path):
    file = os.fsencode(tmp_path) + b"/\xff.csv"
    shutil.copy(own[0] / "mine.csv", file)
    answer = run("train", *OWN, "--train", os.fsdecode(file), "--run", tmp_path / "run")
    assert the_error(answer, "train").startswith("--set: data.train: expected UTF-8, which config.toml can hold, got ")


def test_labels_need_not_be_ascii(tmp_path):
    series = [Series(f"n\N{DEGREE SIGN}{one.name}", f"{one.label}é", one.values) for one in make_series(40, 3)]
    file = write_csv(tmp_path / "mine.csv", series)
    done(run("train", *OWN, "--train", file, "--run", tmp_path / "run"))
    evaluation(tmp_path)


def test_a_renamed_file_can_be_given_to_a_run_that_goes_on(copy):
    folder, series = copy
    other = (folder / "mine.csv").rename(folder / "other.csv")
    go_on = ("train", "--resume", folder / "run", "--train", "other.csv", *settings("train.epochs=4"))
    done(run(*go_on, cwd=folder))
    assert result(folder / "run")["epochs"] == 4
    evaluation(folder)
    done(run("train", "--resume", folder / "run", "--train", other.rename(folder / "third.csv")))  # finished
    evaluation(folder)
    config = (folder / "run" / "config.toml").read_text()
    fourth = write_csv(folder / "fourth.csv", series[1:])
    message = the_error(run("train", "--resume", folder / "run", "--train", fourth), "train")
    assert "the training data of fourth have changed since this run began" in message
    assert (folder / "run" / "config.toml").read_text() == config
    facts = json.loads((folder / "run" / "data.json").read_text())
    del facts["fingerprint"]
    (folder / "run" / "data.json").write_text(json.dumps(facts))
    message = the_error(run("train", "--resume", folder / "run", "--train", fourth), "train")
    assert message.endswith("has no fingerprint, so that other files cannot be told from those of the run")


def test_numbered_series_are_known_by_their_place(tmp_path):
    file = write_ts(tmp_path / "mine.ts", make_series(40, 3))
    done(run("train", *OWN, "--train", file, "--run", tmp_path / "run"))
    before, _ = evaluation(tmp_path)
    write_ts(file, make_series(40, 3) + make_series(6, 8))
    assert evaluation(tmp_path)[0]["score"] == before["score"]
    write_ts(file, make_series(6, 8) + make_series(40, 3))
    assert the_error(run("eval", tmp_path / "run"), "eval").endswith(
        "so have series of TEST; restore it, or give a file"
    )


def test_what_is_held_out_cannot_change_on_the_way(own, tmp_path):
    """Without TEST of its own the run had held out a share; with one it would train on it."""
    file, test = own[0] / "mine.csv", write_csv(tmp_path / "test.csv", named(make_series(12, 5)))
    folder = tmp_path / "run"
    done(run("train", *OWN, *settings("run.test=false"), "--train", file, "--run", folder))
    message = the_error(run("train", "--resume", folder, "--test", test, *settings("train.epochs=4")), "train")
    assert message == f"data.test: the run began without it, got {test}"


def test_a_folder_whose_name_config_toml_cannot_hold_is_refused_at_once(own, tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    os.mkdir(folder)
    shutil.copy(own[0] / "mine.csv", folder)
    answer = run("train", *OWN, "--train", "mine.csv", "--run", tmp_path / "run", cwd=folder)
    assert the_error(answer, "train").startswith(
        "data.train: expected a path in UTF-8, which config.toml can hold, got "
    )


def test_ids_that_are_not_utf8_are_refused(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_bytes(b"series,x,label\n\xe9,1,up\n")
    message = the_error(run("train", *OWN, "--train", file, "--run", tmp_path / "run"), "train")
    assert message.startswith(f"{file}:2: expected the id of a series in UTF-8, got ")


@pytest.mark.parametrize("change", ["seed = 1", "clip = 4.0"])
def test_numbers_that_an_earlier_version_took_are_taken_of_its_runs(change, copy):
    folder, _ = copy
    config = folder / "run" / "config.toml"
    before = config.read_text()
    key = change.split(" ")[0]
    lines = [f"{key} = -1" if line.startswith(f"{key} =") else line for line in before.splitlines()]
    config.write_text("\n".join(lines) + "\n")
    assert config.read_text() != before
    evaluation(folder)
    message = the_error(run("train", "--resume", folder / "run", *settings("train.checkpoint_steps=-1")), "train")
    assert message.startswith("train.checkpoint_steps: expected at least ")


def test_a_finished_run_that_gets_other_threads_needs_no_data(copy):
    folder, _ = copy
    (folder / "mine.csv").unlink()
    assert "test accuracy" in done(run("train", "--resume", folder / "run", "--threads", "2"))


def test_series_whose_remainders_count_are_the_same_for_runs_of_earlier_versions(tmp_path):
    series = [
        Series(one.name, one.label, [[v and v + 1e6 for v in row] for row in one.values]) for one in make_series(40, 3)
    ]
    file = write_csv(tmp_path / "mine.csv", series)
    done(run("train", *OWN, "--train", file, "--run", tmp_path / "run"))
    facts = json.loads((tmp_path / "run" / "data.json").read_text())
    assert facts["precise"]
    assert evaluation(tmp_path)[1] == ""
    paper = ("--protocol", "paper", "--run", tmp_path / "paper")  # nothing held out
    done(run("train", *OWN, "--train", file, *paper))
    # As those versions wrote it.
    for key in ("precise", "test_series", "test_fingerprint"):
        del facts[key]
    facts["fingerprint"] = facts["fingerprint"][:40]
    (tmp_path / "run" / "data.json").write_text(json.dumps(facts))
    assert evaluation(tmp_path)[1] == ""
    # What a float does not hold counts as well.
    shifted = [Series(one.name, one.label, [[v and v + 0.01 for v in row] for row in one.values]) for one in series]
    write_csv(file, shifted)
    done(run("train", *OWN, "--train", file, "--run", tmp_path / "other"))
    assert json.loads((tmp_path / "other" / "data.json").read_text())["fingerprint"][:40] != facts["fingerprint"]
