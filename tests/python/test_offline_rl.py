"""Robots from logged episodes, as users meet them: train, resume, eval, predict, and what cannot be."""

import csv
import json
import re
import shutil
import signal
from pathlib import Path

import pytest
from offline_rl_files import (
    TINY_AGENT,
    make_hopper,
    needs_robots,
    set_file,
    train_hopper,
    write_walk,
)
from series_files import (
    assert_same_run,
    done,
    metrics,
    records,
    result,
    run,
    settings,
    start,
    the_error,
    wait_until,
)

PRESETS = sorted(
    path.stem for path in (Path(__file__).parents[2] / "configs" / "offline-rl").glob("*.toml") if path.stem[0] != "_"
)
PRESET = "offline-rl/hopper-medium"


@pytest.fixture(scope="module", autouse=True)
def _robots(tmp_path_factory):
    needs_robots(tmp_path_factory.mktemp("robots"))


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    return make_hopper(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="module")
def trained(sets, tmp_path_factory):
    """The run of an agent that has learnt next to nothing."""
    return train_hopper(tmp_path_factory.mktemp("trained") / "run", sets)


@pytest.fixture(scope="module")
def cloned(sets, tmp_path_factory):
    """The same, of behaviour cloning."""
    folder = tmp_path_factory.mktemp("cloned") / "run"
    done(run("train", PRESET, *TINY_AGENT, "--set", "model.agent=behaviour_cloning", "--data", sets, "--run", folder))
    return folder


@pytest.fixture(scope="module")
def walker(tmp_path_factory):
    """A run on episodes of no robot."""
    folder = tmp_path_factory.mktemp("walker")
    file = write_walk(folder / "walk.hdf5")
    done(run("train", PRESET, *TINY_AGENT, "--train", file, "--set", "data.robot=none", "--run", folder / "run"))
    return folder / "run"


def evaluation(*arguments):
    return json.loads(done(run("eval", *arguments, "--json")))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_understood(preset):
    listing = done(run("train", f"offline-rl/{preset}", "--keys"))
    keys = dict(re.findall(r'^(\S+) = ("[^"]*"|\[.*?\]|\S+)', listing, re.MULTILINE))
    is_published = preset.endswith("-v2")
    assert keys["run.family"] == '"offline_rl"'
    assert keys["data.set"] == f'"{preset}"'
    assert keys["run.protocol"] == ('"paper"' if is_published else '"honest"')
    assert keys["eval.score"] == ('"best"' if is_published else '"first"')
    assert keys["train.keep"] == '"last"'
    assert keys["model.layers"] == '["softmax", "softmax", "primal"]'


def test_there_is_a_preset_for_each_published_run_and_each_set_of_ours():
    kinds = ("medium-expert", "medium", "medium-replay")
    for robot in ("halfcheetah", "hopper", "walker2d"):
        assert {f"{robot}-{kind}-v2" for kind in kinds} <= set(PRESETS)
        assert {f"{robot}-{kind}" for kind in (*kinds, "random", "expert")} <= set(PRESETS)


def test_the_run_directory_holds_all_that_happened(trained):
    names = {path.name for path in trained.iterdir()}
    assert names >= {"config.toml", "metrics.jsonl", "log.txt", "result.json", "data.json", "best", "report.html"}
    facts = result(trained)
    assert (facts["family"], facts["model"], facts["data"]) == ("offline_rl", "Primal.+DT", "hopper-medium")
    assert (facts["steps"], facts["kept_last"], facts["measure"]) == (4, True, "normalised_score")
    said = (trained / "output.txt").read_text()
    assert re.search(r"hopper-medium: \d+ episodes, \d+ steps, returns \d+ to \d+; asked for \d+ and \d+\n", said)
    assert re.search(r"test normalised score -?[\d.]+ \(Primal\.\+DT on hopper-medium, .* the last, ", said)


def test_evaluations_while_training_have_a_score_and_no_loss(trained):
    found = records(trained, "evaluation")
    assert [(record["split"], record["step"]) for record in found] == [("validation", 2), ("validation", 4)]
    for record in found:
        assert record["loss"] is None
        assert -5 < record["normalised_score"] < 100


def test_the_result_has_rollouts_by_target(trained):
    data = json.loads((trained / "data.json").read_text())
    test = result(trained)["test"]
    rollouts = test["rollouts"]
    assert rollouts["robot"] == "Hopper"
    assert rollouts["normalisation"] == "this set"
    assert rollouts["checkpoint"] == "last"
    assert [round(target["target"]) for target in rollouts["targets"]] == [round(target) for target in data["targets"]]
    for target in rollouts["targets"]:
        assert len(target["returns"]) == len(target["steps"]) == 3
        mean = sum(target["returns"]) / 3
        assert test[f"return_at_{target['target']:.0f}"] == pytest.approx(mean, abs=1e-3)
        worth = rollouts["expert_return"] - rollouts["random_return"]
        score = 100 * (mean - rollouts["random_return"]) / worth
        assert test[f"score_at_{target['target']:.0f}"] == pytest.approx(score, abs=1e-3)
    assert test["normalised_score"] == test[f"score_at_{data['targets'][0]:.0f}"]
    assert [animation["title"] for animation in rollouts["animations"]] == ["best", "median", "worst"]
    earned = [animation["earned"] for animation in rollouts["animations"]]
    assert earned == sorted(rollouts["targets"][0]["returns"], reverse=True)


def test_the_best_return_of_the_data_and_half_of_it_are_asked_for(trained):
    data = json.loads((trained / "data.json").read_text())
    assert data["targets"] == [max(data["data_returns"]), max(data["data_returns"]) / 2]


def test_eval_repeats_the_score_of_the_run(trained, sets):
    told = evaluation(trained)
    test = result(trained)["test"]
    assert told["score"] == pytest.approx(test["normalised_score"], rel=1e-9)
    assert told["evaluation"]["rollouts"] == test["rollouts"]
    assert evaluation(trained, "--data", sets)["score"] == told["score"]


def test_eval_plays_as_many_episodes_as_it_is_told(trained):
    told = evaluation(trained, "--episodes", 5)
    assert told["what"].endswith("hopper-medium: 5 episodes of each target, returns normalised by this set")
    five = told["evaluation"]["rollouts"]["targets"][0]["returns"]
    assert len(five) == 5
    three = result(trained)["test"]["rollouts"]["targets"][0]["returns"]
    assert five[:3] == pytest.approx(three, abs=0.1), "the same starts"


def test_eval_may_ask_for_other_returns_and_remember_whole_episodes(trained):
    window = evaluation(trained, *settings("eval.targets=700,30,5"))["evaluation"]
    assert [target["target"] for target in window["rollouts"]["targets"]] == [700, 30, 5]
    assert window["normalised_score"] == window["score_at_700"]
    best = evaluation(trained, *settings("eval.targets=700,30,5", "eval.score=best"))["evaluation"]
    assert best["normalised_score"] == max(best[f"score_at_{target}"] for target in (700, 30, 5))
    episode = evaluation(trained, *settings("eval.targets=700,30,5", "eval.context=episode"))["evaluation"]
    assert episode["return_at_700"] != window["return_at_700"]
    assert "normalised score" in done(run("eval", trained, "--set", "eval.context=episode", "--episodes", 1))


def test_eval_does_not_change_the_model(trained):
    for assignment in ("model.width=16", "train.seed=2", "data.return_scale=1"):
        message = the_error(run("eval", trained, "--set", assignment), "eval")
        assert message == f"--set {assignment}: of a trained model only eval.* may change"


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("eval.context=all", "eval.context"),
        ("eval.episodes=0", "eval.episodes"),
        ("eval.targets=much", "eval.targets"),
        ("eval.speed=3", "eval.speed"),
    ],
)
def test_eval_checks_what_it_is_told(trained, assignment, said):
    assert said in the_error(run("eval", trained, "--set", assignment), "eval")


def test_an_agent_of_a_robot_is_not_judged_by_a_file(trained, sets):
    message = the_error(run("eval", trained, "--file", set_file(sets)), "eval")
    assert "is judged by playing, not by a file" in message


def test_predict_writes_a_line_for_each_step(trained, sets, tmp_path):
    answer = done(run("predict", trained, "--input", set_file(sets)))
    header, *rows = csv.reader(answer.splitlines())
    assert header == ["episode", "step", "action_1", "action_2", "action_3"]
    told = json.loads(done(run("data", "info", PRESET, "--data", sets, "--json")))
    assert len(rows) == told["steps"]
    assert int(rows[-1][0]) == told["episodes"]
    for before, (episode, step, *actions) in zip([["0", ""], *rows], rows, strict=False):
        assert int(step) == (int(before[1]) + 1 if episode == before[0] else 0)
        assert all(-1 < float(action) < 1 for action in actions)
    done(run("predict", trained, "--input", set_file(sets), "--batch", 64, "--output", tmp_path / "actions.csv"))
    again = list(csv.reader((tmp_path / "actions.csv").read_text().splitlines()))[1:]
    for row, other in zip(rows, again, strict=True):
        assert list(map(float, row)) == pytest.approx(list(map(float, other)), abs=1e-5)


def test_behaviour_cloning_takes_no_target(cloned, tmp_path):
    test = result(cloned)["test"]
    assert result(cloned)["model"] == "BC"
    assert [target["target"] for target in test["rollouts"]["targets"]] == [None]
    assert test["normalised_score"] == test["score"]
    table = done(run("play", cloned, "--output", tmp_path / "page.html", "--episodes", 2))
    assert table.splitlines()[1].split()[0] == "-"
    message = the_error(run("eval", cloned, "--set", "eval.context=episode"), "eval")
    assert message == "eval.context: behaviour_cloning knows no context but window"


def test_the_best_episodes_alone(sets, tmp_path):
    options = settings("data.best_share=0.2", "model.agent=behaviour_cloning", "train.length=1 steps")
    answer = run("train", PRESET, *TINY_AGENT, *options, "--data", sets, "--run", tmp_path / "run", "--no-report")
    done(answer)
    told = json.loads(done(run("data", "info", PRESET, "--data", sets, "--json")))
    assert f"hopper-medium: {-(-told['episodes'] // 5)} episodes, " in answer.stderr
    assert result(tmp_path / "run")["model"] == "BC of the best"


def test_a_set_that_is_missing_is_made_first(tmp_path):
    # The whole of it: 100,000 steps, in seconds.
    answer = run("train", PRESET, *TINY_AGENT, "--run", "run", "--no-report", cwd=tmp_path)
    done(answer)
    assert "offline-rl/hopper-medium is not there: making it in data/offline-rl/hopper-medium\n" in answer.stderr
    assert set_file(tmp_path / "data").exists()
    listed = done(run("data", "list", cwd=tmp_path))
    assert re.search(r"^offline-rl/hopper-medium +data/offline-rl/hopper-medium/\S+\.hdf5$", listed, re.MULTILINE)


def test_recordings_are_the_same_for_the_same_seed(sets, tmp_path):
    again = make_hopper(tmp_path / "again")
    assert set_file(again).read_bytes() == set_file(sets).read_bytes()
    other = make_hopper(tmp_path / "other", seed=2)
    assert set_file(other).read_bytes() != set_file(sets).read_bytes()


def test_data_info_tells_of_a_set(sets):
    told = json.loads(done(run("data", "info", PRESET, "--data", sets, "--json")))
    assert (told["states"], told["actions"], told["unfinished"]) == (11, 3, 0)
    assert told["steps"] >= 2000
    assert told["returns"]["least"] <= told["returns"]["median"] <= told["returns"]["most"]
    assert told["lengths"]["mean"] == pytest.approx(told["steps"] / told["episodes"])
    assert (told["made"]["robot"], told["made"]["kind"]) == ("hopper", "medium")
    text = done(run("data", "info", PRESET, "--data", sets))
    assert text.startswith(f"{PRESET}\n{set_file(sets)}\n")
    assert re.search(rf"^  episodes +{told['episodes']}, {told['terminated']} of them ended by a fall$", text, re.M)
    assert json.loads(done(run("data", "info", set_file(sets), "--json"))) == told, "the same of a file"
    listed = json.loads(done(run("data", "list", "--data", sets, "--json")))
    assert {"name": PRESET, "family": "offline_rl", "place": str(set_file(sets))} in listed


def test_own_episodes_of_a_robot(sets, tmp_path):
    file = Path(shutil.copyfile(set_file(sets), tmp_path / "mine.hdf5"))
    arguments = (*TINY_AGENT, "--train", "mine.hdf5", "--no-report", "--run")
    done(run("train", PRESET, *arguments, "run", cwd=tmp_path))
    facts = json.loads((tmp_path / "run" / "data.json").read_text())
    assert (facts["name"], facts["robot"]) == ("mine", "hopper"), "the file says it"
    file.unlink()
    assert evaluation(tmp_path / "run")["score"] == result(tmp_path / "run")["test"]["normalised_score"]


def test_episodes_of_no_robot_are_judged_by_those_held_out(walker):
    facts = result(walker)
    assert facts["test"] is None
    assert facts["measure"] == "action_error"
    assert facts["metric"]["lower_is_better"]
    told = evaluation(walker)
    assert told["score"] == pytest.approx(facts["validation_action_error"], rel=1e-6)
    assert told["what"].endswith("on walk validation part, windows of 4 steps")
    assert records(walker, "evaluation")[-1]["loss"] == pytest.approx(told["score"], rel=1e-6)
    assert evaluation(walker, "--file", walker.parent / "walk.hdf5")["score"] != told["score"]
    rows = done(run("predict", walker, "--input", walker.parent / "walk.hdf5")).splitlines()
    assert rows[0] == "episode,step,action_1,action_2"
    assert len(rows) == 1 + 3 + 11
    assert "action error" in (walker / "report.html").read_text()


def test_what_has_no_robot_cannot_be_played(walker):
    assert the_error(run("play", walker), "play") == "walk: no robot that could be played"


# Dropout and accumulation have a state of their own.
CAREFUL = (
    *(PRESET, *TINY_AGENT, *settings("train.length=60 steps", "train.evaluate=20 steps", "train.checkpoint_steps=1")),
    *settings("train.batch=2", "train.accumulate=2", "model.dropout=0.2", "schedule.warmup=8 steps"),
)


def test_an_interrupted_run_goes_on_bit_for_bit(sets, tmp_path):
    command = (*CAREFUL, "--data", sets, "--no-report")
    whole, folder = tmp_path / "whole", tmp_path / "run"
    done(run("train", *command, "--run", whole))
    process = start("train", *command, "--run", folder)
    wait_until(process, (folder / "checkpoints" / "step-3").exists)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert f"interrupted; go on with: primal train --resume {folder}" in errors
    assert not (folder / "result.json").exists()
    done(run("train", "--resume", folder, "--data", sets, "--no-report"))
    assert_same_run(folder, whole)


def test_threads_have_no_say_in_what_is_played(trained):
    told = evaluation(trained, "--threads", 2)["evaluation"]["rollouts"]["targets"]
    for target, expected in zip(told, result(trained)["test"]["rollouts"]["targets"], strict=True):
        assert target["steps"] == expected["steps"]
        assert target["returns"] == pytest.approx(expected["returns"], rel=1e-3)


def test_another_seed_trains_another_agent(sets, trained, tmp_path):
    done(run("train", PRESET, *TINY_AGENT, "--data", sets, "--run", tmp_path / "run", "--seed", 2, "--no-report"))
    assert metrics(tmp_path / "run") != metrics(trained)


@pytest.mark.parametrize(
    ("layers", "context"),
    [("primal,linear,flow", "episode"), ("window,softmax,performer", "episode"), ("cosformer,primal", "window")],
)
def test_causal_kinds_train_and_act(layers, context, sets, tmp_path):
    options = settings(f"model.layers={layers}", "model.memory=decay", "model.convolution=3", f"eval.context={context}")
    arguments = (*TINY_AGENT, *options, "--data", sets, "--run", tmp_path / "run", "--no-report")
    done(run("train", PRESET, *arguments))
    assert len(result(tmp_path / "run")["test"]["rollouts"]["targets"]) == 2


def test_predict_refuses_files_of_other_sizes(trained, tmp_path):
    walk = write_walk(tmp_path / "walk.hdf5")
    message = the_error(run("predict", trained, "--input", walk), "predict")
    assert message == f"{walk}: states of 3 and actions of 2 numbers, expected 11 and 3 as in hopper-medium"
    assert "standard input" in the_error(run("predict", trained, "--input", "-", text=""), "predict")


def test_a_set_of_d4rl_has_its_targets_and_scores(sets, tmp_path):
    place = tmp_path / "d4rl" / "hopper_medium-v2.hdf5"
    place.parent.mkdir()
    shutil.copyfile(set_file(sets), place)
    arguments = (*TINY_AGENT, "--data", tmp_path, "--run", tmp_path / "run", "--no-report")
    done(run("train", "offline-rl/hopper-medium-v2", *arguments))
    facts, test = result(tmp_path / "run"), result(tmp_path / "run")["test"]
    assert (facts["protocol"], facts["kept_last"]) == ("paper", True)
    assert [target["target"] for target in test["rollouts"]["targets"]] == [3600, 1800]
    assert test["normalised_score"] == max(test["score_at_3600"], test["score_at_1800"])


def test_a_damaged_data_json_is_named(trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "run")
    facts = json.loads((folder / "data.json").read_text())
    for damage, said in (
        ({"mean": facts["mean"][:-1]}, 'field "mean": expected 11 numbers, got 10'),
        ({"robot": "ant"}, 'there is no robot "ant"'),
        ({"normalisation": 3}, "normalisation"),
    ):
        (folder / "data.json").write_text(json.dumps(facts | damage))
        message = the_error(run("eval", folder), "eval")
        assert message.startswith(str(folder / "data.json"))
        assert said in message


def test_numbers_of_an_evaluation_stand_below_each_other(trained, sets):
    _, *lines = done(run("eval", trained, "--data", sets)).splitlines()
    assert len(lines) == 7
    assert len({len(line) for line in lines}) == 1
    assert all(re.fullmatch(r"\S.*  -?[\d.]+( %)?", line) for line in lines)


def test_other_scores_in_a_layer_change_the_return(trained, sets):
    ask = ("analyze", trained, "--data", sets, "--part", "test", "--ksvd", "--intervene", "--null", "1", "--json")
    (told,) = json.loads(done(run(*ask)))
    changed = told["ksvd"]["changed"]
    evaluated = json.loads(done(run("eval", trained, "--data", sets, "--json")))
    assert changed["own"]["score"] == pytest.approx(evaluated["score"])
    (layer,) = changed["layers"]  # Primal.+: the last of three
    assert layer["name"] == "layer 3"
    for key in ("best_pairs", "random", "none"):
        assert layer[key]["score"] != changed["own"]["score"]
