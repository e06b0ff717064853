"""primal play: an agent plays episodes, and a page shows them."""

import json
import shutil

import pytest
from offline_rl_files import make_hopper, needs_robots, train_hopper
from series_files import TINY, done, make_set, run, settings, the_error


@pytest.fixture(scope="module", autouse=True)
def _robots(tmp_path_factory):
    needs_robots(tmp_path_factory.mktemp("robots"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The run of an agent that has learnt next to nothing."""
    return train_hopper(tmp_path_factory.mktemp("trained") / "run", make_hopper(tmp_path_factory.mktemp("sets")))


def test_play_writes_a_page(trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "run")
    table = done(run("play", folder, "--episodes", 2))
    assert table.splitlines()[0].split() == ["asked", "for", "return", "+-", "score", "steps"]
    assert len(table.splitlines()) == 1 + 2 + 1
    assert table.endswith(f"page {folder / 'play.html'}\n")
    page = (folder / "play.html").read_text()
    assert "Hopper" in page
    assert "Primal.+DT" in page
    assert page.startswith("<!DOCTYPE html>") or page.startswith("<!doctype html>")


def test_play_asks_for_what_it_is_told(trained, tmp_path):
    arguments = ("play", trained, "--target", 600, "--target", 40, "--episodes", 2, "--json")
    told = json.loads(done(run(*arguments, "--output", tmp_path / "a.html")))
    assert (tmp_path / "a.html").exists()
    assert [target["target"] for target in told["targets"]] == [600, 40]
    assert all(len(target["returns"]) == len(target["steps"]) == 2 for target in told["targets"])
    assert (told["robot"], told["normalisation"]) == ("Hopper", "this set")
    again = json.loads(done(run(*arguments, "--output", tmp_path / "b.html")))
    assert again == told
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    other = json.loads(done(run(*arguments, "--seed", 2, "--output", tmp_path / "c.html")))
    assert other["targets"] != told["targets"]


def test_play_says_at_once_what_cannot_be(trained, tmp_path):
    message = the_error(run("play", trained, "--target", "nan", "--output", tmp_path / "page.html"), "play")
    assert message == "--target: expected a return within 1e+09 of 0, got nan"
    message = the_error(run("play", trained, "--output", tmp_path / "none" / "page.html"), "play")
    assert message == f"--output {tmp_path}/none/page.html: no folder {tmp_path}/none"


def test_play_may_remember_whole_episodes(trained, tmp_path):
    arguments = ("play", trained, "--episodes", 1, "--json", "--output", tmp_path / "page.html")
    window, episode = (json.loads(done(run(*arguments, *extra))) for extra in ((), settings("eval.context=episode")))
    assert window["targets"] != episode["targets"]


def test_a_run_of_another_family_cannot_be_played(tmp_path):
    data = make_set(tmp_path / "data")
    done(run("train", *TINY, "--set", "train.epochs=1", "--data", data, "--run", tmp_path / "run", "--no-report"))
    message = the_error(run("play", tmp_path / "run"), "play")
    assert message.endswith("is a run of the family time_series, expected offline_rl: nothing else can be played")
    assert not (tmp_path / "run" / "play.html").exists()


def test_what_is_no_run_cannot_be_played(tmp_path):
    assert "no run here" in the_error(run("play", tmp_path), "play")
