"""import_reference: published parameter names and layouts become ours."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from primal.importing import import_reference

GOLDEN = Path(__file__).parents[1] / "golden"

SCORE_NAMES = {"we": "We", "wr": "Wr"}
TIME_SERIES_LAYER = {
    "q_proj": "query_projection",
    "k_proj": "key_projection",
    "v_proj": "value_projection",
    "out_proj": "out_projection",
    "lam": "inner_attention.Lambda",
    "score_proj": "inner_attention.concate_weight",
    **SCORE_NAMES,
}
LRA_LAYER = {
    "q_proj": "W_q",
    "k_proj": "W_k",
    "out_proj": "ff",
    "lam": "attn.Lambda",
    "score_proj": "attn.concate_weight",
    **SCORE_NAMES,
}
RL_LAYER = {**TIME_SERIES_LAYER, "lam": "Lambda", "score_proj": "concate_weight"}
PRIMAL_NAMES = ["lam", "we", "wr"] + [
    f"{layer}.{part}" for layer in ("q_proj", "k_proj", "score_proj", "out_proj") for part in ("weight", "bias")
]


def golden(name: str, prefix: str) -> dict[str, Tensor]:
    tensors = load_file(GOLDEN / f"{name}.safetensors")
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}


def published_name(ours: str, names: dict[str, str]) -> str:
    module, dot, part = ours.partition(".")
    return names[module] + dot + part


def linear(published: dict[str, Tensor], name: str, out_width: int, in_width: int) -> None:
    published[f"{name}.weight"] = torch.randn(out_width, in_width)
    published[f"{name}.bias"] = torch.randn(out_width)


@pytest.mark.parametrize(
    ("file", "kind", "names"),
    [
        ("data_dependent_small", "time_series", TIME_SERIES_LAYER),
        ("data_dependent_odd", "time_series", TIME_SERIES_LAYER),
        ("data_dependent_all_rows", "time_series", TIME_SERIES_LAYER),
        ("masked_trace_raw", "lra", LRA_LAYER),
        ("masked_trace_data", "lra", LRA_LAYER),
        ("causal_small", "rl", RL_LAYER),
        ("causal_rank_above_width", "rl", RL_LAYER),
    ],
)
def test_golden_layer_keeps_every_value_under_our_name(file: str, kind: str, names: dict[str, str]) -> None:
    published = golden(file, "param.")
    ours = import_reference(published, kind)
    assert sorted(ours) == sorted(PRIMAL_NAMES)
    for name, value in ours.items():
        assert value.dtype == torch.float64
        assert torch.equal(value, published[published_name(name, names)]), name


@pytest.mark.parametrize("file", ["causal_small", "causal_rank_above_width"])
def test_imported_golden_layer_computes_the_golden_output(file: str) -> None:
    tensors = load_file(GOLDEN / f"{file}.safetensors")
    p = import_reference(golden(file, "param."), "rl")
    x, heads = tensors["x"], p["we"].size(0)

    def scores(name: str, weight: Tensor) -> Tensor:
        projected = functional.linear(x, p[f"{name}.weight"], p[f"{name}.bias"]).cumsum(1)
        return functional.normalize(projected.unflatten(2, (heads, -1)), dim=-1).transpose(1, 2) @ weight

    both = torch.cat([scores("q_proj", p["we"]), scores("k_proj", p["wr"])], dim=-1)
    merged = functional.linear(both, p["score_proj.weight"], p["score_proj.bias"]).transpose(1, 2).flatten(2)
    out = functional.linear(merged, p["out_proj.weight"], p["out_proj.bias"])
    torch.testing.assert_close(out, tensors["out"], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("file", "softmax_layers"), [("time_series_primalformer", set()), ("time_series_primal_plus", {0})]
)
def test_golden_time_series_model(file: str, softmax_layers: set[int]) -> None:
    published = golden(file, "state.")
    ours = import_reference(published, "time_series")
    assert len(ours) == len(published)
    outside = {"embedding": "project_inp", "head": "output_layer", "encoder.norm": "encoder.norm"}
    inside = {"norm1": "norm1", "norm2": "norm2", "linear1.bias": "conv1.bias", "linear2.bias": "conv2.bias"}
    for name, value in ours.items():
        if name.startswith("encoder.layers."):
            layer, rest = name.removeprefix("encoder.layers.").split(".", 1)
            before = f"encoder.attn_layers.{layer}."
            if rest.startswith("attention."):
                original = before + "attention." + published_name(rest.removeprefix("attention."), TIME_SERIES_LAYER)
                expected = published[original]
            elif rest in ("linear1.weight", "linear2.weight"):
                expected = published[before + rest.replace("linear", "conv")].squeeze(-1)
            else:
                module = rest if rest in inside else rest.partition(".")[0]
                expected = published[before + rest.replace(module, inside[module])]
        elif name == "positions":
            expected = published["pos_enc.pe"].squeeze(1)
        else:
            module = name.rpartition(".")[0]
            expected = published[name.replace(module, outside[module])]
        assert torch.equal(value, expected), name
        assert value.is_contiguous(), name
    for layer in range(2):
        assert (f"encoder.layers.{layer}.attention.v_proj.weight" in ours) == (layer in softmax_layers)
        assert (f"encoder.layers.{layer}.attention.we" in ours) == (layer not in softmax_layers)


def test_fused_gpt2_projection_gives_the_same_queries_keys_and_values() -> None:
    width = 6
    published = {
        "c_attn.weight": torch.randn(width, 3 * width),
        "c_attn.bias": torch.randn(3 * width),
        "c_proj.weight": torch.randn(width, width),
        "c_proj.bias": torch.randn(width),
        "bias": torch.ones(1, 1, 4, 4),
        "masked_bias": torch.tensor(-1e4),
    }
    p = import_reference(published, "rl")
    assert len(p) == 8
    x = torch.randn(2, width)
    fused = x @ published["c_attn.weight"] + published["c_attn.bias"]
    for name, expected in zip(("q_proj", "k_proj", "v_proj"), fused.chunk(3, dim=-1), strict=True):
        torch.testing.assert_close(functional.linear(x, p[f"{name}.weight"], p[f"{name}.bias"]), expected)
    torch.testing.assert_close(
        functional.linear(x, p["out_proj.weight"], p["out_proj.bias"]),
        x @ published["c_proj.weight"] + published["c_proj.bias"],
    )


@pytest.mark.parametrize(("fused", "parts"), [("qkv", "qkv"), ("qk", "qk")])
def test_fused_vision_projection_gives_the_same_parts(fused: str, parts: str) -> None:
    width, heads, rank = 6, 2, 4
    published: dict[str, Tensor] = {}
    linear(published, fused, len(parts) * width, width)
    linear(published, "proj", width, width)
    if fused == "qk":
        linear(published, "concate_weight", width // heads, 2 * rank)
        published |= {"we": torch.randn(heads, 5, rank), "wr": torch.randn(heads, 5, rank)}
        published["Lambda"] = torch.randn(heads, rank)
    p = import_reference(published, "vision")
    x = torch.randn(2, width)
    expected = functional.linear(x, published[f"{fused}.weight"], published[f"{fused}.bias"]).chunk(len(parts), -1)
    for part, value in zip(parts, expected, strict=True):
        torch.testing.assert_close(functional.linear(x, p[f"{part}_proj.weight"], p[f"{part}_proj.bias"]), value)


@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", "model"])
def test_published_checkpoints_are_unwrapped(key: str) -> None:
    published = golden("causal_small", "param.")
    checkpoint = {"epoch": 3, key: {f"module.{name}": value for name, value in published.items()}, "optimizer": {}}
    ours = import_reference(checkpoint, "rl")
    assert sorted(ours) == sorted(PRIMAL_NAMES)


def test_result_can_be_stored_as_safetensors(tmp_path: Path) -> None:
    published: dict[str, Tensor] = {}
    linear(published, "qkv", 12, 4)
    linear(published, "proj", 4, 4)
    ours = import_reference(published, "vision")
    save_file(ours, tmp_path / "layer.safetensors")
    assert sorted(load_file(tmp_path / "layer.safetensors")) == sorted(ours)


def test_parameters_come_out_as_plain_tensors() -> None:
    published = {name: nn.Parameter(value) for name, value in golden("causal_small", "param.").items()}
    for value in import_reference(published, "rl").values():
        assert not value.requires_grad
        assert type(value) is Tensor


def test_missing_and_unknown_keys_are_one_value_error() -> None:
    published = golden("masked_trace_raw", "param.")
    del published["We"], published["ff.bias"]
    published["foo"] = torch.zeros(1)
    with pytest.raises(ValueError, match=r"^import_reference\(lra\): missing keys: We, ff.bias; unknown keys: foo$"):
        import_reference(published, "lra")


def test_gap_in_the_layer_numbers_is_an_error() -> None:
    published = golden("time_series_primalformer", "state.")
    moved = {name.replace("attn_layers.1.", "attn_layers.2."): value for name, value in published.items()}
    with pytest.raises(ValueError, match=r"numbered 0, 2, expected 0\.\.1 without gaps"):
        import_reference(moved, "time_series")


def test_unknown_kind_lists_the_kinds() -> None:
    with pytest.raises(ValueError, match="expected one of time_series, lra, rl, vision, language"):
        import_reference({}, "audio")  # type: ignore[arg-type]


def test_values_must_be_tensors() -> None:
    with pytest.raises(TypeError, match=r"^import_reference\(rl\): epoch is of type int, expected a tensor$"):
        import_reference({"epoch": 3}, "rl")


@pytest.mark.parametrize(
    ("names", "message"), [(["We"], "1 names for 2 tensors"), (["We", "We"], "key We is given twice")]
)
def test_operator_checks_its_lists(names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        torch.ops.primal_util.import_reference(names, [torch.zeros(1)] * 2, "rl")
