"""The program from the outside: output, exit codes, one-line errors."""

import os
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from primal import import_reference, reference

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build" / "release" / "bin" / "primal"
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.safetensors"))


def metadata_of(path):
    with safe_open(path, "pt") as file:
        return file.metadata()


LAYER_FILES = [p for p in GOLDEN if "variant" in metadata_of(p)]
TRAINING_FILES = [p for p in GOLDEN if "steps" in metadata_of(p)]
# Results of a file besides the gradients: of a layer, of a training, of a pass through a network.
PASS_RESULTS = {
    "time_series_classifier": 4,
    "lra_classifier": 5,
    "lra_pair_classifier": 5,
    "language_model": 5,
    "decision_transformer": 8,
}
# Other options than those of the file, which its figures must tell from them.
OTHER_TRAINING = [
    *((p, key, value) for p in TRAINING_FILES for key, value in [("lr", "0.00101"), ("eta", "0")]),
    *((p, "optimizer", "adam") for p in TRAINING_FILES if "radam" in metadata_of(p)["optimizer"]),
    *((p, "clip", "4.001") for p in TRAINING_FILES if metadata_of(p)["clip"] != "0"),
    *((p, "warmup", "5") for p in TRAINING_FILES if "warmup" in metadata_of(p)),
]


def run(*arguments, **environment):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def is_one_line(text):
    return text.count("\n") == 1 and text.endswith("\n")


def load(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def gradients_in(path):
    tensors, metadata = load(path)
    gradients = {name.removeprefix("grad."): value for name, value in tensors.items() if name.startswith("grad.")}
    if metadata.get("model") == "decision_transformer":  # one tensor for q, k and v, and one that nothing reads
        return import_reference(gradients, "rl")
    return gradients


def test_info_names_versions_cpu_and_the_kernel_in_use():
    result = run("info")
    assert result.returncode == 0
    assert "LibTorch       2.13.0" in result.stdout
    assert sum(line.split()[1:2] == ["used"] for line in result.stdout.splitlines()) == 1
    for line in result.stdout.split("kernels (")[1].splitlines()[1:]:
        name, *rest = line.split()
        assert rest == ["used"] or len(rest) > 3, f"no reason given for {name}"


def test_info_tells_which_kernel_the_environment_chose():
    result = run("info", PRIMAL_CPU="SSE4")
    assert result.returncode == 0
    assert any(line.split()[:2] == ["SSE4", "used"] for line in result.stdout.splitlines())
    assert "PRIMAL_CPU asks for another" in result.stdout


def test_unknown_kernel_is_an_error_that_lists_the_known_ones():
    result = run("info", PRIMAL_CPU="AVX9")
    assert result.returncode == 2
    assert is_one_line(result.stderr)
    assert "primal info: PRIMAL_CPU=AVX9" in result.stderr
    assert "SSE4" in result.stderr


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
@pytest.mark.parametrize("cpu", ["", "SSE4"])
def test_verify_accepts_golden_files(path, cpu):
    result = run("verify", path, **({"PRIMAL_CPU": cpu} if cpu else {}))
    assert result.returncode == 0, result.stdout + result.stderr
    others = 8 if path in LAYER_FILES else 3 if path in TRAINING_FILES else PASS_RESULTS[metadata_of(path)["model"]]
    assert f"ok: {len(gradients_in(path)) + others} tensors, 0 above tolerance" in result.stdout


@pytest.mark.parametrize("name", ["out", "e", "Tr", "grad.We", "grad.x", "loss"])
def test_verify_finds_a_wrong_tensor(tmp_path, name):
    tensors, metadata = load(LAYER_FILES[0])
    tensors[name] = tensors[name] + 1e-4
    save_file(tensors, tmp_path / "wrong.safetensors", metadata)
    result = run("verify", LAYER_FILES[1], tmp_path / "wrong.safetensors")
    assert result.returncode == 1
    assert result.stdout.count("above 1e-10 in double") == 1
    assert "FAILED: 20 tensors, 1 above tolerance" in result.stdout


@pytest.mark.parametrize(("path", "key", "value"), OTHER_TRAINING, ids=lambda x: getattr(x, "stem", x))
def test_verify_finds_training_that_was_done_otherwise(tmp_path, path, key, value):
    tensors, metadata = load(path)
    save_file(tensors, tmp_path / "other.safetensors", metadata | {key: value})
    result = run("verify", tmp_path / "other.safetensors")
    assert result.returncode == 1
    assert "above 1e-10 in double" in result.stdout


def golden_by_oracle(batch, tokens, heads, head_dim, rank, rank_multi):
    """A file of the variant data_dependent with sizes of our choice, computed by the oracle."""
    width, rows = heads * head_dim, min(tokens, rank * rank_multi)
    shapes = {
        "query_projection.weight": (width, width),
        "query_projection.bias": (width,),
        "key_projection.weight": (width, width),
        "key_projection.bias": (width,),
        "We": (heads, rows, rank),
        "Wr": (heads, rows, rank),
        "inner_attention.Lambda": (heads, rank),
        "inner_attention.concate_weight.weight": (head_dim, 2 * rank),
        "inner_attention.concate_weight.bias": (head_dim,),
        "out_projection.weight": (width, width),
        "out_projection.bias": (width,),
    }
    generator = torch.Generator().manual_seed(7)
    draw = lambda *shape: torch.randn(shape, dtype=torch.float64, generator=generator)  # noqa: E731
    params = {name: (draw(*shape) / max(shape)).requires_grad_() for name, shape in shapes.items()}
    x, w = draw(batch, tokens, width).requires_grad_(), draw(batch, tokens, width)
    values = dict(params)
    values["inner_attention.Lambda"] = params["inner_attention.Lambda"].square()
    result = reference.attention(x, None, reference.Parameters(*values.values()), padding="ignore", sampling="linspace")
    j = reference.ksvd_objective(result.le, result.lr, result.tr)
    loss = (result.out * w).mean() + 0.3 * j.square().mean()
    loss.backward()
    tensors = {"x": x, "w": w, "out": result.out, "e": result.e, "r": result.r, "Le": result.le, "Lr": result.lr}
    tensors |= {"Tr": result.tr[0], "J": j, "loss": loss, "grad.x": x.grad}
    tensors |= {f"param.{k}": v for k, v in params.items()} | {f"grad.{k}": v.grad for k, v in params.items()}
    metadata = {"variant": "data_dependent", "squared": "per_sample", "eta": "0.3", "B": str(batch), "N": str(tokens)}
    metadata |= {"D": str(width), "H": str(heads), "s": str(rank), "rank_multi": str(rank_multi)}
    return {k: v.detach().clone() for k, v in tensors.items()}, metadata


# (51, 26) is a pair of sizes where torch's integer linspace and the exact rule take different rows.
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1, 1, 1), (2, 51, 3, 5, 13, 2), (4, 130, 2, 16, 20, 5), (1, 9, 8, 3, 7, 1)]
)
def test_verify_works_for_files_of_any_size(tmp_path, sizes):
    tensors, metadata = golden_by_oracle(*sizes)
    save_file(tensors, tmp_path / "any.safetensors", metadata)
    result = run("verify", tmp_path / "any.safetensors")
    assert result.returncode == 0, result.stdout + result.stderr


def broken_files():
    tensors, metadata = load(LAYER_FILES[0])
    yield "no tensor", {k: v for k, v in tensors.items() if k != "out"}, metadata
    yield "missing keys: Wr", {k: v for k, v in tensors.items() if k != "param.Wr"}, metadata
    yield 'unknown variant "other"', tensors, metadata | {"variant": "other"}
    yield 'metadata "eta" is not a number: "big"', tensors, metadata | {"eta": "big"}
    yield 'no "s" in the metadata', tensors, {k: v for k, v in metadata.items() if k != "s"}
    yield "width 16 is not divisible by 3 heads", tensors, metadata | {"H": "3"}
    yield "the metadata asks for", tensors, metadata | {"s": "4"}
    yield "tensor out has shape", tensors | {"out": tensors["out"][:1]}, metadata
    yield 'no "layers" in the metadata', tensors, metadata | {"model": "time_series_classifier"}
    yield 'unknown model "other"', tensors, metadata | {"model": "other", "layers": "primal"}
    tensors, metadata = load(next(p for p in GOLDEN if p.stem == "time_series_primal_plus"))
    yield 'unknown attention "other"', tensors, metadata | {"layers": "other,primal"}
    yield "head.weight has shape", tensors, metadata | {"classes": "5"}
    yield "no parameter encoder.layers.2", tensors, metadata | {"layers": "softmax,primal,primal"}
    tensors, metadata = load(next(p for p in TRAINING_FILES if p.stem == "time_series_primal_plus_training"))
    yield "losses of 40 steps, the metadata asks for 4000000000", tensors, metadata | {"steps": "4000000000"}
    yield 'optimizer "adamm" is unknown, expected one of adamw, adam', tensors, metadata | {"optimizer": "adamm"}
    yield 'no "clip" in the metadata', tensors, {k: v for k, v in metadata.items() if k != "clip"}


@pytest.mark.parametrize(
    ("message", "tensors", "metadata"), list(broken_files()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_verify_refuses_a_broken_file_in_one_line(tmp_path, message, tensors, metadata):
    save_file({k: v.contiguous() for k, v in tensors.items()}, tmp_path / "broken.safetensors", metadata)
    result = run("verify", tmp_path / "broken.safetensors")
    assert result.returncode == 2
    assert is_one_line(result.stderr), result.stderr
    assert result.stderr.startswith(f"primal verify: {tmp_path}/broken.safetensors: ")
    assert message in result.stderr


def test_verify_names_a_file_that_does_not_exist(tmp_path):
    result = run("verify", tmp_path / "absent.safetensors")
    assert result.returncode == 2
    assert is_one_line(result.stderr)
    assert "absent.safetensors" in result.stderr


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("verify",), ("info", "--nonsense")])
def test_wrong_usage_is_one_line_and_exit_code_2(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert is_one_line(result.stderr)
    assert result.stderr.startswith("primal")


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("verify", "--help"), ("info", "--help"), ("data", "--help", "lst")]
)
def test_help_and_version_exit_with_0(arguments):
    result = run(*arguments)
    assert result.returncode == 0
    assert result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "primal: there is no command trian; did you mean train? (--help lists all)"),
        (["data", "--data", "x", "lst"], "primal: there is no command lst; did you mean list? (--help lists all)"),
        (["data", "--data=x", "inf"], "primal: there is no command inf; did you mean info? (--help lists all)"),
        (["data", "--dta", "x", "list"], "primal data: The following arguments were not expected: x --dta; try --help"),
        (["data", "lst"], "primal: there is no command lst; did you mean list? (--help lists all)"),
        (["train", "--seed", "-1"], "primal train: --seed: expected a whole number, at least 0, got -1; try --help"),
        (["train", "--seed", "x"], "primal train: --seed: expected a whole number, at least 0, got x; try --help"),
        (["sweep", "a", "--jobs", "0"], "primal sweep: --jobs: expected a whole number, at least 1, got 0; try --help"),
    ],
)
def test_mistakes_on_the_command_line_are_named(words, message):
    result = run(*words)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message + "\n")


@pytest.mark.parametrize("command", ["train", "eval", "predict", "report", "sweep", "data"])
def test_help_has_examples(command):
    result = run(command, "--help")
    assert result.returncode == 0
    assert f"\n  primal {command}" in result.stdout.split("Examples:")[1]
