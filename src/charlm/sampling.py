"""Text out of a model."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from charlm.models.contract import LanguageModel
from charlm.vocabulary import Vocabulary


def starting_text(prompt: str, vocabulary: Vocabulary) -> str:
    """Return `prompt`, or where it is empty a line's start: a newline, else the vocabulary's first character."""
    return prompt or ("\n" if "\n" in vocabulary.characters else vocabulary.characters[0])


@torch.inference_mode()
def generate(model: LanguageModel, prompt: Tensor, *, length: int, temperature: float, seed: int) -> Iterator[int]:
    """Yield `length` tokens that continue `prompt`, each drawn from the model's distribution.

    Args:
        model: in evaluation mode.
        prompt: (T,) token ids, at least one; of what is there the last block_size are seen.
        length: how many tokens to draw.
        temperature: divides the logits; 0 takes the likeliest token.
        seed: with the place in the text it determines each draw.
    """
    # One uniform number per token and inversion of the cumulative distribution: the draws are those of a named
    # generator, where torch.multinomial's changed between versions.
    draw = np.random.Generator(np.random.Philox(key=[seed, 0]))
    tokens: list[int] = prompt.tolist()
    for uniform in draw.random(length):
        idx = torch.tensor([tokens[-model.block_size :]], device=prompt.device)  # (1, T)
        logits = model(idx)[0][0, -1].cpu().double()  # (V,), where every device's numbers can be double
        tokens.append(_pick(logits, temperature, float(uniform)))
        yield tokens[-1]


def _pick(logits: Tensor, temperature: float, uniform: float) -> int:
    if temperature == 0:
        return int(logits.argmax())
    cumulative = torch.softmax((logits - logits.max()) / temperature, dim=-1).cumsum(dim=-1)  # (V,)
    # The sum of rounded shares may end a little off 1; scaled by it, every draw lands on a token.
    return int(torch.searchsorted(cumulative, uniform * cumulative[-1], right=True).clamp(max=len(logits) - 1))
