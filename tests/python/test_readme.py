"""The README's Python examples run as written."""

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_python_examples_run_one_after_another():
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 2
    scope = {}
    for block in blocks:
        exec(block, scope)
    assert scope["out"].shape == (4, 1, 512)
    assert scope["loss"].isfinite()


def test_every_linked_file_exists():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (Path(__file__).parents[2] / target).exists(), target
