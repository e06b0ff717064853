"""What cannot be trained on logged episodes, and what is said then."""

import shutil
import signal
from pathlib import Path

import pytest
from offline_rl_files import TINY_AGENT, make_hopper, needs_robots, set_file, write_walk, write_walk_with_nan
from series_files import run, settings, start, the_error, wait_until

PRESET = "offline-rl/hopper-medium"


@pytest.fixture(scope="module", autouse=True)
def _robots(tmp_path_factory):
    needs_robots(tmp_path_factory.mktemp("robots"))


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    return make_hopper(tmp_path_factory.mktemp("sets"))


def refused(*arguments, cwd):
    """The message of a training that must not begin."""
    folder = cwd / "refused"
    message = the_error(run("train", *arguments, "--run", folder, cwd=cwd), "train")
    assert not folder.exists()
    return message


def test_files_that_cannot_be_used(sets, tmp_path):
    whole = set_file(sets).read_bytes()
    (tmp_path / "cut.hdf5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.hdf5").write_text("no episodes\n")
    (tmp_path / "empty.hdf5").write_bytes(b"")
    write_walk_with_nan(tmp_path / "nan.hdf5")
    for name, said in (
        ("cut", "cut off"),
        ("text", "not an HDF5 file"),
        ("empty", "empty.hdf5: "),
        ("nan", "episode_2/observations, row 0, column 1: expected a finite number of 32 bits, got nan"),
        ("missing", "No such file"),
    ):
        message = refused(PRESET, *TINY_AGENT, "--train", f"{name}.hdf5", "--set", "data.robot=none", cwd=tmp_path)
        assert message.startswith(f"{tmp_path / name}.hdf5: ")
        assert said in message


def test_files_of_another_robot_are_refused(sets, tmp_path):
    file = Path(shutil.copyfile(set_file(sets), tmp_path / "mine.hdf5"))
    message = refused(PRESET, *TINY_AGENT, "--train", file, "--set", "data.robot=walker2d", cwd=tmp_path)
    assert message == f"{file}: states of 11 numbers, expected 17 for Walker2d"
    walk = write_walk(tmp_path / "walk.hdf5")
    message = refused(PRESET, *TINY_AGENT, "--train", walk, cwd=tmp_path)
    assert message == f"{walk}: does not say which robot it is of; set data.robot to one, or to none"


def test_a_set_of_d4rl_is_looked_for_and_not_made(tmp_path):
    message = refused("offline-rl/hopper-medium-v2", "--data", tmp_path, cwd=tmp_path)
    assert "expected DIR/d4rl/hopper_medium-v2.hdf5, got none for DIR = " in message
    assert str(tmp_path) in message
    assert not (tmp_path / "data").exists()


def test_sets_that_there_are_not_are_listed(tmp_path):
    message = refused(PRESET, "--set", "data.set=hopper", cwd=tmp_path)
    assert message.startswith("data.set: expected one of halfcheetah-random, ")
    assert message.endswith('got "hopper"')


def test_a_run_is_not_resumed_with_other_episodes(sets, tmp_path):
    folder = tmp_path / "run"
    longer = settings("train.length=500 steps", "train.checkpoint_steps=1")
    process = start("train", PRESET, *TINY_AGENT, *longer, "--data", sets, "--run", folder, "--no-report")
    wait_until(process, (folder / "checkpoints" / "step-2").exists)
    process.send_signal(signal.SIGINT)
    process.communicate()
    other = make_hopper(tmp_path / "other", seed=2)
    message = the_error(run("train", "--resume", folder, "--data", other), "train")
    assert "changed" in message


def test_kinds_that_cannot_be_causal_say_so(sets, tmp_path):
    arguments = (*TINY_AGENT, "--set", "model.layers=nystrom,primal", "--data", sets)
    message = refused(PRESET, *arguments, cwd=tmp_path)
    assert "nystrom" in message
    assert "causal" in message


def test_kinds_that_end_before_an_episode_does_say_so(sets, tmp_path):
    arguments = (*TINY_AGENT, *settings("model.layers=cosformer,primal", "eval.context=episode"), "--data", sets)
    message = refused(PRESET, *arguments, cwd=tmp_path)
    assert message.startswith("eval.context: expected window, as one of model.layers goes on for 12 tokens and an ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "run.refit=true"), "run.refit: this family of tasks has no refit"),
        (
            ("--set", "data.robot=hopper"),
            "data.robot: hopper given without data.train; a set says which robot it is of",
        ),
        (
            settings("model.agent=behaviour_cloning", "eval.context=episode"),
            "eval.context: behaviour_cloning knows no context but window",
        ),
        (("--set", "model.steps=1001"), "model.steps: expected at most 1000, got 1001"),
        (("--set", "data.best_share=0"), "data.best_share: expected more than 0, got 0"),
    ],
)
def test_what_makes_no_sense_is_refused_before_training(arguments, said, sets, tmp_path):
    assert refused(PRESET, *arguments, "--data", sets, cwd=tmp_path) == said
