"""TensorBoard reads our event files."""

import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("tensorboard")
from tensorboard_events import read_events, read_texts

# PRIMAL_TESTS: another build of the C++ tests.
TESTS = Path(os.environ.get("PRIMAL_TESTS", Path(__file__).parents[2] / "build" / "release" / "tests" / "primal_tests"))


@pytest.fixture(scope="module")
def resumed_run(tmp_path_factory):
    """Steps 1 to 5 with loss 1 / step, a crash while the last was written, a resume after step 3 with 10 * step."""
    if not TESTS.exists():
        pytest.skip(f"{TESTS} is not built")
    directory = tmp_path_factory.mktemp("run")
    subprocess.run(
        [TESTS, "--gtest_filter=EventFileTest.RunForTensorBoard"],
        env={**os.environ, "PRIMAL_EVENTS_DIRECTORY": str(directory)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return directory


def test_every_complete_record_is_read(resumed_run):
    before_crash = min(resumed_run.iterdir())
    assert read_events(before_crash) == {"train/loss": [(n, pytest.approx(1 / n)) for n in range(1, 5)]}


def test_repeated_steps_appear_once(resumed_run):
    losses = [(n, pytest.approx(1 / n)) for n in (1, 2, 3)] + [(n, 10.0 * n) for n in (4, 5, 6)]
    assert read_events(resumed_run) == {"train/loss": losses}


def test_text_is_read(resumed_run):
    assert read_texts(resumed_run) == {"config": [(0, "rank = 30")]}
