"""One computing process: `python -m charlm.worker`, started by `charlm.workers`.

It reads tasks from stdin, each a line of JSON, {"target": "module:function", "arguments": {...}}, and answers
each with lines of JSON on stdout: any number of {"event": ...}, then {"result": ...} or {"error": "..."}. It
ends as soon as its stdin closes, even within a task, so it never outlives the process that started it.
"""

import importlib
import json
import os
import queue
import signal
import sys
import threading
from typing import Any

from charlm import source_code
from charlm.errors import CharlmError


def main() -> None:
    """Do the tasks as they come, one at a time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent decides
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # an answer that nobody reads any more ends the process in silence
    # Nothing that a library prints, be it written in C, may get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr  # which is not held back until a process ends that may be killed
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=[tasks], daemon=True).start()

    def answer(kind: str, content: Any) -> None:
        print(json.dumps({kind: content}), file=answers, flush=True)

    while True:
        task = json.loads(tasks.get())
        module, _, function = task["target"].partition(":")
        try:
            target = getattr(importlib.import_module(module), function)
            result = target(**task["arguments"], tell=lambda event: answer("event", event))
            for name in source_code.changed():
                raise CharlmError(source_code.refusal(name))
            answer("result", result)
        except CharlmError as error:
            answer("error", str(error))
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "allocate memory" not in str(error):  # as torch says it
                raise
            answer(
                "error",
                f"{task['target']} ran out of memory; set CHARLM_JOBS=1, or lower train.block_size or train.batch_size",
            )
        except OSError as error:
            answer("error", f"{error.strerror or error}: {error.filename or task['target']}")


def _listen(tasks: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
