"""Layers as they are, exported, saved and run on other sizes; docs/exporting.md."""

import copy
import io

import pytest
import torch
from attention_cases import CAUSAL, MODES
from torch import nn
from torch.export import Dim, export

import primal

WIDTH = 16
BOTH = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
BATCH = {0: Dim.DYNAMIC}
every_mode = pytest.mark.parametrize("mode", MODES)
every_implementation = pytest.mark.parametrize("implementation", ["auto", "plain"])
every_kind = pytest.mark.parametrize("kind", ["attention", "encoder_layer"])


def make(kind, mode, implementation):
    options = MODES[mode] | {"implementation": implementation}
    if kind == "attention":
        return primal.PrimalAttention(WIDTH, 4, 3, 5, **options).eval()
    options["attention_memory"] = options.pop("memory", "mean")  # the layer's own is in test_mixing_layer.py
    return primal.EncoderLayer(WIDTH, 4, 3, 5, feed_forward=20, **options).eval()


def saved_and_loaded(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


@every_implementation
@every_mode
@every_kind
def test_bare_layer_survives_a_file_and_takes_any_batch_and_length(kind, mode, implementation):
    layer = make(kind, mode, implementation)
    shapes = {"query" if kind == "attention" else "x": BOTH, "key_padding_mask": BOTH}
    mask = {"key_padding_mask": torch.zeros(3, 7).bool()}
    program = export(layer, (torch.randn(3, 7, WIDTH),), mask, dynamic_shapes=shapes)
    loaded = saved_and_loaded(program).module()
    for batch, tokens in ((2, 5), (6, 40)):
        x, mask = torch.randn(batch, tokens, WIDTH), torch.rand(batch, tokens) < 0.3
        out, terms = loaded(x, key_padding_mask=mask)
        assert isinstance(terms, primal.KsvdTerms)
        expected_out, expected_terms = layer(x, key_padding_mask=mask)
        torch.testing.assert_close(out, expected_out)
        torch.testing.assert_close(tuple(terms), tuple(expected_terms))


class Step(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, tokens, state):
        return self.layer.step(tokens, state)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("kind", "operator"), [("attention", "attention"), ("encoder_layer", "encoder_layer")])
def test_exported_layer_keeps_its_operator(kind, operator, strict):
    layer = make(kind, "data_dependent", "auto")
    program = export(layer, (torch.randn(3, 7, WIDTH),), strict=strict)
    assert f"primal.{operator}.default" in [str(node.target) for node in program.graph.nodes]


@pytest.mark.parametrize("mode", CAUSAL)
@every_implementation
@every_kind
def test_step_survives_a_file_and_takes_any_batch_and_length(kind, implementation, mode):
    layer = make(kind, mode, implementation)
    shapes = {"tokens": BOTH, "state": primal.State(BATCH, BATCH, BATCH)}
    program = export(Step(layer), (torch.randn(3, 2, WIDTH), layer.initial_state(3)), dynamic_shapes=shapes)
    loaded = saved_and_loaded(program).module()
    ours = theirs = layer.initial_state(5)
    for tokens in (4, 3):
        x = torch.randn(5, tokens, WIDTH)
        (our_out, ours), (their_out, theirs) = loaded(x, ours), layer.step(x, theirs)
        assert isinstance(ours, primal.State)
        torch.testing.assert_close((our_out, *ours), (their_out, *theirs))


class SomeTokens(nn.Module):
    """How many tokens and series are left is known only when it runs."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, series, tokens):
        x = x[series][:, tokens.nonzero().squeeze(-1)]
        return self.layer(x, lengths=torch.full((x.shape[0],), 2))[0]


@every_implementation
@every_mode
@every_kind
def test_sizes_that_depend_on_the_data(kind, mode, implementation):
    model, x = SomeTokens(make(kind, mode, implementation)), torch.randn(4, 9, WIDTH)
    series, tokens = torch.arange(4) > 0, torch.arange(9) % 2 == 0
    program = export(model, (x, series, tokens)).module()
    for arguments in ((x, series, tokens), (x, ~series, tokens), (x, torch.ones(4).bool(), torch.arange(9) < 8)):
        torch.testing.assert_close(program(*arguments), model(*arguments))


@every_implementation
@every_kind
def test_a_mask_of_another_size_is_refused_in_a_graph(kind, implementation):
    """Its own functions would spread one row over all."""
    layer, x = make(kind, "data_dependent", implementation), torch.randn(3, 7, WIDTH)
    for given in ({"key_padding_mask": torch.zeros(1, 7).bool()}, {"lengths": torch.tensor([5])}):
        for dynamic in (False, True):
            torch._dynamo.reset()
            compiled = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend="aot_eager")
            with pytest.raises((ValueError, RuntimeError)):
                compiled(x, **given)
    shapes = {"query" if kind == "attention" else "x": BOTH, "key_padding_mask": BOTH}
    program = export(layer, (x,), {"key_padding_mask": torch.zeros(3, 7).bool()}, dynamic_shapes=shapes).module()
    with pytest.raises((AssertionError, RuntimeError, ValueError)):
        program(x, key_padding_mask=torch.zeros(1, 7).bool())


class SomeMasked(SomeTokens):
    def forward(self, x, series, mask):
        return self.layer(x[series], key_padding_mask=mask[series.nonzero().squeeze(-1)])[0]


@every_implementation
@every_kind
def test_masks_whose_size_depends_on_the_data(kind, implementation):
    model, x = SomeMasked(make(kind, "data_dependent", implementation)), torch.randn(4, 9, WIDTH)
    series, mask = torch.arange(4) > 0, torch.rand(4, 9) < 0.3
    program = export(model, (x, series, mask)).module()
    for some in (series, ~series):
        torch.testing.assert_close(program(x, some, mask), model(x, some, mask))


def test_states_and_terms_are_loaded_as_weights():
    """torch.load's default takes known types only."""
    layer = make("attention", "causal", "auto")
    values = [layer.initial_state(2), layer(torch.randn(2, 5, WIDTH))[1]]
    file = io.BytesIO()
    torch.save(copy.deepcopy([type(v)(*(t.detach() for t in v)) for v in values]), file)
    file.seek(0)
    assert [type(value) for value in torch.load(file)] == [primal.State, primal.KsvdTerms]
