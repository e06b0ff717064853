"""The layer agrees with tensors computed by the published research code: outputs, terms and every gradient."""

from functools import cache
from pathlib import Path

import pytest
import torch
from attention_cases import assert_near
from safetensors import safe_open

from primal import PrimalAttention, import_reference, ksvd_loss

GOLDEN = Path(__file__).parents[1] / "golden"

# variant of the file -> code base whose names it uses, and the options of the published layer (in PyTorch >= 2.0)
VARIANTS = {
    "data_dependent": ("time_series", {"padding": "ignore", "sampling": "linspace"}),
    "data_dependent_masked_output": ("lra", {"padding": "ignore", "sampling": "linspace"}),
    "causal_data_independent": ("rl", {"causal": True}),
}


@cache
def read(name):
    with safe_open(GOLDEN / f"{name}.safetensors", "pt") as file:
        return file.metadata(), {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118


# Files of whole networks have a "model" instead: primal verify computes them.
LAYER_FILES = sorted(path.stem for path in GOLDEN.glob("*.safetensors") if "variant" in read(path.stem)[0])


def under_our_names(tensors, prefix, kind):
    published = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    published.pop("x", None)
    return import_reference(published, kind)


def golden_layer(metadata, tensors, dtype):
    kind, options = VARIANTS[metadata["variant"]]
    heads, rank = int(metadata["H"]), int(metadata["s"])
    rows = min(int(metadata["N"]), rank * int(metadata.get("rank_multi", 1)))
    layer = PrimalAttention(
        int(metadata["D"]), heads, rank, rows, trace=metadata.get("trace", "raw"), dtype=dtype, **options
    )
    layer.load_state_dict(under_our_names(tensors, "param.", kind))
    return layer


def computed(name, dtype):
    """What the file holds, computed by the layer: out, e, r, Le, Lr, Tr, J, loss and the gradients."""
    metadata, tensors = read(name)
    layer = golden_layer(metadata, tensors, dtype)
    x = tensors["x"].clone().to(dtype).requires_grad_()
    mask = tensors["mask"] == 0 if "mask" in tensors else None
    out, terms = layer(x, key_padding_mask=mask)
    loss = (out * tensors["w"].to(dtype)).mean() + ksvd_loss(terms, float(metadata["eta"]), metadata["squared"])
    loss.backward()
    scores = layer.scores(x.detach(), key_padding_mask=mask)
    values = {"out": out, "e": scores.e, "r": scores.r, "loss": loss, "grad.x": x.grad}
    values |= {"Le": terms.le, "Lr": terms.lr, "Tr": terms.tr, "J": terms.objective()}
    for term in ("Le", "Lr", "Tr", "J"):
        if tensors[term].dim() == 0:  # one number for the batch
            values[term] = values[term].mean()
    return values | {f"grad.{parameter}": value.grad for parameter, value in layer.named_parameters()}


def stored(name):
    """The same of the file, with gradients under our names."""
    metadata, tensors = read(name)
    kind, _ = VARIANTS[metadata["variant"]]
    grads = under_our_names(tensors, "grad.", kind)
    names = ("out", "e", "r", "loss", "Le", "Lr", "Tr", "J", "grad.x")
    return {key: tensors[key] for key in names} | {f"grad.{parameter}": value for parameter, value in grads.items()}


def test_every_layer_file_is_here():
    assert len(LAYER_FILES) == 7


@pytest.mark.parametrize("name", LAYER_FILES)
def test_layer_agrees_with_the_research_code_in_double(name):
    torch.testing.assert_close(computed(name, torch.float64), stored(name), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", LAYER_FILES)
def test_layer_agrees_with_the_research_code_in_float(name):
    ours, theirs = computed(name, torch.float32), {key: value.float() for key, value in stored(name).items()}
    torch.testing.assert_close(ours, theirs)
    assert_near(ours, theirs, 1e-5)  # many gradients are smaller than the absolute tolerance above
