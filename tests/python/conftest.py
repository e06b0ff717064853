"""Every test starts from the same random numbers, and property tests draw the same examples in every run."""

import hashlib
import shutil

import hypothesis
import pytest
import torch
import torch.compiler.config
from series_files import CAREFUL, LEARNING, TINY, done, make_set, run

import primal

hypothesis.settings.register_profile(
    "primal", derandomize=True, deadline=None, database=None, print_blob=False, max_examples=100
)
hypothesis.settings.load_profile("primal")

# Inductor's cache knows an operator by its name only: what was compiled for another build of the library is not ours.
torch.compiler.config.cache_key_tag = hashlib.sha256(primal._library.path.read_bytes()).hexdigest()

# The tensors of the tests are tiny: on a busy machine a second thread costs far more than it gives.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _fixed_seed():
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with the set Tiny; modules that need other sets have a fixture of their own by this name."""
    return make_set(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """The run of a small model that has learnt that set."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    done(run("train", *TINY, *LEARNING, "--data", data, "--run", folder))
    return folder


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    done(run("train", *CAREFUL, "--data", data, "--run", folder))
    return folder


@pytest.fixture
def unfinished(whole, tmp_path):
    """All epochs are done, the result is not written."""
    folder = shutil.copytree(whole, tmp_path / "unfinished")
    (folder / "result.json").unlink()
    return folder


@pytest.fixture
def set_threads():
    """torch.set_num_threads; the number of before comes back after the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
