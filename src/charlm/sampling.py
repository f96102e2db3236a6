"""Text out of a model, one or many side by side.

N texts that are drawn together, T tokens seen, V vocabulary.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from charlm.frequencies import count
from charlm.models.contract import LanguageModel
from charlm.tokens import Tokens
from charlm.vocabulary import Vocabulary

# Always so many texts, wanted or not: the bits of a matrix product depend on how many rows it has, so a text could
# otherwise change, once in a million draws, with the number of texts beside it. A step of 16 costs hardly more than
# a step of one.
TOGETHER = 16
_UNIFORMS_AT_ONCE = 256


@dataclass(frozen=True)
class Choice:
    """How a token is chosen from the logits: divided by the temperature, then the best k, then the nucleus.

    Attributes:
        temperature: below 1 safer, above 1 wilder; 0 takes the likeliest token.
        top_k: only so many likeliest tokens can be drawn; of equal ones those of the lower ids. None for all.
        top_p: only the fewest likeliest tokens can be drawn whose shares sum to this (Holtzman et al. 2020, "The
            Curious Case of Neural Text Degeneration", equation 2), at least one. 1 for all.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0


def starting_text(prompt: str, vocabulary: Vocabulary, tokens: Tokens | None = None) -> str:
    """Return `prompt`, or where it is empty what a text may begin after: a newline.

    A vocabulary without one gives the most frequent character of the tokens (N,), or its first if there are none.
    """
    if prompt or "\n" in vocabulary.characters:
        return prompt or "\n"
    return vocabulary.characters[0 if tokens is None else int(count(tokens, len(vocabulary)).argmax())]


def generate(model: LanguageModel, prompt: Tensor, *, length: int, temperature: float, seed: int) -> Iterator[int]:
    """Yield `length` tokens that continue `prompt`: text 0 of `generate_together`."""
    for tokens in generate_together(model, prompt, length=length, seed=seed, choice=Choice(temperature)):
        yield tokens[0]


@torch.inference_mode()
def generate_together(
    model: LanguageModel, prompt: Tensor, *, length: int, seed: int, choice: Choice, group: int = 0
) -> Iterator[list[int]]:
    """Yield `length` times one more token of each of the texts group * TOGETHER, ..., TOGETHER of them.

    A text is a function of (seed, its number) alone: of the others that are drawn it depends on none.

    Args:
        model: in evaluation mode.
        prompt: (T,) token ids, at least one, which every text continues; the model sees the last of what is there.
        length: how many tokens to draw.
        seed: with the text's number and the place in the text it determines each draw.
        choice: how a token is drawn from the model's distribution.
        group: which texts.
    """
    # One uniform number per token and inversion of the cumulative distribution: the draws are those of a named
    # generator, where torch.multinomial's changed between versions.
    numbers = range(group * TOGETHER, (group + 1) * TOGETHER)
    draws = [np.random.Generator(np.random.Philox(key=[seed, number])) for number in numbers]
    window = prompt[-model.context :].expand(TOGETHER, -1)  # (N, T)
    for first in range(0, length, _UNIFORMS_AT_ONCE):
        size = min(_UNIFORMS_AT_ONCE, length - first)
        for uniforms in torch.from_numpy(np.stack([draw.random(size) for draw in draws], axis=1)):  # (N,)
            logits = model.next_logits(window).cpu().double()  # (N, V), where every device's numbers can be double
            tokens = pick(logits, uniforms, choice)
            window = torch.cat([window, tokens[:, None].to(window.device)], dim=1)[:, -model.context :]
            yield tokens.tolist()


def pick(logits: Tensor, uniforms: Tensor, choice: Choice) -> Tensor:
    """Return for each row of logits (N, V) the token (N,) that its uniform number (N,) falls on; all in double."""
    if choice.temperature == 0:
        return logits.argmax(dim=-1)
    shares = torch.softmax((logits - logits.amax(dim=-1, keepdim=True)) / choice.temperature, dim=-1)  # (N, V)
    if choice.top_k is not None or choice.top_p < 1:
        shares = shares.masked_fill(~_allowed(shares, choice), 0)
    cumulative = shares.cumsum(dim=-1)  # (N, V)
    # The shares may sum to less than 1; scaled by the sum, every draw lands on a token, and on none without a share.
    total = cumulative[:, -1:].contiguous()
    last = torch.searchsorted(cumulative, total)
    return torch.searchsorted(cumulative, uniforms[:, None] * total, right=True).minimum(last)[:, 0]


def _allowed(shares: Tensor, choice: Choice) -> Tensor:
    """Return which tokens can be drawn, given the shares: both (N, V)."""
    ordered, order = shares.sort(dim=-1, descending=True, stable=True)
    if choice.top_k is not None:
        ordered[:, choice.top_k :] = 0
    # A token stays when those before it do not yet reach top_p of what is left; nothing is before the first.
    before = ordered.cumsum(dim=-1) - ordered
    stays = before < choice.top_p * ordered.sum(dim=-1, keepdim=True) if choice.top_p < 1 else ordered > 0
    stays[:, 0] = True
    return torch.zeros_like(stays).scatter(dim=-1, index=order, src=stays)


class Ending:
    """Ends a text before the first `stop` in it, and holds back what may yet turn out to be the stop's beginning."""

    def __init__(self, stop: str) -> None:
        """An empty `stop` ends nothing."""
        self.reached = False
        self._stop = stop
        self._held = ""

    def add(self, text: str) -> str:
        """Return what is now certain to belong to the text."""
        self._held += text
        if self._stop and (place := self._held.find(self._stop)) >= 0:
            self.reached = True
            certain, self._held = self._held[:place], ""
            return certain
        longest = min(len(self._held), len(self._stop) - 1)
        held = next((n for n in range(longest, 0, -1) if self._stop.startswith(self._held[-n:])), 0)
        certain, self._held = self._held[: len(self._held) - held], self._held[len(self._held) - held :]
        return certain

    def rest(self) -> str:
        """Return what was held back, at the end of a text in which no stop has come."""
        rest, self._held = self._held, ""
        return rest
