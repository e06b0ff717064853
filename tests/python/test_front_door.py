"""./primal and ./test as a user meets them."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def stub(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def setup_packages(tmp_path: Path, user_id: int, installed: str, *packages: str):
    """Runs setup_packages with stand-ins for id, dpkg-query and apt-get; apt-get writes down how it was called."""
    stub(tmp_path, "id", f"echo {user_id}")
    stub(tmp_path, "dpkg-query", f"printf '{installed}'")
    stub(tmp_path, "apt-get", f'echo "$@" >> {tmp_path}/calls')
    script = f'ROOT={ROOT}; source "$ROOT/tools/setup.sh"; setup_packages {" ".join(packages)}'
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = subprocess.run(
        ["bash", "-c", script, "primal"], capture_output=True, text=True, env=environment, check=False
    )
    calls = tmp_path / "calls"
    return result, calls.read_text() if calls.exists() else ""


def test_nothing_is_installed_when_nothing_is_missing(tmp_path):
    result, calls = setup_packages(tmp_path, 0, "installed cmake\\ninstalled g++\\n", "cmake", "g++")
    assert (result.returncode, calls, result.stderr) == (0, "", "")


def test_root_installs_what_is_missing(tmp_path):
    result, calls = setup_packages(tmp_path, 0, "installed cmake\\n", "cmake", "g++", "ninja-build")
    assert result.returncode == 0
    assert "update" in calls
    assert "install -y --no-install-recommends g++ ninja-build" in calls


def test_without_root_the_exact_command_is_printed(tmp_path):
    result, calls = setup_packages(tmp_path, 1000, "installed cmake\\nconfig-files g++\\n", "cmake", "g++")
    assert result.returncode == 2
    assert calls == ""
    assert "sudo apt-get install -y --no-install-recommends g++\n" in result.stderr


def test_the_front_door_works_from_any_directory_and_through_a_link(tmp_path):
    (tmp_path / "link").symlink_to(ROOT / "primal")
    for command in (ROOT / "primal", tmp_path / "link"):
        result = subprocess.run([command, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith("primal ")


def test_exit_code_and_message_of_the_program_pass_through():
    result = subprocess.run([ROOT / "primal", "nonsense"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("part", ["nonsense", "--help"])
def test_an_unknown_part_of_the_tests_is_refused(part):
    result = subprocess.run([ROOT / "test", part], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "parts: lint cpp fuzz python tidy asan tsan" in result.stderr
