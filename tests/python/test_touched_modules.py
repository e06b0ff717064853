"""A submodule that is hooked, wrapped, replaced or parametrised is obeyed, in every dtype."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

import primal

ATTENTION_PARTS = ("q_proj", "k_proj", "score_proj", "out_proj")
ENCODER_PARTS = ("linear1", "linear2", "norm1", "norm2", *(f"attention.{name}" for name in ATTENTION_PARTS))
both_dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)


class Hidden(nn.Module):
    """A wrapper that changes nothing and shows no options of what it wraps."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)


class Wrapped(Hidden):
    """As an adapter does it: the module itself and something behind it."""

    def forward(self, *args, **kwargs):
        result = super().forward(*args, **kwargs)
        return result.sin() if isinstance(result, torch.Tensor) else (result[0].sin(), result[1])


class Bent(nn.Linear):
    def forward(self, x):
        return super().forward(x).sin()


class BentCall(nn.Linear):
    def __call__(self, x):
        return super().__call__(x).sin()


def bent(linear, kind=Bent):
    own = kind(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
    own.load_state_dict(linear.state_dict())
    return own


def with_own_forward(module):
    before = module.forward
    module.forward = lambda x: before(x).sin()
    return module


def hooked(module):
    module.register_forward_hook(lambda _module, _args, out: out.sin())
    return module


def hooked_before(module):
    module.register_forward_pre_hook(lambda _module, args: (args[0].sin(),))
    return module


def make(dtype, kind="encoder", **options):
    torch.manual_seed(3)
    if kind == "attention":
        return primal.PrimalAttention(12, 3, 4, 5, dtype=dtype, **options).eval()
    return primal.EncoderLayer(12, 3, 4, 5, feed_forward=7, dtype=dtype, **options).eval()


def replace(layer, name, change):
    owner = layer.get_submodule(name.rpartition(".")[0])
    setattr(owner, name.rpartition(".")[2], change(layer.get_submodule(name)))


def out_of(layer, dtype):
    return layer(torch.linspace(-2, 2, 2 * 9 * 12, dtype=dtype).sin().view(2, 9, 12))[0]


def assert_obeyed(kind, dtype, name, change, **options):
    """Changed, and to what the layer composed of called modules gives."""
    layer, plain = make(dtype, kind, **options), make(dtype, kind, implementation="plain", **options)
    before = out_of(layer, dtype)
    for one in (layer, plain):
        replace(one, name, change)
    tolerance = {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(out_of(layer, dtype), out_of(plain, dtype), **tolerance)
    assert not torch.allclose(out_of(layer, dtype), before, **tolerance)


@both_dtypes
@pytest.mark.parametrize(
    "change", [Wrapped, with_own_forward, hooked, hooked_before], ids=lambda change: change.__name__
)
def test_every_part_is_called_when_it_is_touched(dtype, change):
    for name in ATTENTION_PARTS:
        assert_obeyed("attention", dtype, name, change)
    for name in ENCODER_PARTS:
        assert_obeyed("encoder", dtype, name, change)


@both_dtypes
def test_a_subclass_of_a_part_runs_its_own_forward(dtype):
    for name in ATTENTION_PARTS:
        assert_obeyed("attention", dtype, name, bent)
    for name in ("linear1", "attention.q_proj", "attention.out_proj"):
        assert_obeyed("encoder", dtype, name, bent)


@both_dtypes
def test_a_subclass_of_a_part_is_called_by_its_own_call(dtype):
    for kind, name in (("attention", "q_proj"), ("encoder", "linear1"), ("encoder", "attention.out_proj")):
        assert_obeyed(kind, dtype, name, lambda linear: bent(linear, BentCall))


@both_dtypes
@pytest.mark.parametrize("kind", ["attention", "encoder"])
@pytest.mark.parametrize(
    "change",
    [
        parametrizations.spectral_norm,
        torch.nn.utils.spectral_norm,
        lambda m: prune.random_unstructured(m, "weight", 0.5),
        parametrizations.orthogonal,
    ],
    ids=["spectral_norm", "old spectral_norm", "prune", "orthogonal"],
)
def test_weights_made_anew_are_used(kind, dtype, change):
    def seeded(module):
        torch.manual_seed(5)
        return change(module)

    for name in ATTENTION_PARTS[1:] if kind == "attention" else ("linear1", "linear2", "attention.out_proj"):
        assert_obeyed(kind, dtype, name, seeded)


@pytest.mark.filterwarnings("ignore:.*weight_norm.*")
@both_dtypes
@pytest.mark.parametrize("norm", [torch.nn.utils.weight_norm, parametrizations.weight_norm], ids=["old", "new"])
@pytest.mark.parametrize(("kind", "name"), [("attention", "out_proj"), ("encoder", "linear1")])
def test_weight_norm_uses_the_weight_of_now(kind, name, dtype, norm):
    layer = make(dtype, kind)
    replace(layer, name, norm)
    before = out_of(layer, dtype)
    out = out_of(layer, dtype).square().sum()
    grads = torch.autograd.grad(out, list(layer.parameters()), allow_unused=True)
    given = dict(zip((name for name, _ in layer.named_parameters()), grads, strict=True))
    gains = [key for key in given if key.endswith(("weight_g", "original0"))]
    assert all(given[key] is not None for key in gains)
    with torch.no_grad():
        layer.get_parameter(gains[0]).mul_(2)
    assert not torch.allclose(out_of(layer, dtype), before, atol=1e-4)


@both_dtypes
def test_hooks_run(dtype):
    for name in ("attention", *ENCODER_PARTS):
        layer, calls = make(dtype), []
        part = layer.get_submodule(name)
        part.register_forward_hook(lambda *_, calls=calls: calls.append("after"))
        part.register_forward_pre_hook(lambda *_, calls=calls: calls.append("before"))
        part.register_full_backward_hook(lambda *_, calls=calls: calls.append("backward"))
        out_of(layer, dtype).sum().backward()
        assert calls == ["before", "after", "backward"], name


@both_dtypes
def test_global_hooks_run(dtype):
    layer, seen = make(dtype), set()
    handle = nn.modules.module.register_module_forward_hook(lambda module, *_: seen.add(type(module)))
    try:
        out_of(layer, dtype)
    finally:
        handle.remove()
    assert seen == {primal.EncoderLayer, primal.PrimalAttention, nn.Linear, nn.LayerNorm}


@both_dtypes
def test_hooks_run_in_scores_and_steps(dtype):
    layer, calls = make(dtype, "attention", causal=True), []
    layer.q_proj.register_forward_hook(lambda *_: calls.append(1))
    x = torch.randn(2, 3, 12, dtype=dtype)
    layer.scores(x)
    layer.step(x, layer.initial_state(2))
    assert len(calls) == 2


@both_dtypes
@pytest.mark.parametrize("name", ["norm1", "norm2"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_eps_of_each_norm_is_read(dtype, name, norm_first):
    def widened(norm):
        norm.eps = 0.5
        return norm

    assert_obeyed("encoder", dtype, name, widened, norm_first=norm_first)


@both_dtypes
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("norm1", lambda _: nn.Identity()),
        ("norm2", lambda norm: nn.LayerNorm(12, elementwise_affine=False, eps=0.1, dtype=norm.weight.dtype)),
        ("norm2", lambda norm: nn.LayerNorm((9, 12), dtype=norm.weight.dtype)),
        ("linear1", lambda linear: nn.Linear(12, 7, bias=False, dtype=linear.weight.dtype)),
    ],
    ids=["identity", "without weights", "over tokens", "without bias"],
)
def test_replaced_parts_are_called(dtype, name, change):
    def seeded(module):
        torch.manual_seed(5)
        return change(module)

    assert_obeyed("encoder", dtype, name, seeded)


class Doubled(primal.PrimalAttention):
    def forward(self, *args, **kwargs):
        out, terms = super().forward(*args, **kwargs)
        return 2 * out, terms


@both_dtypes
def test_an_attention_with_its_own_forward_is_called(dtype):
    def doubled(attention):
        own = Doubled(12, 3, 4, 5, dtype=dtype, implementation=attention.implementation)
        own.load_state_dict(attention.state_dict())
        return own

    assert_obeyed("encoder", dtype, "attention", doubled)
    assert_obeyed("encoder", dtype, "attention", Wrapped)


def doubled_in_place(attention):
    attention.__class__ = Doubled
    return attention


@pytest.mark.parametrize(
    "change", [Wrapped, hooked, hooked_before, with_own_forward, doubled_in_place], ids=lambda change: change.__name__
)
def test_a_step_that_could_not_obey_a_touched_attention_is_refused(change):
    layer, x = make(torch.float32, causal=True), torch.randn(2, 3, 12)
    state = layer.initial_state(2)
    replace(layer, "attention", change)
    with pytest.raises(RuntimeError, match=r"^EncoderLayer: step cannot obey hooks .*$"):
        layer.step(x, state)
    with pytest.raises(RuntimeError, match="EncoderLayer: initial_state cannot obey"):
        layer.initial_state(2)


def test_a_step_that_could_not_obey_a_global_hook_is_refused():
    layer, x = make(torch.float32, causal=True), torch.randn(2, 3, 12)
    state = layer.initial_state(2)
    handle = nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        with pytest.raises(RuntimeError, match="EncoderLayer: step cannot obey hooks"):
            layer.step(x, state)
    finally:
        handle.remove()
    layer.step(x, state)


class Resettable(Hidden):
    def reset_parameters(self):
        self.inner.reset_parameters()


def test_parameters_of_a_wrapped_attention_are_drawn_again_where_the_wrapper_can():
    layer = make(torch.float32)
    replace(layer, "attention", Resettable)
    before = layer.attention.inner.we.clone()
    layer.reset_parameters()
    assert not torch.equal(layer.attention.inner.we, before)
    layer.attention = Hidden(layer.attention)
    with pytest.raises(RuntimeError, match="EncoderLayer: attention is a Hidden, which has no reset_parameters"):
        layer.reset_parameters()


class Halved(torch.Tensor):
    """A weight that means something else than its numbers, as quantised ones do."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is not nn.functional.linear:
            return super().__torch_function__(function, types, args, kwargs)
        with torch._C.DisableTorchFunctionSubclass():
            x, weight, bias = args
            return function(x, 0.5 * weight, bias)


def halved(linear):
    linear.weight = nn.Parameter(linear.weight.detach().as_subclass(Halved))
    return linear


@both_dtypes
def test_weights_of_a_class_of_their_own_keep_their_meaning(dtype):
    assert_obeyed("attention", dtype, "out_proj", halved)
    for name in ("linear1", "attention.out_proj"):
        assert_obeyed("encoder", dtype, name, halved)


def test_quantised_linear_maps_are_called():
    for kind in ("attention", "encoder"):
        layer = make(torch.float32, kind)
        expected = out_of(layer, torch.float32)
        for name, part in list(layer.named_modules()):
            if isinstance(part, nn.Linear):
                replace(layer, name, lambda linear: torch.ao.quantization.quantize_dynamic(nn.Sequential(linear))[0])
        with torch.no_grad():
            out = out_of(layer, torch.float32)
        assert not torch.equal(out, expected)
        torch.testing.assert_close(out, expected, rtol=0.1, atol=0.1)


def test_a_wrapped_attention_may_ignore_padding():
    layer, x = make(torch.float64, padding="ignore"), torch.randn(2, 9, 12, dtype=torch.float64)
    mask = primal.padding_mask(torch.tensor([9, 4]), 9)
    expected = layer(x, mask)[0]
    replace(layer, "attention", Hidden)
    torch.testing.assert_close(layer(x, mask)[0], expected)


def test_a_wrapped_layer_has_a_repr():
    layer = make(torch.float32)
    replace(layer, "linear1", Wrapped)
    assert "feed_forward=7" in repr(layer)


def test_an_untouched_layer_keeps_its_operator():
    layer, x = make(torch.float32), torch.randn(2, 9, 12)
    assert layer._can_fuse(x)
    handle = layer.linear1.register_forward_hook(lambda *_: None)
    assert not layer._can_fuse(x)
    handle.remove()
    assert layer._can_fuse(x)
    parametrizations.weight_norm(layer.linear1)
    assert layer._can_fuse(x)
    with torch.device("cpu"):
        assert layer._can_fuse(x)


def test_a_hooked_layer_compiles_and_obeys():
    layer, x = make(torch.float32), torch.randn(2, 9, 12)
    hooked(layer.linear1)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x)[0], layer(x)[0])
