"""What one would write without this project: the plain training script that tutorials teach.

It imports nothing of charlm. B batch, T time (block), C channels (n_embd), H head_size, V vocabulary.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Batch = tuple[Tensor, Tensor]  # inputs and targets, both (B, T)


class Bigram(nn.Module):
    """A table of logits, one row for each last character."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the logits (B, T, V), and the loss if there are targets."""
        logits = self.token_embedding_table(idx)
        return logits, _loss(logits, targets)


class Attention(nn.Module):
    """Token and position embedding, one head of causal self-attention, and a linear layer to the logits."""

    def __init__(self, vocab_size: int, block_size: int, n_embd: int, head_size: int) -> None:
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)), persistent=False)
        self.tril: Tensor
        self.lm_head = nn.Linear(head_size, vocab_size)

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the logits (B, T, V), and the loss if there are targets."""
        T = idx.shape[1]
        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T))  # (B, T, C)
        k, q, v = self.key(x), self.query(x), self.value(x)  # each (B, T, H)
        scores = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5  # (B, T, T)
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        logits = self.lm_head(F.softmax(scores, dim=-1) @ v)  # (B, T, V)
        return logits, _loss(logits, targets)


def _loss(logits: Tensor, targets: Tensor | None) -> Tensor | None:
    if targets is None:
        return None
    B, T, V = logits.shape
    return F.cross_entropy(logits.view(B * T, V), targets.reshape(B * T))


def model_of(name: str, vocab_size: int, block_size: int, n_embd: int) -> nn.Module:
    """Return a new model of that name."""
    return Bigram(vocab_size) if name == "bigram" else Attention(vocab_size, block_size, n_embd, n_embd)


def load_weights(model: nn.Module, state: dict[str, Tensor]) -> None:
    """Take the weights of the program's model: the same names, but that its head is a module of its own."""
    model.load_state_dict({name.removeprefix("head."): weight.clone() for name, weight in state.items()})


def encode(text: str) -> tuple[Tensor, list[str]]:
    """Return the ids (N,) of the text, and its characters."""
    characters = sorted(set(text))
    stoi = {character: i for i, character in enumerate(characters)}
    return torch.tensor([stoi[character] for character in text], dtype=torch.long), characters


def get_batch(data: Tensor, batch_size: int, block_size: int) -> Batch:
    """Draw places, slice a window at each, and stack them."""
    starts = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in starts])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in starts])
    return x, y


@torch.no_grad()
def sampled_losses(model: nn.Module, batches: int, draw: Callable[[], Batch]) -> Tensor:
    """Return the losses (batches,) of batches drawn at random; their mean is the usual estimate."""
    model.eval()
    losses = torch.zeros(batches)
    for k in range(batches):
        _, loss = model(*draw())
        losses[k] = loss.item()
    model.train()
    return losses


def train(model: nn.Module, batches: Iterator[Batch], learning_rate: float) -> Iterator[int]:
    """Take one step for each batch, and yield how many were taken."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    for step, (xb, yb) in enumerate(batches, 1):
        _, loss = model(xb, yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        yield step


@torch.no_grad()
def generate(model: nn.Module, idx: Tensor, length: int, block_size: int) -> Tensor:
    """Return idx (B, T) with `length` more tokens, drawn one at a time."""
    for _ in range(length):
        logits, _ = model(idx[:, -block_size:])
        probabilities = F.softmax(logits[:, -1], dim=-1)  # (B, V)
        idx = torch.cat([idx, torch.multinomial(probabilities, num_samples=1)], dim=1)
    return idx


def main(arguments: Sequence[str] | None = None) -> None:
    """Train one model from the text to its last estimate of the losses."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reference", description=__doc__)
    parser.add_argument("model", choices=["bigram", "attention"])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--learning-rate", type=float, required=True)
    for name in ("steps", "eval-interval", "batch-size", "block-size", "n-embd"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    data, characters = encode(options.corpus.read_text(encoding="utf-8"))
    n = int(0.9 * len(data))
    splits = {"train": data[:n], "val": data[n:]}
    model = model_of(options.model, len(characters), options.block_size, options.n_embd)

    def draw(split: str) -> Batch:
        return get_batch(splits[split], options.batch_size, options.block_size)

    def report(step: int) -> None:
        losses = {split: sampled_losses(model, 200, partial(draw, split)).mean() for split in splits}
        print(f"step {step}: " + ", ".join(f"{split} loss {loss:.4f}" for split, loss in losses.items()), flush=True)

    report(0)
    for step in train(model, (draw("train") for _ in range(options.steps)), options.learning_rate):
        if step % options.eval_interval == 0 or step == options.steps:
            report(step)
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
