"""Where runs live: what a new one may begin in, what is there already, and what cannot be written."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from series_files import (
    PROGRAM,
    TINY,
    done,
    environment,
    make_series,
    result,
    run,
    settings,
    start,
    the_error,
    wait_until,
    write_csv,
)

ROOT = Path(__file__).parents[2]


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


SOMEBODYS = ["data.json", "log.txt", "analysis.json", "best/my.bin", "checkpoints/mine.tmp", "metrics.jsonl", "x"]


@pytest.mark.parametrize("name", SOMEBODYS)
@pytest.mark.parametrize("seeds", [(), ("--seeds", "2")], ids=["one", "seeds"])
def test_a_folder_with_something_else_in_it_is_left_alone(name, seeds, data, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("somebody's work")
    before = contents(tmp_path)
    message = the_error(run("train", *TINY, *seeds, "--data", data, "--run", tmp_path), "train")
    there = name.split("/")[0]
    expected = f"{tmp_path}: a new run needs a folder that is absent or empty, but there is {there} in this one"
    assert message == expected
    assert contents(tmp_path) == before


def test_leftovers_of_another_run_are_not_taken_over(data, trained, tmp_path):
    for kept in ("checkpoints", "result.json"):
        folder = tmp_path / kept
        folder.mkdir()
        (shutil.copytree if (trained / kept).is_dir() else shutil.copy)(trained / kept, folder / kept)
        before = contents(folder)
        message = the_error(run("train", *TINY, "--seed", "7", "--data", data, "--run", folder), "train")
        assert message.endswith(f"but there is {kept} in this one")
        assert contents(folder) == before


def test_an_empty_folder_will_do_and_is_left_empty_by_a_run_that_cannot_begin(data, tmp_path):
    absent = ("--set", "data.set=Absent")
    the_error(run("train", *TINY, *absent, "--data", data, "--run", tmp_path), "train")
    assert contents(tmp_path) == {}
    done(run("train", *TINY, "--data", data, "--run", tmp_path))
    assert result(tmp_path)["data"] == "Tiny"


def test_a_run_that_is_there_is_named_with_a_command_that_goes_on(data, trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "two words")
    message = the_error(run("train", *TINY, "--data", data, "--run", folder), "train")
    assert message == f"{folder}: there is a run already; go on with it by --resume '{folder}'"
    file = tmp_path / "file"
    file.write_text("")
    assert the_error(run("train", *TINY, "--data", data, "--run", file), "train") == f"{file}: is not a folder"


def test_runs_of_the_same_second_have_folders_of_their_own(data, tmp_path):
    def train(seed):
        return done(run("train", *TINY, "--no-report", "--seed", seed, "--data", data, cwd=tmp_path))

    with ThreadPoolExecutor() as pool:
        list(pool.map(train, range(4)))
    folders = list((tmp_path / "runs").iterdir())
    assert sorted(result(folder)["seed"] for folder in folders) == [0, 1, 2, 3]


def test_the_hint_after_an_interrupt_can_be_typed(data, tmp_path):
    own = shutil.copytree(data, tmp_path / "my data")
    command = ("train", *TINY, *settings("train.epochs=2000"), "--data", own, "--run", tmp_path / "it's a run")
    process = start(*command)
    wait_until(process, (tmp_path / "it's a run" / "metrics.jsonl").exists)
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate()
    assert process.returncode == 130
    hint = errors.splitlines()[-1].removeprefix("interrupted; go on with: primal ")
    more = f"{PROGRAM} {hint} --set train.epochs=1 --set train.patience=1"
    answer = subprocess.run(more, shell=True, capture_output=True, text=True, env=environment(), check=False)
    assert "run directory" in done(answer)


# What cannot be written


def limited(*arguments, size):
    """The program where a file may have so many bytes: a write then fails as on a full disk."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        **{"capture_output": True, "text": True, "check": False, "env": environment()},
        preexec_fn=limit,
        restore_signals=False,  # SIGXFSZ stays ignored, as Python has it
    )


def test_a_disk_that_is_full_is_a_failure_of_the_machine(data, trained, tmp_path):
    folder = tmp_path / "run"
    answer = limited("train", *TINY, "--data", data, "--run", folder, size=6000)
    assert answer.returncode == 1, answer.stderr
    assert answer.stderr.splitlines()[-1].endswith(": cannot write: File too large")
    done(run("train", "--resume", folder, "--data", data))
    predict = ("predict", trained, "--input", data / "Tiny_TEST.ts", "--output")
    message = the_error(limited(*predict, tmp_path / "out.csv", size=100), "predict", code=1)
    assert message == f"{tmp_path / 'out.csv'}: cannot write: File too large"
    assert not (tmp_path / "out.csv").exists()
    message = the_error(run(*predict, "/dev/full"), "predict", code=1)
    assert message == "/dev/full: cannot write: No space left on device"
    message = the_error(limited("report", trained, "--output", tmp_path / "page.html", size=1000), "report", code=1)
    assert message == f"{tmp_path / 'page.html'}: cannot write: File too large"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_name_that_cannot_be_is_a_mistake(data, trained, tmp_path):
    output = tmp_path / "absent" / "out.csv"
    message = the_error(run("predict", trained, "--input", data / "Tiny_TEST.ts", "--output", output), "predict")
    assert message == f"{output}: cannot open its directory: No such file or directory"


def as_another_user(command, folder):
    """Runs it as somebody who may not write to the folder."""
    if os.geteuid() == 0:
        return subprocess.run(command, capture_output=True, text=True, check=False, user=65534, group=65534)
    folder.chmod(0o555)
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)


def test_rights_that_are_gone_are_a_failure_of_the_machine(data, trained):
    with tempfile.TemporaryDirectory() as name:  # where others may look, unlike tmp_path
        folder = Path(name)
        folder.chmod(0o755)
        copy = shutil.copytree(trained, folder / "run")
        file = shutil.copy(data / "Tiny_TEST.ts", folder)
        command = [PROGRAM, "predict", copy, "--input", file, "--output", folder / "out.csv"]
        answer = as_another_user(command, folder)
        assert answer.returncode == 1
        assert answer.stderr.endswith("out.csv: cannot create a temporary file beside it: Permission denied\n")


def test_the_front_door_opens_for_those_who_may_not_build():
    answer = as_another_user([ROOT / "primal", "info"], ROOT / "build")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("primal ")


def test_devices_are_written_to(data, trained):
    answer = run("predict", trained, "--input", data / "Tiny_TEST.ts", "--output", "/dev/null")
    assert (done(answer), answer.stderr) == ("", "")
    assert not Path("/dev/null").is_file()
    shown = run("predict", trained, "--input", data / "Tiny_TEST.ts", "--output", "/dev/stdout")
    assert done(shown) == done(run("predict", trained, "--input", data / "Tiny_TEST.ts"))


def test_a_link_stays_one(data, trained, tmp_path):
    (tmp_path / "target.csv").write_text("before")
    link = tmp_path / "link.csv"
    link.symlink_to("target.csv")
    done(run("predict", trained, "--input", data / "Tiny_TEST.ts", "--output", link))
    assert link.is_symlink()
    assert (tmp_path / "target.csv").read_text() == done(run("predict", trained, "--input", data / "Tiny_TEST.ts"))


def open_files(process):
    for number in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield os.readlink(f"/proc/{process}/fd/{number}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_prediction_that_is_stopped_leaves_nothing(number, trained, tmp_path):
    lines = write_csv(tmp_path / "in.csv", make_series(3, 1)).read_text()
    process = start("predict", trained, "--input", "-", "--output", tmp_path / "out.csv")
    process.stdin.write(lines)
    process.stdin.flush()
    wait_until(process, lambda: any(name.startswith(str(tmp_path)) for name in open_files(process.pid)))
    process.send_signal(number)
    process.communicate()
    assert process.returncode == -number
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
