"""Primal-Attention for PyTorch: attention with cost linear in the sequence length.

layer = primal.PrimalAttention(512, 8, rank=30)
out, terms = layer(x, lengths=lengths)
loss = task_loss(out) + primal.ksvd_loss(terms, eta=0.1)
"""

from primal._inputs import padding_mask
from primal.attention import PrimalAttention, Scores, State
from primal.average import moving_average
from primal.cross_entropy import linear_cross_entropy
from primal.encoder_layer import EncoderLayer, LayerState
from primal.importing import import_reference
from primal.ksvd import KsvdTerms, ksvd_loss
from primal.language_model import LanguageModel, TextStream, TokenScore
from primal.memory import release_memory
from primal.multihead import MultiheadPrimalAttention, collect_terms
from primal.token_mixing import MixingState, TokenMixing

__all__ = [
    "EncoderLayer",
    "KsvdTerms",
    "LanguageModel",
    "LayerState",
    "MixingState",
    "MultiheadPrimalAttention",
    "PrimalAttention",
    "Scores",
    "State",
    "TextStream",
    "TokenMixing",
    "TokenScore",
    "collect_terms",
    "import_reference",
    "ksvd_loss",
    "linear_cross_entropy",
    "moving_average",
    "padding_mask",
    "release_memory",
]
__version__ = "0.1.0"
