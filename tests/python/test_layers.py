"""The layers of docs/architecture.md: a folder under src/ includes only itself and folders above it in the list."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
PUBLIC_HEADERS = SOURCE.parent / "include"
USES = {
    "kernels": set(),
    "ops": {"kernels"},
    "nn": {"ops"},
    "models": {"nn", "ops"},
    "data": set(),
    "train": {"kernels", "ops", "nn", "models", "data"},
    "analysis": {"ops", "nn"},
    "report": {"train", "analysis"},
    "tasks": {"kernels", "ops", "nn", "models", "data", "train", "analysis", "report"},
    "cli": {"kernels", "ops", "nn", "models", "data", "train", "analysis", "report", "tasks"},
}
# Public headers live in include/primal/; this is the layer that implements each.
PUBLIC = {
    "attention": "nn",
    "feature_map": "ops",
    "import_reference": "models",
    "ksvd": "nn",
    "memory": "ops",
    "safetensors": "data",
}
FREE = {"error", "export"}


def own_includes(file: Path) -> list[str]:
    """Headers of ours, "folder/name.h", in quotes or in angle brackets."""
    paths = re.findall(r'#include ["<]([^">]+)[">]', file.read_text())
    return [path for path in paths if path.split("/")[0] in {"primal", *USES}]


def included_layers(file: Path) -> set[str]:
    layers = set()
    for path in own_includes(file):
        folder, name = path.split("/", 1)
        stem = Path(name).stem
        if folder == "primal" and stem in FREE:
            continue
        layers.add(PUBLIC[stem] if folder == "primal" else folder)
    return layers


def with_everything_included(files: list[Path]) -> set[Path]:
    seen, waiting = set(), list(files)
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        waiting += [(PUBLIC_HEADERS if path.startswith("primal/") else SOURCE) / path for path in own_includes(file)]
    return seen


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


def test_report_sees_other_layers_as_plain_structs():
    for file in with_everything_included(sorted((SOURCE / "report").glob("*.[ch]*"))):
        assert not re.search(r"#include <(torch|ATen|c10)", file.read_text()), file
