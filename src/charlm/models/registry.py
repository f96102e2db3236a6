"""From a checkpoint back to the model, whichever it is."""

import importlib
import inspect
from pathlib import Path

from charlm import checkpoint
from charlm.errors import CharlmError
from charlm.models.contract import LanguageModel
from charlm.vocabulary import Vocabulary


def model_class(name: str) -> type[LanguageModel]:
    """Return the language model that the module `charlm.models.<name>` defines."""
    try:
        module = importlib.import_module(f"{__package__}.{name}")
    except ImportError:
        raise CharlmError(f"there is no model '{name}': {__package__} has no module of that name") from None
    classes = [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, LanguageModel) and member.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise CharlmError(
            f"{module.__name__} defines {len(classes)} language models; a trained model's module wants one"
        )
    return classes[0]


def restore(path: Path) -> tuple[LanguageModel, Vocabulary]:
    """Load the model of a checkpoint, in evaluation mode on the CPU, and its vocabulary.

    Raises:
        CharlmError: when the file is damaged, or its weights do not fit the shape it names.
    """
    header, weights = checkpoint.load(path)
    vocabulary = Vocabulary(header.characters)
    try:
        model = model_class(header.model)(**header.shape)
        model.load_state_dict(weights)
    except (TypeError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise CharlmError(f"{path} does not fit the model '{header.model}' ({reason}); train anew") from None
    if model.vocab_size != len(vocabulary):
        raise CharlmError(f"{path} names {len(vocabulary)} characters for a model of {model.vocab_size}; train anew")
    return model.eval(), vocabulary
