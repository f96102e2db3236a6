"""A checkpoint becomes the model it was, or an error."""

from pathlib import Path

import pytest
import torch

from charlm import checkpoint
from charlm.errors import CharlmError
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.contract import LanguageModel
from charlm.restoring import restore
from charlm.vocabulary import Vocabulary

ABC = Vocabulary.of("abc")


@pytest.fixture
def attention() -> AttentionLanguageModel:
    torch.manual_seed(1)
    return AttentionLanguageModel(vocab_size=3, block_size=4, n_embd=5, head_size=2)


@pytest.fixture
def bigram() -> BigramLanguageModel:
    return BigramLanguageModel(vocab_size=3, block_size=4)


@pytest.mark.parametrize("name", ["attention", "bigram"])
def test_a_restored_model_computes_what_the_saved_one_did(
    tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    saved: LanguageModel = request.getfixturevalue(name)
    checkpoint.save(tmp_path / "a", saved, ABC)
    model, vocabulary = restore(tmp_path / "a")
    assert type(model) is type(saved)
    assert (model.vocab_size, model.block_size, model.shape) == (3, 4, saved.shape)
    assert vocabulary == ABC
    assert not model.training
    idx = torch.tensor([[0, 1, 2, 0], [2, 2, 1, 0]])
    assert torch.equal(model(idx)[0], saved(idx)[0])


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_embd", 6), ("head_size", 3), ("block_size", 5), ("vocab_size", 4), ("heads", 1), ("n_embd", -1)],
)
def test_weights_of_another_shape_than_the_header_names_are_an_error(
    tmp_path: Path, attention: AttentionLanguageModel, name: str, value: int
) -> None:
    attention.shape[name] = value
    checkpoint.save(tmp_path / "a", attention, ABC)
    with pytest.raises(CharlmError, match=r"does not fit the model 'attention'.*train anew") as caught:
        restore(tmp_path / "a")
    assert str(tmp_path / "a") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_of_another_model_are_an_error(tmp_path: Path, bigram: BigramLanguageModel) -> None:
    del bigram.token_embedding_table
    checkpoint.save(tmp_path / "a", bigram, ABC)
    with pytest.raises(CharlmError, match=r"does not fit the model 'bigram'.*token_embedding_table"):
        restore(tmp_path / "a")


@pytest.mark.parametrize("characters", ["ab", "abcd"])
def test_a_vocabulary_of_another_size_than_the_model_is_an_error_with_both(
    tmp_path: Path, bigram: BigramLanguageModel, characters: str
) -> None:
    checkpoint.save(tmp_path / "a", bigram, Vocabulary.of(characters))
    with pytest.raises(CharlmError, match=f"names {len(characters)} characters for a model of 3"):
        restore(tmp_path / "a")
