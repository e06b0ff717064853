"""Trains one Primal-Attention layer to tell whether a marked token lies above or below the level of its sequence.

The level differs from sequence to sequence, so the token alone cannot tell: the answer must come through the attention.
"""

import torch
from torch import Tensor, nn

import primal


def random_batch(batch: int, tokens: int, width: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    lengths = torch.randint(tokens // 2, tokens + 1, (batch,))
    marked = (torch.rand(batch) * lengths).long()
    label = torch.randint(0, 2, (batch,))
    x = 0.1 * torch.randn(batch, tokens, width)
    x[:, :, 0] += 2 * torch.randn(batch, 1)  # channel 0: the level of the sequence
    x[torch.arange(batch), marked, 0] += 2 * label - 1
    x[torch.arange(batch), marked, 1] = 1  # channel 1: the mark
    return x, lengths, marked, label


def main() -> None:
    torch.manual_seed(1)
    attention = primal.PrimalAttention(32, 4, rank=8, rows=40)
    head = nn.Linear(32, 2)
    optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=5e-3)
    for step in range(401):
        x, lengths, marked, label = random_batch(64, 40, 32)
        out, terms = attention(x, lengths=lengths)  # [B, N, D]
        logits = head(out[torch.arange(len(x)), marked])
        loss = nn.functional.cross_entropy(logits, label) + primal.ksvd_loss(terms, eta=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            accuracy = (logits.argmax(1) == label).float().mean()
            print(f"step {step:3d}  loss {loss:.3f}  accuracy {accuracy:.2f}  J {terms.objective().mean():+.4f}")


if __name__ == "__main__":
    main()
