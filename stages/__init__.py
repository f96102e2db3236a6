"""One small script per DVC stage.

The `src/` beside this folder goes first on the path: an installed charlm, or an editable install that points
to another copy of the repository, must not stand in for the code that DVC hashed (`dvc exp run --temp`).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
