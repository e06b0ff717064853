"""pip install, cmake --install, and the examples against what they install."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import primal

ROOT = Path(__file__).parents[2]


def run(*command, cwd, **environment):
    result = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def check_training(output: str) -> None:
    """The example printed a falling loss and ends better than guessing."""
    loss = [float(v) for v in re.findall(r"loss (\S+)", output)]
    accuracy = [float(v) for v in re.findall(r"accuracy (\S+)", output)]
    assert len(loss) == 5
    assert loss[-1] < 0.75 * loss[0]
    assert accuracy[-1] > 0.8


@pytest.fixture(scope="module")
def installed_package(tmp_path_factory) -> Path:
    """The distribution, built from the checkout and installed into a folder of its own."""
    target = tmp_path_factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--target", target)
    # Its own build folder stays, so that a second run compiles nothing. Unless ./test wheel asks for more, the library
    # is the one that the tests use.
    settings = [f"build-dir={ROOT / 'build' / 'wheel'}"]
    if "PRIMAL_WHEEL_FROM_SOURCE" not in os.environ:
        settings = [f"build-dir={target / 'build'}", f"cmake.define.PRIMAL_BUILT={ROOT / 'build' / 'release'}"]
    run(*pip, *(word for setting in settings for word in ("--config-settings", setting)), ROOT, cwd=target)
    return target


def run_path(library):
    sections = run("readelf", "-d", library, cwd=library.parent)
    return re.search(r"R(?:UN)?PATH.*\[(.*)\]", sections)[1]


def test_the_installed_package_works_without_the_checkout(installed_package):
    script = (
        "import primal, torch; "
        "out, terms = primal.PrimalAttention(8, 2, rank=3)(torch.randn(2, 5, 8)); "
        "out.sum().backward(); print(primal.__file__, primal._library.path)"
    )
    output = run(sys.executable, "-c", script, cwd=installed_package, PYTHONPATH=str(installed_package))
    module, library = output.split()
    assert Path(module).is_relative_to(installed_package)
    assert Path(library).is_relative_to(installed_package)
    assert run_path(Path(library)) == "$ORIGIN/../../torch/lib"
    assert list(installed_package.glob("primal_attention-*.dist-info"))


def test_the_python_example_learns_with_the_installed_package(installed_package):
    example = ROOT / "examples" / "python" / "train_one_layer.py"
    check_training(run(sys.executable, example, cwd=installed_package, PYTHONPATH=str(installed_package)))


@pytest.fixture(scope="module")
def cpp_examples(tmp_path_factory) -> Path:
    """The C++ examples, built with find_package by a linker that drops libraries of which no symbol is used."""
    folder = tmp_path_factory.mktemp("cpp")
    run("cmake", "--install", ROOT / "build" / "release", "--prefix", folder / "prefix", cwd=folder)
    source = ROOT / "examples" / "cpp"
    configure = ("cmake", "-S", source, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release")
    linker = "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed"
    run(*configure, linker, f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}", cwd=folder)
    run("cmake", "--build", folder / "build", cwd=folder)
    return folder / "build"


def test_the_cpp_example_builds_with_find_package_and_learns(cpp_examples):
    check_training(run(cpp_examples / "train_one_layer", cwd=cpp_examples))


def test_a_cpp_program_runs_an_exported_layer(cpp_examples, tmp_path):
    """With AOTInductor, on sizes other than those of the export."""
    layer = primal.EncoderLayer(16, 4, rank=3, feed_forward=32).eval()
    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = torch.export.export(layer, (torch.randn(3, 7, 16),), dynamic_shapes={"x": sizes})
    package = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "layer.pt2"))
    output = run(cpp_examples / "run_exported", package, 2, 40, 16, cwd=tmp_path)
    with torch.no_grad():
        out, terms = layer(torch.linspace(-1, 1, 2 * 40 * 16).reshape(2, 40, 16))
    shapes = re.findall(r"^(\[.*\]) sum", output, re.M)
    sums = [float(value) for value in re.findall(r"sum (\S+)", output)]
    assert shapes == ["[2, 40, 16]", "[2]", "[2]", "[2]"]
    torch.testing.assert_close(torch.tensor(sums), torch.stack([t.sum() for t in (out, *terms)]), rtol=1e-4, atol=1e-4)
