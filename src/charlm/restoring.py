"""From a checkpoint back to the model, whichever it is."""

from pathlib import Path

from charlm import checkpoint
from charlm.errors import CharlmError
from charlm.models.contract import LanguageModel
from charlm.models.registry import model_class
from charlm.vocabulary import Vocabulary


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
