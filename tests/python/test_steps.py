"""Runs counted in steps: their ends, records, evaluations and patience; endless passes; resume; old names of keys."""

import json
import shutil
import signal

import pytest
from series_files import (
    LEARNING,
    TINY,
    assert_same_run,
    done,
    metrics,
    records,
    result,
    run,
    settings,
    start,
    tensor_bytes,
    the_error,
    wait_until,
)

# 48 series are left to train on: passes of 6 steps.
STEPS = (*TINY, *LEARNING, *settings("train.batch=8", "train.length=14 steps"))


def train(data, folder, *assignments, preset=STEPS):
    return done(run("train", *preset, *settings(*assignments), "--data", data, "--run", folder))


def steps_of(folder, kind):
    return [record["step"] for record in records(folder, kind)]


def saved(folder, step):
    return json.loads((folder / "checkpoints" / f"step-{step}" / "state.json").read_text())


def test_a_run_ends_after_its_steps(data, tmp_path):
    folder = tmp_path / "run"
    output = train(data, folder, "train.length=7 steps", "train.evaluate=3 steps")
    facts = result(folder)
    assert (facts["steps"], facts["epochs"]) == (7, pytest.approx(7 / 6))
    assert facts["best_epoch"] == pytest.approx(facts["best_step"] / 6)
    assert f"step {facts['best_step']} of 7 by validation accuracy" in output
    assert steps_of(folder, "evaluation") == [3, 6, 7]
    assert [record["epoch"] for record in records(folder, "evaluation")] == [0.5, 1, pytest.approx(7 / 6)]
    assert saved(folder, 7)["step"] == 7
    assert not (folder / "checkpoints" / "step-8").exists()


def test_a_length_of_whole_passes_is_the_same_run_in_steps_or_epochs(data, tmp_path):
    for length in ("12 steps", "2 epochs", "2"):
        train(data, tmp_path / length, f"train.length={length}")
    for other in ("2 epochs", "2"):
        assert metrics(tmp_path / other) == metrics(tmp_path / "12 steps")
        assert tensor_bytes(tmp_path / other) == tensor_bytes(tmp_path / "12 steps")
        assert result(tmp_path / other)["best_step"] == result(tmp_path / "12 steps")["best_step"]


def test_records_come_as_often_as_asked_and_change_nothing(data, tmp_path):
    train(data, tmp_path / "few")
    assert steps_of(tmp_path / "few", "train") == steps_of(tmp_path / "few", "evaluation") == [6, 12, 14]
    for record in ("4 steps", "4"):  # a number alone counts steps
        folder = tmp_path / record
        train(data, folder, f"train.record={record}")
        assert steps_of(folder, "train") == [4, 6, 8, 12, 14]
        assert records(folder, "evaluation") == records(tmp_path / "few", "evaluation")
        assert tensor_bytes(folder) == tensor_bytes(tmp_path / "few")
    # A record is the mean of the steps since the one before.
    first, second = records(folder, "train")[:2]
    whole = records(tmp_path / "few", "train")[0]
    for name in ("loss", "task_loss", "ksvd", "accuracy", "gradient_norm"):
        assert (4 * first[name] + 2 * second[name]) / 6 == pytest.approx(whole[name])


def test_patience_in_steps(data, tmp_path):
    still = ("optimizer.lr=0", "train.length=50 steps", "train.evaluate=2 steps", "train.patience=4 steps")
    output = train(data, tmp_path / "run", *still)
    assert steps_of(tmp_path / "run", "evaluation") == [2, 4, 6]
    assert (result(tmp_path / "run")["steps"], result(tmp_path / "run")["best_step"]) == (6, 2)
    assert "step 2 of 6 by validation accuracy" in output


def test_the_batches_of_endless_passes_are_full(data, tmp_path):
    counted = ("train.length=5 steps", "train.evaluate=5 steps", "train.batch=20")
    counted += ("train.checkpoint_steps=1", "train.checkpoints_kept=9")
    for passes in ("whole", "endless"):
        train(data, tmp_path / passes, *counted, f"train.passes={passes}")
    # Of 48 series; the sums begin anew after the record at the end of a whole pass.
    assert [saved(tmp_path / "whole", step)["sums"]["weight"] for step in (1, 2, 3, 4)] == [20, 40, 0, 20]
    assert [saved(tmp_path / "endless", step)["sums"]["weight"] for step in (1, 2, 3, 4)] == [20, 40, 60, 80]
    assert [saved(tmp_path / "endless", step)["tokens"] for step in (1, 4)] == [20 * 12, 80 * 12]
    assert steps_of(tmp_path / "whole", "train") == [3, 5]
    assert [(r["step"], r["epoch"]) for r in records(tmp_path / "endless", "train")] == [(5, pytest.approx(100 / 48))]


def test_endless_passes_that_full_batches_fill_are_whole_ones(data, tmp_path):
    for passes in ("whole", "endless"):
        train(data, tmp_path / passes, f"train.passes={passes}")
    assert records(tmp_path / "endless", "evaluation") == records(tmp_path / "whole", "evaluation")
    assert tensor_bytes(tmp_path / "endless") == tensor_bytes(tmp_path / "whole")


def test_epochs_of_endless_passes_are_rounded_up_to_steps(data, tmp_path):
    train(data, tmp_path / "run", "train.passes=endless", "train.batch=20", "train.length=2 epochs")
    assert steps_of(tmp_path / "run", "evaluation") == [3, 5]
    assert result(tmp_path / "run")["epochs"] == pytest.approx(100 / 48)


@pytest.mark.parametrize(("passes", "batch"), [("whole", 8), ("endless", 20), ("endless", 50)])
def test_a_refit_makes_as_many_passes_over_all_of_train(data, tmp_path, passes, batch):
    folder = tmp_path / "run"
    train(data, folder, f"train.passes={passes}", f"train.batch={batch}", "train.keep=last", "run.refit=true")
    passes_made = records(folder / "refit", "train")[-1]["epoch"]
    assert passes_made == pytest.approx(result(folder)["best_epoch"], abs=batch / 60)  # but for a part of a step


# Dropout, accumulation, schedule and average have a state of their own; records and evaluations fall between them.
CAREFUL = (
    *(*TINY, *LEARNING),
    *settings("train.length=23 steps", "train.record=4 steps", "train.evaluate=5 steps", "train.accumulate=2"),
    *settings("train.average=0.9", "optimizer.name=adamw", "schedule.name=cosine", "schedule.warmup=3 steps"),
    *settings("train.checkpoint_steps=1", "train.checkpoints_kept=99"),
)
PASSES = {"whole": settings("train.batch=5"), "endless": settings("train.batch=7", "train.passes=endless")}


@pytest.fixture(scope="module", params=PASSES)
def whole(request, data, tmp_path_factory):
    """(command, a run that nothing interrupted)"""
    folder = tmp_path_factory.mktemp("whole") / "run"
    command = (*CAREFUL, *PASSES[request.param], "--data", data)
    done(run("train", *command, "--run", folder))
    return command, folder


def gone_back(folder, copy, step):
    """A copy of a run as it was killed some time after that checkpoint."""
    shutil.copytree(folder, copy)
    (copy / "result.json").unlink()
    for path in (copy / "checkpoints").iterdir():
        if int(path.name.removeprefix("step-")) > step:
            shutil.rmtree(path)
    return copy


@pytest.mark.parametrize("step", [1, 5, 6, 11, 22])
def test_a_run_in_steps_goes_on_bit_for_bit(data, whole, tmp_path, step):
    folder = gone_back(whole[1], tmp_path / "run", step)
    done(run("train", "--resume", folder, "--data", data))
    assert_same_run(folder, whole[1])


def test_an_interrupted_run_in_steps_goes_on_bit_for_bit(data, whole, tmp_path):
    command, other = whole
    folder = tmp_path / "run"
    process = start("train", *command, "--run", folder)
    wait_until(process, (folder / "checkpoints" / "step-3").exists)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert not (folder / "checkpoints" / "step-23").exists()
    assert not (folder / "report.html").exists()
    done(run("train", "--resume", folder, "--data", data))
    assert_same_run(folder, other)


def test_more_steps_may_be_asked_of_a_finished_run(data, tmp_path):
    train(data, tmp_path / "run", "train.length=7 steps")
    done(run("train", "--resume", tmp_path / "run", "--data", data, *settings("train.length=9 steps")))
    assert result(tmp_path / "run")["steps"] == 9
    assert steps_of(tmp_path / "run", "train") == [6, 7, 9]
    assert 'length = "9 steps"\n' in (tmp_path / "run" / "config.toml").read_text()


def test_best_weights_of_a_later_step_are_not_taken_for_those_of_the_chosen_one(data, tmp_path):
    train(data, tmp_path / "run", "train.checkpoint_steps=1", "train.checkpoints_kept=99")
    best = result(tmp_path / "run")["best_step"]
    assert best > 6
    folder = gone_back(tmp_path / "run", tmp_path / "back", 6)
    answer = run("train", "--resume", folder, "--data", data, *settings("train.length=6 steps"))
    assert answer.returncode == 2
    assert answer.stderr.splitlines()[-1] == (
        f"primal train: {folder / 'best'}: has the weights of step {best}, but step 6 was chosen; "
        f'resume with train.length="{best} steps" or more'
    )
    done(run("train", "--resume", folder, "--data", data, *settings(f"train.length={best} steps")))
    assert result(folder)["best_step"] == best


NEW = ("train.length=2 epochs", "train.evaluate=2 epochs", "train.patience=3 epochs", "schedule.warmup=3 steps")
OLD = ("train.epochs=2", "train.evaluate_every=2", "train.patience=3", "schedule.warmup_steps=3")
OLD_NAMES = ("epochs", "evaluate_every", "warmup_steps")


def as_toml(assignments):
    text = ""
    for assignment in assignments:
        key, value = assignment.split("=")
        text += f"{key} = {value}\n" if value.isdigit() else f'{key} = "{value}"\n'
    return text


def as_variables(assignments):
    return {f"PRIMAL_{key.upper().replace('.', '_')}": value for key, value in (a.split("=") for a in assignments)}


def test_old_names_of_keys_give_the_same_run(data, tmp_path):
    for name, assignments in (("new", NEW), ("old", OLD)):
        train(data, tmp_path / name, *assignments)
    assert (tmp_path / "old" / "config.toml").read_bytes() == (tmp_path / "new" / "config.toml").read_bytes()
    assert metrics(tmp_path / "old") == metrics(tmp_path / "new")
    assert tensor_bytes(tmp_path / "old") == tensor_bytes(tmp_path / "new")
    lines = (tmp_path / "new" / "config.toml").read_text().splitlines()
    assert {'length = "2 epochs"', 'evaluate = "2 epochs"', 'patience = "3 epochs"', 'warmup = "3 steps"'} <= set(lines)
    assert not [line for line in lines if line.split(" = ")[0] in OLD_NAMES]


def test_old_names_of_keys_are_read_from_files_and_the_environment(tmp_path):
    listing = done(run("train", "--keys", "uea/JapaneseVowels", *settings(*NEW)))
    assert 'train.length = "2 epochs"' in listing
    assert not [name for name in OLD_NAMES if f".{name} = " in listing]
    assert done(run("train", "--keys", "uea/JapaneseVowels", *settings(*OLD))) == listing
    for assignments in (NEW, OLD):
        assert done(run("train", "--keys", "uea/JapaneseVowels", **as_variables(assignments))) == listing
    (tmp_path / "base.toml").write_text(as_toml(OLD))
    (tmp_path / "same.toml").write_text(as_toml(NEW))
    (tmp_path / "own.toml").write_text('base = "base.toml"\ntrain.length = "2 epochs"\n')
    old, new, both = (done(run("train", "--keys", tmp_path / f"{name}.toml")) for name in ("base", "same", "own"))
    assert old.replace("base.toml", "same.toml") == new
    assert both.replace("own.toml", "same.toml") == new


def test_a_flag_outranks_the_old_name_of_its_key_elsewhere():
    shown = done(run("train", "--keys", *settings("train.length=5 steps"), PRIMAL_TRAIN_EPOCHS="7"))
    assert 'train.length = "5 steps"' in shown
    shown = done(run("train", "--keys", *settings("train.epochs=5"), PRIMAL_TRAIN_LENGTH="7 steps"))
    assert 'train.length = "5 epochs"' in shown


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("train.length=0 steps", "train.length: expected at least 1 step, got 0 steps"),
        ("train.length=-1", "train.length: expected at least 1 epoch, got -1 epochs"),
        ("train.evaluate=0", "train.evaluate: expected at least 1 epoch, got 0 epochs"),
        ("train.patience=-2 steps", "train.patience: expected at least 0 steps, got -2 steps"),
        ("train.record=2.5", 'expected a length such as "5000 steps" or "100 epochs", got "2.5"'),
        ("train.epochs=2 epochs", 'train.epochs: expected a whole number, got "2 epochs"'),
        ("train.passes=half", 'train.passes: expected one of whole, endless, got "half"'),
        ("schedule.annealing=steep", "schedule.annealing: expected one of "),
    ],
)
def test_a_length_that_is_none_is_one_line(data, tmp_path, assignment, message):
    answer = run("train", *STEPS, *settings(assignment), "--data", data, "--run", tmp_path / "run")
    assert message in the_error(answer, "train")
    assert not (tmp_path / "run").exists()
