"""MultiheadPrimalAttention where PyTorch's own modules have their nn.MultiheadAttention."""

import copy
import gc
import io
import re
import warnings
import weakref

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from primal import KsvdTerms, MultiheadPrimalAttention, PrimalAttention, collect_terms, ksvd_loss

WIDTH, HEADS = 16, 4
causal_mask = nn.Transformer.generate_square_subsequent_mask


def make(batch_first=True, **options):
    return MultiheadPrimalAttention(WIDTH, HEADS, rank=3, rows=5, batch_first=batch_first, **options)


def encoder_layer(batch_first=True, causal=False, **options):
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, dropout=0.0, batch_first=batch_first, **options)
    layer.self_attn = make(batch_first, causal=causal)
    return layer


def encoder(layers=2, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says that it will use no nested tensors
        return nn.TransformerEncoder(encoder_layer(**options), layers)


def padding(*lengths, tokens=7):
    return torch.arange(tokens)[None] >= torch.tensor(lengths)[:, None]


def refuses(message, kind=ValueError):
    return pytest.raises(kind, match=re.escape(f"MultiheadPrimalAttention: {message}"))


@pytest.mark.parametrize("float_mask", [False, True])
def test_self_attention_is_that_of_the_layer_inside(float_mask):
    module, x, mask = make(), torch.randn(2, 7, WIDTH), padding(7, 4)
    given = torch.zeros(2, 7).masked_fill(mask, -torch.inf) if float_mask else mask
    out, weights = module(x, x, x, key_padding_mask=given, need_weights=False)
    expected, terms = module.attention(x, key_padding_mask=mask)
    assert weights is None
    assert torch.equal(out, expected)
    assert all(map(torch.equal, module.terms, terms))


def test_cross_attention_takes_the_mask_of_the_key():
    module, query, key = make(), torch.randn(2, 5, WIDTH), torch.randn(2, 7, WIDTH)
    out, _ = module(query, key, key, key_padding_mask=padding(7, 4))
    assert torch.equal(out, module.attention(query, key, key_padding_mask=padding(7, 4))[0])


def test_sequence_first_and_unbatched_tokens():
    module, x, mask = make(), torch.randn(2, 7, WIDTH), padding(7, 4)
    expected, _ = module(x, x, x, key_padding_mask=mask)
    turned = copy.deepcopy(module)
    turned.batch_first = False
    y = x.transpose(0, 1)
    assert torch.equal(turned(y, y, y, key_padding_mask=mask)[0], expected.transpose(0, 1))
    one = x[1]
    torch.testing.assert_close(module(one, one, one.view_as(one), key_padding_mask=mask[1])[0], expected[1])


@pytest.mark.parametrize("change", [torch.Tensor.detach, lambda x: x.view_as(x)], ids=["detached", "view"])
def test_another_tensor_of_the_same_memory_is_a_key_of_its_own(change):
    module, x, mask = make(), torch.randn(2, 7, WIDTH, requires_grad=True), padding(7, 4)
    other = change(x)
    outs = (
        module(x, other, other, key_padding_mask=mask)[0],
        module(x, other, change(other), key_padding_mask=mask)[0],
        module.attention(x, other, key_padding_mask=mask)[0],
    )
    results = [(out, torch.autograd.grad(out.square().sum(), x)[0]) for out in outs]
    assert all(torch.equal(*pair) for result in results[:2] for pair in zip(result, results[2], strict=True))
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, other, other, key_padding_mask=mask)[0], results[2][0])


def test_reentrant_checkpoint_of_self_attention_has_its_gradient():
    """It detaches each argument for itself when it calls again."""
    module, x, mask = make(), torch.randn(2, 7, WIDTH, requires_grad=True), padding(7, 4)

    def gradients(out):
        module.zero_grad()
        x.grad = None
        out.square().sum().backward()
        return [x.grad, *(p.grad for p in module.attention.parameters() if p.grad is not None)]

    expected = gradients(module(x, x, x, mask)[0])
    actual = gradients(checkpoint(lambda *args: module(*args)[0], x, x, x, mask, use_reentrant=True))
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_encoder_learns_with_the_terms_in_its_loss(batch_first, norm_first, causal):
    model, head = encoder(batch_first=batch_first, norm_first=norm_first, causal=causal), nn.Linear(WIDTH, 1)
    x, mask = torch.randn(8, 7, WIDTH), padding(7, 4, 7, 2, 1, 7, 5, 3)
    target = x.masked_fill(mask[..., None], 0).mean((1, 2), keepdim=True).squeeze(-1)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=3e-3)
    between = {"mask": causal_mask(7) < 0, "is_causal": True} if causal else {}
    losses = []
    for _ in range(25):
        tokens = x if batch_first else x.transpose(0, 1)
        out = model(tokens, src_key_padding_mask=mask, **between)
        out = (out if batch_first else out.transpose(0, 1)).masked_fill(mask[..., None], 0)
        terms = collect_terms(model)
        assert len(terms) == 2
        loss = (head(out.mean(1)) - target).square().mean() + ksvd_loss(terms, eta=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    # Only the regulariser reads Lambda.
    assert all(layer.self_attn.attention.lam.grad.abs().sum() > 0 for layer in model.layers)


@pytest.mark.parametrize("swapped_after", [False, True])
def test_evaluation_calls_the_module_and_respects_padding(swapped_after):
    """PyTorch has a kernel of its own for this case, and nested tensors, which an encoder may have chosen already."""
    if swapped_after:
        model = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True), 2)
        assert model.use_nested_tensor
        for layer in model.layers:
            layer.self_attn = make()
    else:
        model = encoder()
    model.eval()
    x, mask = torch.randn(2, 7, WIDTH), padding(7, 4)
    expected = model(x, src_key_padding_mask=mask).detach()
    calls = []
    hooks = [layer.self_attn.register_forward_hook(lambda *_: calls.append(1)) for layer in model.layers]
    other = x.masked_fill(mask[..., None], torch.nan)
    with torch.inference_mode():
        out = model(x, src_key_padding_mask=mask)
        [hook.remove() for hook in hooks]
        assert torch.equal(out, model(x, src_key_padding_mask=mask))  # and without the hooks, which forbid the kernel
        poisoned = model(other, src_key_padding_mask=mask)
    assert len(calls) == 2
    assert torch.equal(out, expected)
    assert torch.equal(poisoned[~mask], out[~mask])


def test_decoder_layer_takes_it_for_both_of_its_attentions():
    layer = nn.TransformerDecoderLayer(WIDTH, HEADS, 32, dropout=0.0, batch_first=True)
    layer.self_attn, layer.multihead_attn = make(causal=True), make()
    decoder = nn.TransformerDecoder(layer, 2)
    target, memory = torch.randn(2, 5, WIDTH), torch.randn(2, 7, WIDTH)
    masks = {"memory_key_padding_mask": padding(7, 4), "tgt_mask": causal_mask(5)}
    out = decoder(target, memory, tgt_is_causal=True, **masks)
    assert len(collect_terms(decoder)) == 4
    assert torch.equal(decoder(target, memory, **masks), out)  # the decoder sees by itself that the mask is causal
    changed = memory.masked_fill(padding(7, 4)[..., None], 9)
    assert torch.equal(decoder(target, changed, **masks), out)


@pytest.mark.parametrize("bool_mask", [False, True])
def test_causal_layer_takes_the_causal_mask_only(bool_mask):
    module, x = make(causal=True), torch.randn(2, 7, WIDTH)
    mask = causal_mask(7)
    mask = mask < 0 if bool_mask else mask
    expected, _ = module(x, x, x)
    for options in ({"attn_mask": mask}, {"attn_mask": mask, "is_causal": True}, {"is_causal": True}):
        assert torch.equal(module(x, x, x, **options)[0], expected)
    for wrong in (mask.T, torch.zeros_like(mask), mask[:5, :5], mask[None]):
        with refuses("attn_mask must be"):
            module(x, x, x, attn_mask=wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"need_weights": True}, "there are no attention weights to return; pass need_weights=False"),
        ({"value": torch.zeros(2, 7, WIDTH)}, "value must be the same tensor as key"),
        ({"attn_mask": causal_mask(7)}, "attn_mask needs a layer built with causal=True"),
        ({"is_causal": True}, "is_causal=True needs a layer built with causal=True"),
        ({"key_padding_mask": torch.full((2, 7), -1e9)}, "a float key_padding_mask must be 0 or -inf everywhere"),
        ({"key_padding_mask": padding(7)[0]}, "key_padding_mask must be a tensor of 2 dimensions, got [7]"),
        ({"key_padding_mask": [True, False]}, "key_padding_mask must be a tensor of 2 dimensions, got list"),
        ({"query": torch.zeros(7, WIDTH)}, "key must have 3 dimensions, or all 2, got [2, 7, 16]"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_the_method_has_not_is_refused(options, message):
    x = torch.randn(2, 7, WIDTH)
    with refuses(message):
        make()(**{"query": x, "key": x, "value": x} | options)


def test_masks_and_tokens_of_another_type_are_refused():
    x = torch.randn(2, 7, WIDTH)
    with refuses("key_padding_mask must be bool or float, got torch.int64", TypeError):
        make()(x, x, x, key_padding_mask=torch.zeros(2, 7, dtype=torch.int64))
    with refuses("query must be a tensor, got numpy.ndarray", TypeError):
        make()(x.numpy(), x, x)
    with refuses("query is a nested tensor; pad it", TypeError):
        make()(torch.nested.nested_tensor([x[0], x[1, :4]]), x, x)


def test_copies_and_files_hold_no_graph():
    module, x = make(), torch.randn(2, 7, WIDTH)
    module(x, x, x)
    assert module.terms.le.requires_grad
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    for twin in (copy.deepcopy(module), torch.load(file, weights_only=False)):
        assert twin.terms is None
        assert torch.equal(twin(x, x, x)[0], module(x, x, x)[0])


def call(module):
    """Its tokens live as long as the graph of the call."""
    x = torch.randn(2, 7, WIDTH)
    module(x, x, x)
    return weakref.ref(x)


def test_terms_are_those_of_the_last_call_and_keep_no_other():
    module = make()
    first, second = call(module), call(module)
    gc.collect()
    assert first() is None
    assert second() is not None
    (terms,) = collect_terms(module)
    assert isinstance(terms, KsvdTerms)
    assert module.terms is None
    del terms
    gc.collect()
    assert second() is None
    with pytest.raises(ValueError, match="no MultiheadPrimalAttention of the model has been called"):
        collect_terms(module)


def test_terms_without_gradient_are_refused_in_training():
    model, x = encoder(1), torch.randn(2, 7, WIDTH)
    checkpoint(model, x.requires_grad_(), use_reentrant=True)
    with pytest.raises(ValueError, match=r"those of 'layers\.0\.self_attn' carry no gradient"):
        collect_terms(model)
    checkpoint(model, x, use_reentrant=False)
    assert collect_terms(model)[0].le.requires_grad
    model(x)
    with torch.no_grad():
        model(x)
        assert len(collect_terms(model)) == 1


@pytest.mark.parametrize("causal", [False, True])
def test_compiled_encoder_equals_the_eager_one(causal):
    torch._dynamo.reset()
    model, x, mask = encoder(causal=causal), torch.randn(2, 7, WIDTH), padding(7, 4)
    between = {"mask": causal_mask(7) < 0, "is_causal": True} if causal else {}
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    results = []
    for run in (compiled, model):
        out = run(x, src_key_padding_mask=mask, **between)
        loss = out.square().mean() + ksvd_loss(collect_terms(model), eta=0.1)
        results.append((loss, *torch.autograd.grad(loss, list(model.parameters()))))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_exported_encoder_equals_the_eager_one():
    model, x, mask = encoder().eval(), torch.randn(2, 7, WIDTH), padding(7, 4)
    program = torch.export.export(model, (x,), {"src_key_padding_mask": mask})
    torch.testing.assert_close(program.module()(x, src_key_padding_mask=mask), model(x, src_key_padding_mask=mask))


def test_options_reach_the_layer_inside_and_its_parameters_can_be_drawn_again():
    module = make(feature_map="identity", data_dependent=False)
    assert isinstance(module.attention, PrimalAttention)
    assert (module.embed_dim, module.num_heads, module.attention.feature_map) == (WIDTH, HEADS, "identity")
    before = copy.deepcopy(module.state_dict())
    module.reset_parameters()
    assert all(not torch.equal(value, before[name]) for name, value in module.state_dict().items())
