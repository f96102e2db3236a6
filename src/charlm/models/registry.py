"""Models by the names of their modules."""

import importlib
import inspect

from charlm.errors import CharlmError
from charlm.models.contract import LanguageModel


def model_class(name: str) -> type[LanguageModel]:
    """Return the language model that the module `charlm.models.<name>` defines."""
    path = f"{__package__}.{name}"
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if not f"{path}.".startswith(f"{error.name}."):  # it is there, and lacks a module that it imports
            raise
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
