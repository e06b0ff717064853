"""primal sweep: every point once, a table, a page; interrupted, it goes on."""

import json
import os
import signal
import time

import pytest
from browser import needs_browser, open_page
from series_files import TINY, done, make_set, result, run, start, the_error, wait_until

PRESET, *SETTINGS = [word for word in TINY if word not in ("--threads", "1")]
FAST = (PRESET, *SETTINGS, "--set", "run.threads=1")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_set(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def grid(data, tmp_path_factory):
    """(command, folder, what it wrote): two ranks, two etas, two at a time."""
    folder = tmp_path_factory.mktemp("grid") / "sweep"
    vary = ("--vary", "model.rank=2,4", "--vary", "loss.eta=0,0.1", "--jobs", "2")
    command = ("sweep", *FAST, *vary, "--data", data, "--run", folder)
    answer = run(*command)
    done(answer)
    return command, folder, answer


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        (["model.rank=4,04"], "--vary: rank=4 and rank=04 are the same"),
        (
            ["model.rank=4", "model.rank=8"],
            "--vary model.rank=8: model.rank is varied twice; give all its values at once",
        ),
        (
            ["model.layers=primal,softmax"],
            "--vary model.layers=primal,softmax: a list cannot be varied; make one sweep per list",
        ),
    ],
)
def test_what_cannot_be_varied_is_refused(vary, message, data, tmp_path):
    options = [word for key in vary for word in ("--vary", key)]
    assert the_error(run("sweep", *FAST, *options, "--data", data, "--run", tmp_path / "s"), "sweep") == message
    assert not (tmp_path / "s").exists()


def test_two_sweeps_do_not_work_in_one_folder(data, tmp_path):
    command = ("sweep", *FAST, "--vary", "model.rank=2,3", "--set", "train.epochs=500", "--data", data)
    process = start(*command, "--run", tmp_path)
    wait_until(process, lambda: list(tmp_path.glob("*.log")))
    answer = run(*command, "--run", tmp_path)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert the_error(answer, "sweep") == f"{tmp_path}: another sweep is working here"


def test_a_failed_run_is_marked_so(data, tmp_path):
    vary = ("--set", "optimizer.name=sgd", "--vary", "optimizer.lr=0.001,1e30")
    answer = run("sweep", *FAST, *vary, "--data", data, "--run", tmp_path)
    assert answer.returncode == 1
    assert [line.endswith("  failed") for line in answer.stdout.splitlines()[1:3]] == [False, True]
    assert [cell["failed"] for cell in cells(tmp_path)] == [0, 1]


def test_own_files_and_seeds_of_a_sweep(data, tmp_path):
    own = ("--train", data / "Tiny_TRAIN.ts", "--test", data / "Tiny_TEST.ts", "--seed", "4", "--threads", "1")
    done(run("sweep", PRESET, *SETTINGS, *own, "--vary", "model.rank=2", "--run", tmp_path))
    assert results(tmp_path).keys() == {"rank=2/seed-4"}


def results(folder):
    return {str(path.parent.relative_to(folder)): path for path in sorted(folder.rglob("result.json"))}


def cells(folder):
    return json.loads((folder / "sweep.json").read_text())["cells"]


def test_every_point_of_the_grid_is_trained_with_its_values(grid):
    _, folder, answer = grid
    names = [f"rank={rank},eta={eta}" for rank in ("2", "4") for eta in ("0", "0.1")]
    assert results(folder).keys() == {f"{name}/seed-1" for name in names}
    for name in names:
        rank, eta = (part.split("=")[1] for part in name.split(","))
        config = (folder / name / "seed-1" / "config.toml").read_text()
        assert f"\nrank = {rank}\n" in config
        assert f"\neta = {float(eta)}\n" in config
        assert f"{name}  seed-1  validation accuracy " in answer.stderr
    assert answer.stderr.count("\n") == 4


def test_the_table_and_sweep_json_have_the_validation_accuracies(grid):
    _, folder, answer = grid
    for cell in cells(folder):
        name = f"rank={cell['values']['model.rank']},eta={cell['values']['loss.eta']}"
        assert cell["accuracy"] == result(folder / name / "seed-1")["validation_accuracy"]
        assert cell["finished"]
        assert f"{100 * cell['accuracy']:.1f}" in answer.stdout
    assert answer.stdout.endswith(f"report {folder / 'sweep.html'}\n")


def test_an_honest_sweep_never_evaluates_test(grid):
    _, folder, _ = grid
    assert [json.loads(path.read_text())["test"] for path in results(folder).values()] == [None] * 4


def test_a_sweep_leaves_out_the_refit(data, tmp_path):
    vary = ("--vary", "model.rank=2", "--set", "run.refit=true")
    done(run("sweep", *FAST, *vary, "--data", data, "--run", tmp_path / "sweep"))
    (path,) = results(tmp_path / "sweep").values()
    assert not json.loads(path.read_text())["refit"]
    assert not (path.parent / "refit").exists()


def test_run_again_it_trains_nothing_and_says_the_same(grid):
    command, folder, first = grid
    before = {path: path.stat().st_mtime_ns for path in results(folder).values()}
    again = run(*command)
    assert done(again) == first.stdout
    assert again.stderr == ""
    assert {path: path.stat().st_mtime_ns for path in results(folder).values()} == before


@needs_browser
def test_the_page_is_drawn(grid):
    _, folder, _ = grid
    page = open_page(folder / "sweep.html")
    assert page.problems() == []
    assert "model.rank" in page.text


def test_seeds_are_averaged(data, tmp_path):
    command = ("sweep", *FAST, "--vary", "model.rank=3", "--seeds", "2", "--data", data, "--run", tmp_path / "s")
    done(run(*command))
    accuracies = [result(tmp_path / "s" / "rank=3" / f"seed-{seed}")["validation_accuracy"] for seed in (1, 2)]
    (cell,) = cells(tmp_path / "s")
    assert cell["seeds"] == 2
    assert cell["accuracy"] == pytest.approx(sum(accuracies) / 2)
    assert cell["deviation"] == pytest.approx(abs(accuracies[0] - accuracies[1]) / 2**0.5)


def test_a_point_that_fails_is_named_with_its_log(data, tmp_path):
    vary = ("--set", "optimizer.name=sgd", "--vary", "optimizer.lr=1e30,1e-3")
    answer = run("sweep", *FAST, *vary, "--data", data, "--run", tmp_path / "s")
    assert answer.returncode == 1
    log = tmp_path / "s" / "lr=1e30-seed-1.log"
    reason = "primal train: the loss became NaN at step 2; try a smaller optimizer.lr or train.clip=1"
    assert f"lr=1e30  seed-1  failed (exit code 1): {reason}; see {log}\n" in answer.stderr
    assert reason in log.read_text()
    assert [cell["finished"] for cell in cells(tmp_path / "s")] == [False, True]


# To be interrupted in the first of two points.
LONG = (*FAST, "--set", "train.epochs=10", "--vary", "model.rank=2,4")
# The first step is not done before the signal comes, or comes twice.
SLOW = ("--set", "train.batch=100", "--set", "model.width=256", "--set", "model.feed_forward=8192")


def interrupted_sweep(folder, send, *command, number=signal.SIGINT):
    """Stops a sweep when its first run has begun to train; the checkpoints of that run."""
    process = start("sweep", *command, "--run", folder, start_new_session=True)
    log = folder / "rank=2-seed-1.log"
    wait_until(process, lambda: log.exists() and "epoch  1/10 " in log.read_text())
    send(process.pid, number)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert errors == "interrupted; the same command goes on where it stopped\n"
    return list((folder / "rank=2" / "seed-1" / "checkpoints").glob("step-*"))


def test_interrupted_it_goes_on_where_it_stopped(data, tmp_path):
    folder, command = tmp_path / "s", (*LONG, "--data", data)
    assert interrupted_sweep(folder, os.kill, *command)
    assert results(folder) == {}
    done(run("sweep", *command, "--run", folder))
    assert [cell["finished"] for cell in cells(folder)] == [True, True]
    before, after = (folder / "rank=2-seed-1.log").read_text().split("interrupted; go on with: primal train --resume ")
    assert "epoch  1/10   0 %" in before
    assert after.startswith(f"{folder / 'rank=2' / 'seed-1'} --data {data}\n")
    assert "epoch  1/10   0 %" not in after


def signal_group(process, number):
    """As a terminal does it. The sweep looks at the signal some time after those of its runs that get it too."""
    os.kill(process, signal.SIGSTOP)
    os.killpg(process, number)
    time.sleep(0.1)
    os.kill(process, signal.SIGCONT)


def test_a_terminal_that_closes_takes_the_runs_with_it(data, tmp_path):
    folder = tmp_path / "s"
    assert interrupted_sweep(folder, signal_group, *LONG, *SLOW, "--data", data, number=signal.SIGHUP)
    assert "interrupted; go on with: " in (folder / "rank=2-seed-1.log").read_text()


def test_data_that_cannot_be_read_are_told_of_at_once(data, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("series,x,label\n0,1,up\n0,wrong,up\n")
    answer = run("sweep", "series/default", "--train", file, "--vary", "model.rank=2,4", "--run", tmp_path / "s")
    assert the_error(answer, "sweep").startswith(f"{file}:3: ")
    assert not (tmp_path / "s").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(data, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    answer = run("sweep", *FAST, "--vary", "model.rank=2", "--data", data, "--run", tmp_path)
    expected = f"{tmp_path}: a new sweep needs a folder that is absent or empty, but there is notes.txt in this one"
    assert the_error(answer, "sweep") == expected
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_ctrl_c_in_a_terminal_leaves_a_checkpoint(data, tmp_path):
    assert interrupted_sweep(tmp_path / "s", signal_group, *LONG, *SLOW, "--data", data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "model.rang=2,4"], "unknown key model.rang; did you mean model.rank?"),
        (["--vary", "model.rank=2,x"], 'model.rank: expected a whole number or a list of them, got "x"'),
        (["--vary", "model.rank"], "--vary model.rank: expected key=value,value,..."),
        (["--vary", "model.rank=2,,4"], "a value is empty"),
        ([], "--vary is required"),
    ],
)
def test_every_point_is_checked_before_the_first_run(data, tmp_path, arguments, message):
    answer = run("sweep", *FAST, *arguments, "--data", data, "--run", tmp_path / "s")
    assert message in the_error(answer, "sweep")
    assert list(tmp_path.iterdir()) == []


def test_finished_points_of_other_settings_are_not_taken_for_these(grid):
    command, folder, _ = grid
    message = the_error(run(*command, "--set", "train.epochs=1"), "sweep")
    assert message.startswith(f"{folder / 'rank=2,eta=0' / 'seed-1'}: a run with other options is here already")


def test_the_seed_is_varied_or_refused(data, tmp_path):
    answer = run("sweep", *FAST, "--vary", "train.seed=1,2", "--data", data, "--run", tmp_path / "s")
    seeds = {json.loads(path.read_text())["seed"] for path in results(tmp_path / "s").values()}
    assert seeds == ({1, 2} if answer.returncode == 0 else set())
    assert "train.seed" in answer.stdout + answer.stderr
