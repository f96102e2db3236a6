"""A name stands for one model."""

from pathlib import Path

import pytest

from charlm import models
from charlm.errors import CharlmError
from charlm.models.attention import AttentionLanguageModel
from charlm.models.bigram import BigramLanguageModel
from charlm.models.registry import model_class


def test_a_name_stands_for_the_language_model_in_its_module() -> None:
    assert model_class("bigram") is BigramLanguageModel
    assert model_class("attention") is AttentionLanguageModel


@pytest.mark.parametrize("name", ["transformer", "registry", "", ".", "a.b", "a/b", "attention.Head", "attention.a.b"])
def test_a_name_of_no_model_is_an_error(name: str) -> None:
    with pytest.raises(CharlmError, match="model"):
        model_class(name)


@pytest.mark.parametrize(
    ("source", "error"),
    [("import nowhere.to_be_found", ModuleNotFoundError), ("from charlm.vocabulary import nothing", ImportError)],
)
def test_what_a_models_module_fails_to_import_is_not_taken_for_a_missing_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, error: type[ImportError]
) -> None:
    (tmp_path / "broken.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    with pytest.raises(error, match=r"nowhere|nothing"):
        model_class("broken")
