"""The layer goes through torch.compile, torch.export, vmap, copies and casts, and stays what it was."""

import copy
import io

import pytest
import torch
from attention_cases import CAUSAL, MODES, assert_near, make_layer, random_tokens
from torch import nn

from primal import ksvd_loss, reference


class Classifier(nn.Module):
    """A small model as users write it: its loss adds the regulariser to a task loss."""

    def __init__(self, **options):
        super().__init__()
        self.norm = nn.LayerNorm(12, dtype=torch.float64)
        self.attention = make_layer(**options)
        self.head = nn.Linear(12, 2, dtype=torch.float64)

    def forward(self, x, lengths):
        out, terms = self.attention(self.norm(x), lengths=lengths)
        return self.head(x + out).square().mean() + ksvd_loss(terms, eta=0.1)


def batch_of(tokens):
    return random_tokens(3, tokens), torch.tensor([tokens, tokens // 2, 1])


def loss_and_gradients(model, parameters, tokens):
    x, lengths = batch_of(tokens)
    x.requires_grad_()
    loss = model(x, lengths)
    return loss, *torch.autograd.grad(loss, [x, *parameters])


def assert_compiled_is_eager(model, lengths, **compile_options):
    """One graph serves all lengths: a recompilation is an error."""
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, **compile_options)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for tokens in lengths:
            torch.manual_seed(tokens)
            ours = loss_and_gradients(compiled, model.parameters(), tokens)
            torch.manual_seed(tokens)
            assert_near(ours, loss_and_gradients(model, model.parameters(), tokens), 1e-12)


@pytest.mark.parametrize("mode", ["data_dependent", *CAUSAL])
def test_compiled_model_equals_the_eager_one_for_every_length(mode):
    assert_compiled_is_eager(Classifier(**MODES[mode]), lengths=(5, 7, 16, 2), dynamic=True)


def test_compiled_layer_takes_a_feature_map_written_in_python():
    def softened(u):
        return reference.cosine(u * torch.sigmoid(u))

    # One length, and no code generation: the plain PyTorch of this path takes Inductor a minute.
    assert_compiled_is_eager(Classifier(feature_map=softened), lengths=(5, 5), backend="aot_eager")


def test_compiled_cross_attention_takes_two_lengths():
    layer = make_layer()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for queries, keys in ((5, 3), (4, 9), (6, 6)):
        query, key = random_tokens(2, queries), random_tokens(2, keys)
        assert_near(compiled(query, key)[0], layer(query, key)[0], 1e-12)


def test_compiled_model_under_autocast_equals_the_eager_one():
    model = Classifier().float()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    x, lengths = batch_of(9)
    with torch.autocast("cpu", torch.bfloat16):
        losses = [m(x.float(), lengths) for m in (compiled, model)]
    grads = [torch.autograd.grad(loss, list(model.parameters())) for loss in losses]
    assert_near(*losses, 1e-6)
    assert_near(*grads, 1e-6)


@pytest.mark.parametrize("mode", CAUSAL)
def test_compiled_decoding_equals_the_eager_one(mode):
    layer = make_layer(**MODES[mode])
    compiled = torch.compile(layer.step, fullgraph=True, backend="aot_eager")
    ours = theirs = layer.initial_state(2)
    for _ in range(3):
        token = random_tokens(2, 1)
        (our_out, ours), (their_out, theirs) = compiled(token, ours), layer.step(token, theirs)
        assert_near((our_out, *ours), (their_out, *theirs), 1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_exported_model_runs_on_other_lengths_also_after_saving(mode):
    model = Classifier(**MODES[mode]).eval()
    length = torch.export.Dim("length", min=2, max=4096)
    program = torch.export.export(model, batch_of(6), dynamic_shapes={"x": {1: length}, "lengths": None})
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for exported in (program, torch.export.load(file)):
        for tokens in (2, 6, 31):
            batch = batch_of(tokens)
            assert_near(exported.module()(*batch), model(*batch), 1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_vmap_over_an_added_dimension_equals_a_loop(mode):
    layer = make_layer(**MODES[mode])
    x, masks = random_tokens(4 * 2, 5).unflatten(0, (4, 2)), torch.rand(4, 2, 5) < 0.3

    def attention(tokens, mask):
        return torch.ops.primal.attention(*layer._operands(tokens, None, (mask, None)), **layer._switches())

    with torch.no_grad():
        together = torch.vmap(attention)(x, masks)
        apart = [attention(*pair) for pair in zip(x, masks, strict=True)]
    assert_near(together, [torch.stack(parts) for parts in zip(*apart, strict=True)], 1e-12)


def test_vmap_over_the_parameters_of_an_ensemble_equals_a_loop():
    layers = [make_layer() for _ in range(3)]
    stacked, _ = torch.func.stack_module_state(layers)
    skeleton = copy.deepcopy(layers[0]).to("meta")
    x = random_tokens(2, 5)
    together = torch.vmap(lambda weights: torch.func.functional_call(skeleton, weights, x)[0])(stacked)
    assert_near(together, torch.stack([layer(x)[0] for layer in layers]), 1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_deep_copy_computes_the_same_and_shares_nothing(mode):
    layer = make_layer(**MODES[mode])
    twin = copy.deepcopy(layer)
    x = random_tokens(2, 5)
    before = layer(x)[0]
    assert torch.equal(twin(x)[0], before)
    for parameter in twin.parameters():
        parameter.data.zero_()
    assert torch.equal(layer(x)[0], before)


@pytest.mark.parametrize("mode", MODES)
def test_state_dict_survives_a_file(mode):
    layer, other = make_layer(**MODES[mode]), make_layer(**MODES[mode])
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    x = random_tokens(2, 5)
    assert torch.equal(layer(x)[0], other(x)[0])


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("mode", MODES)
def test_cast_layer_computes_in_the_new_dtype(mode, dtype, tolerance):
    layer, x = make_layer(**MODES[mode]), random_tokens(2, 5)
    cast = copy.deepcopy(layer).to(dtype)
    out, _ = cast(x.to(dtype))
    assert out.dtype == dtype
    assert_near(out, layer(x)[0], tolerance)
    assert_near(copy.deepcopy(cast).double()(x)[0], layer(x)[0], tolerance)
