"""Stage train_attention: one head of causal self-attention per seed."""

from typing import ClassVar

from pydantic import Field

from charlm.params import Section, load
from charlm.runs import Recipe, train_all
from charlm.settings import Compute, LearningRate, Train
from charlm.stage import run


class Attention(Section):
    """The section `attention` of params.yaml."""

    section: ClassVar[str] = "attention"
    learning_rate: LearningRate
    n_embd: int = Field(ge=1, le=65536, description="the width of the embeddings, a whole number of 1 to 65536")
    head_size: int = Field(ge=1, le=65536, description="the width of query, key and value, 1 to 65536")


def main() -> None:
    """Train, save and record the attention model."""
    own = load(Attention)
    shape = {"n_embd": own.n_embd, "head_size": own.head_size}
    model = "charlm.models.attention:AttentionLanguageModel"
    train_all(Recipe("attention", model, own.learning_rate, shape), load(Train), load(Compute))


if __name__ == "__main__":
    run(main)
