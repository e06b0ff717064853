"""A state that does not belong to the layer or to the tokens is refused."""

import re

import pytest
from attention_cases import make_layer, random_tokens


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (lambda s: s._replace(q_sum=s.q_sum[:, :6]), ValueError, "state q_sum must be [B, D] = "),
        (lambda s: s._replace(k_sum=s.k_sum[:1]), ValueError, "state k_sum must be [B, D] = "),
        (lambda s: s._replace(count=s.count[:1]), ValueError, "state count must be [B] = "),
        (lambda s: s._replace(q_sum=s.q_sum.float()), TypeError, "got Float, Double and Long"),
        (lambda s: s._replace(count=s.count.int()), TypeError, "got Double, Double and Int"),
        (lambda s: type(s)(*(part.to("meta") for part in s)), ValueError, "is on meta but query is on cpu"),
    ],
    ids=["width", "batch of k", "batch of count", "dtype of q", "dtype of count", "device"],
)
def test_state_that_does_not_fit(change, kind, message):
    layer = make_layer(causal=True)
    with pytest.raises(kind, match=re.escape(message)):
        layer.step(random_tokens(2, 1), change(layer.initial_state(2)))


def test_only_a_causal_layer_steps():
    layer = make_layer()
    with pytest.raises(ValueError, match="only a causal layer has a state"):
        layer.step(random_tokens(2, 1), layer.initial_state(2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s._replace(q_sum=s.q_sum[:, :6]), "state q_sum must be torch.float64 [2, 12] on cpu, got "),
        (lambda s: s._replace(count=s.count.int()), "state count must be torch.int64 [2] on cpu, got torch.int32 [2]"),
    ],
    ids=["width", "dtype"],
)
def test_state_that_does_not_fit_the_plain_pass(change, message):
    layer = make_layer(causal=True, implementation="plain")
    with pytest.raises(ValueError, match=re.escape(message)):
        layer.step(random_tokens(2, 1), change(layer.initial_state(2)))
