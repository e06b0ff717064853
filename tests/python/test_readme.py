"""The README's Python examples run as written; the files beside it agree with the project."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_python_examples_run_one_after_another():
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 4
    scope = {}
    for block in blocks:
        exec(block, scope)
    assert scope["out"].shape == (4, 1, 512)
    assert scope["loss"].isfinite()


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_every_linked_file_exists(file):
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / file).read_text()):
        assert (ROOT / target).exists(), target


def test_the_version_is_the_same_everywhere():
    places = {
        "CMakeLists.txt": r"project\(primal VERSION ([0-9.]+)",
        "pyproject.toml": r'^version = "(.+)"',
        "CITATION.cff": r"^version: (.+)",
    }
    versions = {file: re.search(pattern, (ROOT / file).read_text(), re.M)[1] for file, pattern in places.items()}
    assert len(set(versions.values())) == 1, versions
