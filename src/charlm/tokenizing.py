"""The section `tokenize` of params.yaml: how bytes become the text that the models learn from, and which part they see.

The stage reads the corpus so, and `charlm score` any other text.
"""

from typing import ClassVar

from pydantic import Field, field_validator

from charlm.params import Section
from charlm.text import is_encoding


class Tokenize(Section):
    """The section `tokenize` of params.yaml."""

    section: ClassVar[str] = "tokenize"
    encoding: str = Field(description="an encoding of text that Python knows, such as utf-8, latin-1 or gb18030")
    normalise: bool = Field(description="true or false")
    val_fraction: float = Field(gt=0, lt=1, description="the validation split's share of the text, between 0 and 1")

    @field_validator("encoding")
    @classmethod
    def _known(cls, encoding: str) -> str:
        """Raises ValueError unless the encoding makes text of bytes."""
        if not is_encoding(encoding):
            raise ValueError
        return encoding
