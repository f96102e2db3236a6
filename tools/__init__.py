"""Programs for the repository itself, outside the pipeline: `python -m tools.check`, from the root."""

import stages  # noqa: F401 (it puts the src/ that lies beside it on the path)
