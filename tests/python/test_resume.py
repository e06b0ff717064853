"""Interrupted and killed runs: what --resume makes of them."""

import json
import random
import shutil
import signal
import time

import pytest
from series_files import (
    CAREFUL,
    TINY,
    assert_same_run,
    done,
    make_series,
    make_set,
    metrics,
    newest,
    records,
    result,
    run,
    start,
    steps,
    the_error,
    wait_until,
    write_ts,
)

pytest.importorskip("tensorboard")
from tensorboard_events import read_events


def interrupt(command, reached, number=signal.SIGINT):
    """Starts the program, sends the signal as soon as the file is there; what it wrote to the standard error."""
    process = start("train", *command)
    wait_until(process, reached.exists)
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    return errors


def text_of(file):
    return file.read_text() if file.exists() else ""


def test_an_interrupted_run_goes_on_bit_for_bit(data, whole, tmp_path):
    folder = tmp_path / "run"
    command, stopped_at = (*CAREFUL, "--data", data, "--run", folder), []
    # The second step of an epoch: many more follow before its end.
    for step, number in [(14, signal.SIGINT), (26, signal.SIGTERM), (50, signal.SIGINT)]:
        errors = interrupt(command, folder / "checkpoints" / f"step-{step}", number)
        assert errors.endswith(f"\ninterrupted; go on with: primal train --resume {folder} --data {data}\n")
        stopped_at.append(json.loads((newest(folder) / "state.json").read_text())["step"] % 12)
        command = ("--resume", folder, "--data", data)
    assert any(stopped_at), "never in the middle of an epoch"
    done(run("train", *command))
    assert_same_run(folder, whole)
    assert read_events(folder) == read_events(whole)


def test_killed_at_any_instant_a_run_goes_on_bit_for_bit(data, whole, tmp_path):
    draw = random.Random(5)
    folder = tmp_path / "run"
    command, kills = (*CAREFUL, "--data", data, "--run", folder), 0
    while kills < 20 and steps(folder)[-1:] < [60]:
        goal = max(steps(folder), default=0) + draw.randint(0, 2)
        process = start("train", *command)
        # The log gets its first lines of a process just before the training goes on.
        wait_until(process, lambda: text_of(folder / "log.txt").count("PrimalFormer") > kills)  # noqa: B023
        wait_until(process, lambda: max(steps(folder), default=0) >= goal)  # noqa: B023
        time.sleep(draw.uniform(0, 0.02))
        process.kill()
        process.communicate()
        kills += 1
        command = ("--resume", folder, "--data", data)
    assert kills > 10
    done(run("train", *command))
    assert_same_run(folder, whole)
    assert read_events(folder) == read_events(whole)


def test_tensorboard_sees_every_step_once_when_there_was_no_checkpoint(data, whole, tmp_path):
    folder = tmp_path / "run"
    process = start("train", *CAREFUL, "--set", "train.checkpoint_steps=0", "--data", data, "--run", folder)
    wait_until(process, lambda: text_of(folder / "metrics.jsonl").count("\n") > 4)
    process.kill()
    process.communicate()
    assert not (folder / "checkpoints").exists()
    done(run("train", "--resume", folder, "--data", data))
    assert metrics(folder) == metrics(whole)
    assert read_events(folder) == read_events(whole)


def test_a_refit_is_resumed_too(data, tmp_path):
    refit = (*CAREFUL, "--set", "train.epochs=1", "--set", "run.refit=true", "--data", data)
    done(run("train", *refit, "--run", tmp_path / "whole"))
    folder = tmp_path / "run"
    interrupt((*refit, "--run", folder), folder / "refit" / "checkpoints" / "step-2")
    assert not (folder / "result.json").exists()
    done(run("train", "--resume", folder, "--data", data))
    assert_same_run(folder, tmp_path / "whole")


def test_several_seeds_are_resumed_where_they_stood(data, tmp_path):
    seeds = (*CAREFUL, "--set", "train.epochs=1", "--seeds", "2", "--data", data)
    output = done(run("train", *seeds, "--run", tmp_path / "whole"))
    folder = tmp_path / "run"
    errors = interrupt((*seeds, "--run", folder), folder / "seed-2" / "checkpoints" / "step-3")
    assert errors.endswith(f"primal train --resume {folder} --data {data}\n")
    resumed = done(run("train", "--resume", folder, "--data", data))
    assert resumed == output.replace(str(tmp_path / "whole"), str(folder))
    for seed in ("seed-1", "seed-2"):
        assert_same_run(folder / seed, tmp_path / "whole" / seed)


def test_a_finished_run_only_tells_its_result_again(data, whole):
    # Its page is written again, as it was.
    files = [path for path in whole.rglob("*") if path.name not in {".lock", "report.html"}]
    before, page = {path: path.stat().st_mtime_ns for path in files}, (whole / "report.html").read_bytes()
    output = done(run("train", "--resume", whole, "--data", data))
    assert f"test accuracy {100 * result(whole)['test']['accuracy']:.1f} %" in output
    assert {path: path.stat().st_mtime_ns for path in files} == before
    assert {path for path in whole.rglob("*") if path.name not in {".lock", "report.html"}} == set(files)
    assert (whole / "report.html").read_bytes() == page
    before[whole / "report.html"] = (whole / "report.html").stat().st_mtime_ns
    done(run("train", "--resume", whole, "--data", data, "--no-report"))
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_run_killed_before_its_result_was_written_gets_it(data, whole, unfinished):
    (unfinished / "checkpoints" / "step-99.tmp").mkdir()  # passed over: not complete
    done(run("train", "--resume", unfinished, "--data", data))
    assert_same_run(unfinished, whole)


def test_more_epochs_may_be_asked_of_a_finished_run(data, whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    done(run("train", "--resume", folder, "--data", data, "--set", "train.epochs=7"))
    assert result(folder)["epochs"] == 7
    assert [r["epoch"] for r in records(folder, "train")] == list(range(1, 8))


def test_more_epochs_of_several_seeds_are_remembered(data, tmp_path):
    folder = tmp_path / "run"
    done(run("train", *TINY, "--set", "train.epochs=1", "--seeds", "2", "--data", data, "--run", folder))
    more = done(run("train", "--resume", folder, "--data", data, "--set", "train.epochs=2"))
    assert more.count("of 2 by") == 2
    assert done(run("train", "--resume", folder, "--data", data)) == more
    assert 'length = "2 epochs"\n' in (folder / "seed-1" / "config.toml").read_text()


@pytest.mark.parametrize("change", [("--set", "model.rank=3"), ("--protocol", "paper")])
def test_a_resumed_run_keeps_its_configuration(data, unfinished, change):
    message = the_error(run("train", "--resume", unfinished, "--data", data, *change), "train")
    assert message.endswith(
        "a resumed run keeps its configuration; only train.length (or train.epochs), train.patience, "
        "train.checkpoint_*, run.threads and the names of its files may change"
    )
    assert change[1].split("=")[-1] in message


def test_a_resume_that_does_not_find_its_data_leaves_the_run_as_it_is(whole, unfinished, tmp_path):
    shutil.rmtree(unfinished / "checkpoints")
    message = the_error(run("train", "--resume", unfinished, cwd=tmp_path), "train")
    assert message.startswith('data set "Tiny": expected')
    assert (unfinished / "config.toml").read_text() == (whole / "config.toml").read_text()


def test_there_must_be_a_run_to_resume(tmp_path):
    message = the_error(run("train", "--resume", tmp_path), "train")
    assert message == f"{tmp_path}: no run here (config.toml is missing)"
    assert list(tmp_path.iterdir()) == []


def test_two_processes_do_not_work_in_one_run(data, tmp_path):
    folder = tmp_path / "run"
    process = start("train", *CAREFUL, "--data", data, "--run", folder)
    wait_until(process, (folder / "log.txt").exists)
    message = the_error(run("train", "--resume", folder, "--data", data), "train")
    process.kill()
    process.communicate()
    assert message == f"{folder}: another process is working in this run"


def test_checkpoints_of_the_time_when_all_scores_were_accuracies_are_understood(data, whole, unfinished):
    file = newest(unfinished) / "state.json"
    state = json.loads(file.read_text())
    state["sums"]["correct"] = int(state["sums"].pop("score"))
    del state["checksums"]
    file.write_text(json.dumps(state))
    done(run("train", "--resume", unfinished, "--data", data))
    assert_same_run(unfinished, whole)


def test_a_run_without_checkpoints_says_that_it_starts_anew(data, whole, unfinished):
    shutil.rmtree(unfinished / "checkpoints")
    answer = run("train", "--resume", unfinished, "--data", data)
    done(answer)
    assert "note: there is no checkpoint to go on from; the run starts anew" in answer.stderr
    assert_same_run(unfinished, whole)


@pytest.mark.parametrize("finished", [False, True])
def test_a_run_does_not_go_on_with_other_series(finished, whole, unfinished, tmp_path):
    if finished:
        shutil.copy(whole / "result.json", unfinished)
    before = {path: path.read_bytes() for path in unfinished.rglob("*") if path.is_file()}
    more = ("--set", "train.epochs=7") if finished else ()
    answer = run("train", "--resume", unfinished, *more, "--data", make_set(tmp_path / "other", seed=7))
    message = the_error(answer, "train")
    assert message.startswith(
        f"{unfinished / 'data.json'}: the training data of Tiny have changed since this run began"
    )
    assert {path: path.read_bytes() for path in unfinished.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("protocol", ["honest", "paper"])
def test_test_belongs_to_the_run(protocol, finished, tmp_path):
    data, folder = make_set(tmp_path / "data"), tmp_path / "run"
    done(run("train", *TINY, "--protocol", protocol, "--set", "train.epochs=2", "--data", data, "--run", folder))
    if not finished:
        (folder / "result.json").unlink()
    write_ts(data / "Tiny_TEST.ts", make_series(30, 77))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    answer = run("train", "--resume", folder, "--set", "train.epochs=4", "--data", data)
    assert the_error(answer, "train").startswith(f"{folder / 'data.json'}: the TEST data of Tiny have changed since")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_run_that_was_not_finite_fails_again_in_the_same_way(data, tmp_path):
    folder = tmp_path / "run"
    diverging = ("--set", "optimizer.name=sgd", "--set", "optimizer.lr=1e30", "--set", "train.batch=100")
    command = (*TINY, *diverging, "--set", "train.checkpoint_steps=1", "--data", data)
    for answer in (run("train", *command, "--run", folder), run("train", "--resume", folder, "--data", data)):
        assert answer.returncode == 1
        assert answer.stderr.splitlines()[-1].startswith("primal train: the loss ")


def test_a_length_that_the_schedule_cannot_have_costs_a_finished_run_nothing(data, tmp_path):
    folder = tmp_path / "run"
    schedule = ("--set", "schedule.name=cosine", "--set", "schedule.warmup=5 steps")
    done(run("train", *TINY, *schedule, "--data", data, "--run", folder))
    before = {name: (folder / name).read_bytes() for name in ("result.json", "config.toml")}
    message = the_error(run("train", "--resume", folder, "--data", data, "--set", "train.length=4 steps"), "train")
    assert message == "schedule: warmup 5, expected fewer than the 4 steps of the run"
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_a_report_of_a_sweep_is_of_its_runs(data, tmp_path):
    folder = tmp_path / "sweep"
    done(
        run("sweep", *TINY[:1], *TINY[3:], "--vary", "model.rank=2,3", "--data", data, "--run", folder, "--threads", 1)
    )
    page = (tmp_path / "page.html").resolve()
    done(run("report", folder, "--output", page))
    assert "Comparison of 2 runs" in page.read_text()
