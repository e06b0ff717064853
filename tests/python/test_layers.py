"""The layers of docs/architecture.md: a folder under src/ includes only itself and folders above it in the list."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
USES = {
    "kernels": set(),
    "ops": {"kernels"},
    "nn": {"ops"},
    "models": {"nn"},
    "data": set(),
    "tasks": {"kernels", "ops", "nn", "models", "data"},
    "cli": {"kernels", "ops", "nn", "models", "data", "tasks"},
}
# Public headers live in include/primal/; this is the layer that implements each.
PUBLIC = {"attention": "nn", "feature_map": "ops", "import_reference": "models", "ksvd": "nn", "safetensors": "data"}
FREE = {"error", "export"}


def included_layers(file: Path) -> set[str]:
    layers = set()
    for path in re.findall(r'#include "([^"]+)"', file.read_text()):
        folder, name = path.split("/", 1)
        stem = Path(name).stem
        if folder == "primal" and stem in FREE:
            continue
        layers.add(PUBLIC[stem] if folder == "primal" else folder)
    return layers


def test_every_folder_is_a_listed_layer():
    assert {p.name for p in SOURCE.iterdir() if p.is_dir()} == set(USES)


@pytest.mark.parametrize("layer", USES)
def test_layer_includes_only_layers_above_it(layer):
    for file in (SOURCE / layer).rglob("*.[ch]*"):
        if file.suffix in {".cpp", ".h"}:
            assert included_layers(file) <= USES[layer] | {layer}, file


def test_kernels_know_no_libtorch():
    for file in (SOURCE / "kernels").glob("*.[ch]*"):
        assert not re.search(r"#include <(torch|ATen|c10)", file.read_text()), file
