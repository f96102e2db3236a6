"""The bigram model: the next character depends on the last one alone."""

from torch import Tensor, nn

from charlm.models.contract import LanguageModel


class BigramLanguageModel(LanguageModel):
    """A table V x V whose row i holds the logits of the token after token i.

    It reads inputs as long as any other model's, and of each position only the token there.
    """

    def __init__(self, *, vocab_size: int, block_size: int) -> None:
        super().__init__(vocab_size=vocab_size, block_size=block_size, context=1)
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def logits(self, idx: Tensor) -> Tensor:
        """Return the table's rows (B, T, V) of idx (B, T)."""
        rows: Tensor = self.token_embedding_table(idx)
        return rows
