"""Seeing context at work: texts with the same last character, and where a model's attention goes."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from charlm.errors import CharlmError
from charlm.models.contract import LanguageModel
from charlm.tokens import Tokens, consecutive_windows, spread_windows
from charlm.vocabulary import Vocabulary

Models = Mapping[str, LanguageModel]  # by name, on the CPU, in evaluation mode

_TOP = 5  # characters shown of each prediction
_WINDOWS_SEARCHED = 4000  # of validation text, for pairs
_SHORTEST_LINE, _LONGEST_LINE = 16, 40  # characters of a line worth a picture, and of one that fits into it
_SEARCHED_AT_ONCE = 1 << 16  # characters; bounds memory
_DIGITS = 6


@torch.inference_mode()
def compare_pair(models: Models, left: str, right: str, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return what each model predicts after two texts that end with the same character.

    Raises:
        CharlmError: when a model that sees one character only tells the two apart.
    """
    predictions, distance = {}, {}
    for name, model in models.items():
        both = [_next_probabilities(model, vocabulary.encode(text)) for text in (left, right)]
        if model.context == 1 and not torch.equal(*both):
            raise CharlmError(f"'{name}' sees one character and predicts differently after {left!r} and {right!r}")
        predictions[name] = {
            side: [
                [vocabulary.characters[int(i)], round(float(p), _DIGITS)]
                for p, i in zip(*probabilities.topk(min(_TOP, len(vocabulary))), strict=True)
            ]
            for side, probabilities in zip(("left", "right"), both, strict=True)
        }
        distance[name] = round(float((both[0] - both[1]).abs().sum() / 2), _DIGITS)
    return {"left": left, "right": right, "predictions": predictions, "distance": distance}


@torch.inference_mode()
def find_pairs(model: LanguageModel, val: Tokens, vocabulary: Vocabulary, count: int) -> list[tuple[str, str]]:
    """Return the texts of validation windows that end alike and that `model` continues most differently.

    Returns:
        At most `count` pairs, each for another last character, the most different first.
    """
    if model.context == 1:
        return []  # nothing before the last character can make a difference
    last_tokens, predictions, texts = [], [], []
    for idx, _ in spread_windows(val, model.block_size, _WINDOWS_SEARCHED):
        predictions.append(torch.softmax(model.next_logits(idx).double(), dim=-1))  # (B, V)
        last_tokens.append(idx[:, -1])
        texts.append(idx)
    last, probabilities, windows = torch.cat(last_tokens), torch.cat(predictions), torch.cat(texts)
    best = []
    for token in range(len(vocabulary)):
        [places] = torch.nonzero(last == token, as_tuple=True)
        if len(places) < 2:
            continue
        apart = torch.cdist(probabilities[places], probabilities[places], p=1) / 2  # total variation distance
        furthest = int(apart.argmax())
        if apart.flatten()[furthest] == 0:
            continue  # the same text each time
        pair = [int(places[i]) for i in divmod(furthest, len(places))]
        best.append((-float(apart.flatten()[furthest]), sorted(pair)))
    return [
        (vocabulary.decode(windows[i].tolist()), vocabulary.decode(windows[j].tolist()))
        for _, (i, j) in sorted(best)[:count]
    ]


@torch.inference_mode()
def attention_on(model: LanguageModel, val: Tokens, vocabulary: Vocabulary) -> dict[str, Any] | None:
    """Return the weights on a line of validation text, and the mean weight at each distance looked back.

    Returns:
        "text", "weights" (T, T) and "by_distance" (block_size,), the mean over the whole split; None for a model
        without attention.
    """
    line = _a_line(val, vocabulary, min(_LONGEST_LINE, model.block_size))
    weights = model.attention(torch.from_numpy(line.astype(np.int64))[None])
    if weights is None:
        return None
    T = model.block_size
    sums, counts = torch.zeros(T, dtype=torch.float64), torch.zeros(T, dtype=torch.float64)
    for idx, _ in consecutive_windows(val, T):
        found = model.attention(idx)
        assert found is not None  # there was one above
        for distance in range(idx.shape[1]):
            diagonal = found.diagonal(-distance, dim1=1, dim2=2).double()  # (B, T - distance)
            sums[distance] += diagonal.sum()
            counts[distance] += diagonal.numel()
    return {
        "text": vocabulary.decode(line.tolist()),
        "weights": _rounded(weights[0]),
        "by_distance": _rounded(sums / counts.clamp(min=1)),
    }


def _next_probabilities(model: LanguageModel, tokens: NDArray[Any]) -> Tensor:
    idx = torch.from_numpy(tokens[-model.block_size :].astype(np.int64))[None]  # (1, T)
    return torch.softmax(model(idx)[0][0, -1].double(), dim=-1)  # (V,)


def _a_line(val: Tokens, vocabulary: Vocabulary, longest: int) -> Tokens:
    """Return the first line of the text that is long enough, or where it has none, its first characters."""
    if "\n" in vocabulary.characters:
        newline = vocabulary.characters.index("\n")
        start = 0
        for end in _places(val, newline):
            if end - start >= min(_SHORTEST_LINE, longest):
                return val[start : min(end, start + longest)]
            start = end + 1
    return val[:longest]


def _places(val: Tokens, token: int) -> Iterator[int]:
    """Yield where `token` occurs, and the end of the text."""
    for first in range(0, len(val), _SEARCHED_AT_ONCE):
        yield from (np.flatnonzero(val[first : first + _SEARCHED_AT_ONCE] == token) + first).tolist()
    yield len(val)


def _rounded(values: Tensor) -> Any:
    return np.round(values.double().numpy(), _DIGITS).tolist()
