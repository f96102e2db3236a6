"""What evaluate is asked is looked at before anything is computed."""

from pathlib import Path
from typing import Any

import pytest

from charlm.errors import CharlmError
from charlm.evaluations import Evaluate, evaluate_all
from charlm.params import load
from charlm.settings import Compute, Train
from charlm.vocabulary import Vocabulary

PARAMS = Path(__file__).resolve().parent.parent / "params.yaml"


def asked(**other: Any) -> Evaluate:
    return load(Evaluate, PARAMS).model_copy(update=other)


def test_a_model_that_no_stage_has_trained_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checkpoints/bigram").mkdir(parents=True)
    with pytest.raises(CharlmError, match=r"evaluate\.models names 'bigrm', and no stage has trained it"):
        evaluate_all(asked(models=("bigram", "bigrm")), load(Train, PARAMS), load(Compute, PARAMS))


def test_a_prompt_that_the_models_cannot_read_is_named_by_its_key() -> None:
    vocabulary = Vocabulary.of("abc\n")
    asked(prompt="cab").check_prompt(vocabulary)
    asked(prompt="").check_prompt(vocabulary)
    with pytest.raises(CharlmError, match=r"^evaluate\.prompt: character 'é' at position 2 is not among the 4"):
        asked(prompt="abé").check_prompt(vocabulary)
