"""The program and a plain loop at the same work, side by side: `make bench`."""

import stages  # noqa: F401 (it puts the src/ that lies beside it on the path)
