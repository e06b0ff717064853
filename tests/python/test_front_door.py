"""./primal and ./test as a user meets them."""

import fcntl
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from fresh_checkout import FreshCheckout

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build" / "release" / "bin" / "primal"
USAGE = ROOT / "tools" / "usage.txt"
VERSION = re.search(r"project\(primal VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


@pytest.fixture
def fresh(tmp_path):
    return FreshCheckout(tmp_path)


@pytest.fixture
def ready(fresh):
    """The same after its first start."""
    assert fresh.run("info").stdout == "the program: info\n"
    return fresh


def nothing_was_touched(checkout, result):
    return result.calls == "" and not (checkout.path / "build").exists() and not (checkout.path / ".venv").exists()


# Answers that need no program


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
def test_help_needs_no_set_up(fresh, arguments):
    result = fresh.run(*arguments, user_id=1000)
    assert (result.returncode, result.stdout, result.stderr) == (0, USAGE.read_text(), "")
    assert nothing_was_touched(fresh, result)


def test_the_version_needs_no_set_up(fresh):
    result = fresh.run("--version")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"primal {VERSION}\n", "")
    assert nothing_was_touched(fresh, result)


WRONG = [[], ["trian"], ["TRAIN"], ["evaluate"], ["sweeep", "--help"], ["xyzzy"], ["z" * 100], ["--foo"], ["-"]]


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_a_wrong_or_missing_command_is_refused_without_set_up_as_the_program_does(fresh, arguments):
    result = fresh.run(*arguments)
    assert nothing_was_touched(fresh, result)
    program = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", program.stderr)
    assert program.returncode == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["train", "--help"], ["data", "list", "-h"], ["help", "train"]])
def test_help_on_a_command_says_that_its_options_come_with_the_program(fresh, arguments):
    result = fresh.run(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(USAGE.read_text())
    assert f"The options of {'data' if 'data' in arguments else 'train'} are listed here once" in result.stdout
    assert nothing_was_touched(fresh, result)


def test_the_usage_text_is_the_help_of_the_program():
    program = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    assert USAGE.read_text() == program, (
        "tools/usage.txt, which ./primal shows before the program is built, is not what the program prints; run: "
        "build/release/bin/primal --help > tools/usage.txt"
    )


def test_once_it_is_built_the_program_answers(ready):
    for arguments in (["--help"], ["--version"], ["trian"], ["train", "--help"]):
        result = ready.run(*arguments)
        assert (result.stdout, result.calls) == (f"the program: {' '.join(arguments)}\n", "")
    assert ready.run("help", "train").stdout == "the program: train --help\n"


def test_of_help_only_the_options_of_a_command_are_worth_building_changed_sources(ready):
    ready.edit_a_source()
    assert ready.run("--help").stdout == USAGE.read_text()
    assert ready.run("trian").returncode == 2
    result = ready.run("train", "--help")
    assert result.stdout == "the program: train --help\n"
    assert "files to build: 20" in result.stderr


def test_help_does_not_wait_for_another_call_that_sets_up(ready):
    with open(ready.path / "build" / ".setup-lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert ready.run("--help").stdout == USAGE.read_text()


# What is said before and during a set-up


def test_what_will_be_installed_is_said_before_anything_is(fresh):
    result = fresh.run("train")
    told = fresh.told_before_the_first_call
    assert result.calls.startswith("dpkg --configure -a\napt-get update")
    assert re.search(r"in about \d+ minutes on \d+ cores", told)
    assert "Debian packages, by apt-get: cmake g++ " in told
    assert f"{fresh.path}/.venv: 12 wheels of tools/requirements.txt, LibTorch among them: 220 MB to download" in told
    assert f"{fresh.path}/build/release: about 20 files to build" in told


def test_only_what_is_missing_is_named(ready):
    (ready.machine / "installed").write_text((ready.machine / "installed").read_text().replace("g++\n", ""))
    result = ready.run("train")
    assert "by apt-get: g++\n" in result.stderr
    assert "install -y --no-install-recommends g++\n" in result.calls
    assert "wheels" not in result.stderr
    assert "files" not in result.stderr


def test_nothing_is_said_or_done_when_nothing_is_missing(ready):
    result = ready.run("train", "two words")
    assert (result.stdout, result.stderr, result.calls) == ("the program: train two words\n", "", "")


def test_the_exit_code_of_the_program_passes_through(fresh):
    assert [fresh.run("train").returncode for _ in range(2)] == [7, 7]


def test_without_root_the_exact_command_is_printed_and_what_else_will_happen(fresh):
    result = fresh.run("train", user_id=1000)
    assert (result.returncode, result.calls) == (2, "")
    assert "/.venv: 12 wheels" in result.stderr
    assert "/build/release: about 20 files" in result.stderr
    command = result.stderr.splitlines()[-1].partition(": sudo apt-get update && ")[2]
    assert command.startswith("sudo apt-get install -y --no-install-recommends cmake g++ ")


def test_every_step_shows_how_far_it_is(fresh):
    told = fresh.run("train").stderr
    for line in (
        "Debian packages: reading the lists",
        "Debian packages: fetching, 50 %",
        "Debian packages: installing, 75 %",
        "creating .venv with Python 3.11.2",
        "wheels of requirements.txt: fetching 1 of 12",
        "configuring build/release",
        "building build/release: 10 of 20 files",
        "building build/release: 20 of 20 files",
    ):
        assert re.search(rf"^primal: {line}( \(\d+ s\))?$", told, re.MULTILINE), f"{line} is not in:\n{told}"
    assert "noise of apt" not in told


def show_progress(script, seconds=15):
    """What show_progress says of the output of a script; standard error is not a terminal."""
    source = f'ROOT={ROOT}; source "$ROOT/tools/setup.sh"; PROGRESS_SECONDS={seconds}'
    script = f"{source}; {{ {script}; }} | ninja_progress | show_progress build"
    result = subprocess.run(["bash", "-c", script, "primal"], capture_output=True, text=True, check=False)
    return result.stderr.splitlines()


def test_a_log_gets_a_line_at_every_tenth_of_the_way():
    lines = show_progress('for i in $(seq 1000); do echo "[$i/1000] Building"; done')
    assert len(lines) == 1 + 11
    assert re.fullmatch(r"primal: build: 1000 of 1000 files( \(\d+ s\))?", lines[-1])


def test_a_log_gets_a_line_when_a_step_takes_long():
    lines = show_progress('echo "[1/9] Building"; sleep 2.5', seconds=1)
    assert "primal: build: 1 of 9 files (2 s)" in lines


def test_errors_of_the_compiler_are_shown_at_once():
    lines = show_progress('echo "[1/9] Building"; echo "FAILED: a.o"; echo "  a.cpp:1: error: no"')
    assert lines[-2:] == ["FAILED: a.o", "  a.cpp:1: error: no"]


# Set-ups that fail or are stopped


def test_a_build_that_fails_shows_the_error_and_the_next_call_goes_on(fresh):
    result = fresh.run("train", NINJA_ERROR="train.cpp:1: error: expected a semicolon")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.endswith("error: expected a semicolon\nprimal: the build failed\n")
    again = fresh.run("train")
    assert again.stdout == "the program: train\n"
    assert [call.split()[0] for call in again.calls.splitlines()] == ["ninja"]


def test_wheels_that_could_not_be_installed_are_asked_for_again(fresh):
    result = fresh.run("train", PIP_ERROR="ERROR: no matching distribution")
    assert result.returncode == 2
    assert "ERROR: no matching distribution\nprimal: pip could not install" in result.stderr
    assert "-m pip install" in fresh.run("train").calls


def test_a_half_made_venv_is_made_again(fresh):
    python = fresh.path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    result = fresh.run("train")
    assert f"-m venv {fresh.path}/.venv" in result.calls
    assert result.stdout == "the program: train\n"


def test_ctrl_c_stops_the_set_up_and_the_next_call_goes_on(fresh):
    process = fresh.start("train", PIP_SLEEP="30")
    while "fetching 1 of 12" not in fresh.told and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(10) == 130
    assert fresh.told.endswith("primal: interrupted; the next call goes on from here\n")
    result = fresh.run("train")
    assert "-m pip install" in result.calls
    assert "apt-get" not in result.calls
    assert result.stdout == "the program: train\n"


def test_two_calls_at_once_set_up_once(fresh):
    first = fresh.start("train", PIP_SLEEP="3")
    while "-m pip" not in fresh.calls and first.poll() is None:
        time.sleep(0.02)
    second = fresh.start("eval")
    assert second.communicate(timeout=30)[0] == "the program: eval\n"
    assert first.communicate(timeout=30)[0] == "the program: train\n"
    assert fresh.calls.count("-m pip install") == 1
    assert "primal: another call is setting up; waiting for it\n" in fresh.told


# Robots, which need more


@pytest.fixture
def settings_of_robots(tmp_path):
    """A run, a run of several seeds and a file of settings."""
    text = '[run]\nfamily = "offline_rl"\n'
    for folder in ("run", "seeds/seed-1"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "config.toml").write_text(text)
    (tmp_path / "own.toml").write_text('extends = "offline-rl/hopper-medium"\n')
    return tmp_path


def wants_robots(result):
    return "libhdf5-dev" in result.calls and "requirements-robots.txt" in result.calls


def test_whoever_never_uses_robots_needs_neither_mujoco_nor_hdf5(fresh, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text('[run]\nfamily = "lra"\n')
    for arguments in (["train", "lra/image"], ["eval", str(tmp_path / "run")], ["train", "--set", "offline"]):
        result = fresh.run(*arguments)
        assert "libhdf5-dev" not in result.calls + result.stderr
        assert "requirements-robots" not in result.calls + result.stderr


def test_robots_are_set_up_when_they_are_first_named(ready):
    result = ready.run("train", "offline-rl/hopper-medium")
    assert result.stdout == "the program: train offline-rl/hopper-medium\n"
    told = result.stderr
    assert re.search(r"this is set up first, in about \d minutes", told)
    assert "Debian packages, by apt-get: libhdf5-dev\n" in told
    assert "/.venv: 2 wheels of tools/requirements-robots.txt, the simulator MuJoCo and models of robots: 8 MB" in told
    assert f"{ready.path}/build/release: what is for robots is added\n" in told
    assert wants_robots(result)
    assert result.calls.splitlines()[-1].startswith("cmake ")
    assert "-r " + str(ready.path / "tools" / "requirements.txt") not in result.calls
    again = ready.run("eval", "offline-rl/hopper-medium")
    assert (again.stderr, again.calls) == ("", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["data", "make", "offline-rl/hopper-medium"],
        ["eval", "{}/run"],
        ["train", "--resume", "{}/run/"],
        ["train", "--resume={}/run"],
        ["eval", "{}/seeds", "--episodes", "100"],
        ["train", "{}/own.toml"],
    ],
    ids=" ".join,
)
def test_robots_are_named_by_a_task_a_run_or_a_file_of_settings(ready, settings_of_robots, arguments):
    assert wants_robots(ready.run(*(word.format(settings_of_robots) for word in arguments)))


def test_help_needs_no_robots(ready):
    result = ready.run("train", "offline-rl/hopper-medium", "--help")
    assert (result.stdout, result.calls) == ("the program: train offline-rl/hopper-medium --help\n", "")


def test_a_build_that_did_not_find_what_is_there_is_configured_anew(ready):
    ready.run("train", "offline-rl/hopper-medium")
    cache = ready.path / "build" / "release" / "CMakeCache.txt"
    found = cache.read_text()
    for missing in ("PRIMAL_WITH_MUJOCO:INTERNAL=ON", "PRIMAL_HDF5:FILEPATH=/usr/lib/libhdf5.so"):
        cache.write_text(found.replace(missing, missing.split("=")[0] + "=PRIMAL_HDF5-NOTFOUND"))
        assert ready.run("info").calls == ""
        result = ready.run("train", "offline-rl/hopper-medium")
        assert [call.split()[0] for call in result.calls.splitlines()] == ["cmake"]
        assert cache.read_text() == found


# The commands of this checkout


def test_the_front_door_works_from_any_directory_and_through_a_link(tmp_path):
    (tmp_path / "link").symlink_to(ROOT / "primal")
    for command in (ROOT / "primal", tmp_path / "link"):
        result = subprocess.run([command, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stdout == f"primal {VERSION}\n"


@pytest.mark.parametrize("part", ["nonsense", "--help"])
def test_an_unknown_part_of_the_tests_is_refused(fresh, part):
    result = fresh.run(part, command="test")
    assert result.returncode == 2
    assert "parts: lint cpp fuzz python wheel tidy asan tsan" in result.stderr
    assert nothing_was_touched(fresh, result)


def test_the_tests_say_what_they_need(fresh):
    told = fresh.run("fuzz", "asan", "tidy", command="test", user_id=1000).stderr
    assert re.search(r"by apt-get: cmake .* chromium .* clang-tidy-16\n", told)
    assert "/.venv: 26 wheels of tools/requirements-test.txt\n" in told
    assert "/.venv: 2 wheels of tools/requirements-robots.txt, " in told
    assert " libhdf5-dev " in told
    assert re.findall(r"/build/(\w+): about", told) == ["fuzz", "asan"]
