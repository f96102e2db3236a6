"""One measurement in a process of its own: `python -m benchmarks.probe module:function '{"argument": 1}'`.

The last line on stdout is what the function returned, as JSON.
"""

import importlib
import json
import sys


def main() -> None:
    """Call the function that the command line names."""
    module, _, function = sys.argv[1].partition(":")
    result = getattr(importlib.import_module(module), function)(**json.loads(sys.argv[2]))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
