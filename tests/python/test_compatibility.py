"""docs/compatibility.md: its rows have tests, and its names are those of the code."""

import inspect
import pickle
import re
from pathlib import Path

import pytest
import torch

import primal

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()


def rows(heading):
    """The cells of the table with this heading."""
    table = PAGE.split(heading)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line][1:]


def test_every_row_names_a_test_that_exists():
    for row in rows("| with | our operators | plain | test |"):
        tests = re.findall(r"`([^`]+)`", row[-1])
        assert tests, row
        for test in tests:
            file, _, name = test.partition("::")
            path = ROOT / file if "/" in file else ROOT / "tests" / "python" / file
            assert f"def {name}(" in path.read_text() if name else path.exists(), test


@pytest.mark.parametrize(
    ("cpp", "header", "python"),
    [
        ("PrimalAttentionOptions", "attention.h", primal.PrimalAttention),
        ("EncoderLayerOptions", "encoder_layer.h", primal.EncoderLayer),
    ],
)
def test_the_table_of_names_has_every_option(cpp, header, python):
    table = rows(f"| C++: `{cpp}` | Python: `{python.__name__}` |")
    struct = re.search(rf"struct {cpp} {{\n(.*?)\n}};", (ROOT / "include" / "primal" / header).read_text(), re.S)[1]
    fields = set(re.findall(r"^  [\w:<>]+ (\w+)(?: =|\{\})", struct, re.M))
    assert {re.match(r"`(\w+)`", row[0])[1] for row in table if row[0]} == fields
    arguments = set(inspect.signature(python).parameters) - {"device", "dtype", "attention"}
    if python is primal.EncoderLayer:
        arguments -= set(inspect.signature(primal.PrimalAttention).parameters) - {"memory", "memory_tokens"}  # its own
    named = {re.match(r"`(\w+)`", row[1])[1] for row in table if row[1].startswith("`")}
    assert named == arguments


LAYERS = [
    primal.PrimalAttention(8, 2, 3),
    primal.EncoderLayer(8, 2, 3, feed_forward=9),
    primal.MultiheadPrimalAttention(8, 2, 3),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_layers_are_pickled(layer):
    twin = pickle.loads(pickle.dumps(layer))
    x = torch.randn(2, 5, 8)
    arguments = (x, x, x) if isinstance(layer, primal.MultiheadPrimalAttention) else (x,)
    assert torch.equal(twin(*arguments)[0], layer(*arguments)[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_scripting_is_refused(layer):
    with pytest.raises(Exception, match=r"Compiled functions can't|not supported|Unsupported|NotSupported|keyword"):
        torch.jit.script(layer)
