"""The layers of docs/architecture.md: which folder under src/ may include which, and what no file may do."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
PUBLIC_HEADERS = SOURCE.parent / "include"
USES = {
    "base": set(),
    "kernels": set(),
    "ops": {"kernels"},
    "nn": {"base", "ops"},
    "models": {"base", "nn", "ops"},
    "data": {"base"},
    "inference": {"base", "ops", "nn", "models", "data"},
    "run": {"base"},
    "train": {"base", "kernels", "ops", "nn", "models", "data", "run"},
    "analysis": {"base", "run", "ops", "nn"},
    "report": {"base", "run", "analysis"},
    "environments": {"base", "data"},
}
USES["tasks"] = set(USES)
USES["cli"] = set(USES)
# Layers of plain structs: neither they nor anything that they include knows LibTorch.
WITHOUT_LIBTORCH = ("base", "kernels", "run", "report", "environments")
# Public headers live in include/primal/; this is the layer that implements each.
PUBLIC = {
    "attention": "nn",
    "encoder_layer": "nn",
    "feature_map": "ops",
    "import_reference": "models",
    "ksvd": "nn",
    "language_model": "inference",
    "memory": "ops",
    "operators": "ops",
    "safetensors": "data",
    "sequential": "nn",
}
FREE = {"error", "export"}
# Subcommands that only one family has.
OWN_COMMANDS = {"language": ["generate.cpp"], "offline_rl": ["play.cpp"]}
FAMILIES = sorted(path.name for path in (SOURCE / "tasks").iterdir() if path.is_dir())
MOST_LINES = 400


def sources(*folders):
    """The C++ files of some folders, or of all."""
    files = [path for folder in folders or [""] for path in (SOURCE / folder).rglob("*")]
    return sorted(path for path in files if path.suffix in {".cpp", ".h", ".in"})


def own_includes(file: Path) -> list[str]:
    """Headers of ours, "folder/name.h", in quotes or in angle brackets."""
    paths = re.findall(r'#include ["<]([^">]+)[">]', file.read_text())
    return [path for path in paths if path.split("/")[0] in {"primal", *USES}]


def located(include: str) -> Path:
    return (PUBLIC_HEADERS if include.startswith("primal/") else SOURCE) / include


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
        waiting += map(located, own_includes(file))
    return seen


def unit_of(file: Path) -> str:
    """name.h and name.cpp of one folder are one unit; a public header belongs to no source."""
    root = SOURCE if file.is_relative_to(SOURCE) else PUBLIC_HEADERS
    return str(file.relative_to(root).with_suffix(""))


def cycles_of(uses: dict[str, set[str]]) -> list[list[str]]:
    """Units that include each other, directly or through others: the strongly connected components (Tarjan)."""
    number, lowest, stack, cycles = {}, {}, [], []

    def visit(unit):
        number[unit] = lowest[unit] = len(number)
        stack.append(unit)
        for other in sorted(uses[unit]):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[unit] = min(lowest[unit], lowest[other])
        if lowest[unit] < number[unit]:
            return
        cycle = stack[stack.index(unit) :]
        del stack[stack.index(unit) :]
        if len(cycle) > 1:
            cycles.append(sorted(cycle))

    for unit in sorted(uses):
        if unit not in number:
            visit(unit)
    return sorted(cycles)


def test_every_folder_is_a_listed_layer():
    assert {p.name for p in SOURCE.iterdir() if p.is_dir()} == set(USES)


@pytest.mark.parametrize("layer", USES)
def test_layer_includes_only_layers_above_it(layer):
    assert sources(layer)
    for file in sources(layer):
        assert included_layers(file) <= USES[layer] | {layer}, file


@pytest.mark.parametrize("layer", WITHOUT_LIBTORCH)
def test_layers_of_plain_structs_know_no_libtorch(layer):
    for file in with_everything_included(sources(layer)):
        assert not re.search(r"#include [<\"](torch|ATen|c10|caffe2)\b", file.read_text()), file


def test_the_family_of_time_series_is_one():
    assert "time_series" in FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_list_of_families_knows_a_family(family):
    own_commands = [SOURCE / "cli" / name for name in OWN_COMMANDS.get(family, [])]
    may = {SOURCE / "tasks" / "families.cpp", *sources(f"tasks/{family}"), *own_commands}
    for file in sources():
        known = [path for path in own_includes(file) if path.startswith(f"tasks/{family}/")]
        assert file in may or not known, f"{file} includes {known}"


def test_every_included_header_is_there():
    """A misspelt layer would otherwise pass for a system header."""
    for file in sources():
        for path in own_includes(file):
            assert located(path).exists() or located(path + ".in").exists(), f"{file} includes {path}"


def test_no_units_include_each_other():
    uses = defaultdict(set)
    for file in [*sources(), *sorted(PUBLIC_HEADERS.rglob("*.h"))]:
        uses[unit_of(file)] |= {unit_of(located(path)) for path in own_includes(file)} - {unit_of(file)}
    for other in set().union(*uses.values()) - uses.keys():
        uses[other] = set()
    assert cycles_of(uses) == []


def test_cycles_are_found():
    assert cycles_of({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == [["b", "c"]]
    assert cycles_of({"a": {"b", "c"}, "b": {"c"}, "c": {"a"}}) == [["a", "b", "c"]]
    assert cycles_of({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


def test_no_source_is_long():
    files = [path for path in SOURCE.rglob("*") if path.is_file()]
    lines = {str(path.relative_to(SOURCE)): path.read_text().count("\n") for path in files}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}
