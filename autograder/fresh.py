"""A program that becomes one worker: for systems on which a process must not fork without starting anew.

The zygote's imports, once for each worker, and then the same ``worker.serve``. Slower (a start of Python and numpy a
test), and nothing else is different. The request, that of the zygote and our parent's pid, is read from standard input,
since arguments are seen by everybody; "ready" on standard output says that the imports are done.

With ``{"do": "sweep", "uid": n}`` it kills all processes of a user instead, and writes how many are left.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # This file's folder must not be importable: a student's `import results` has no business there.
    sys.path[0] = sys.argv[1]

import json
import os
import socket
from typing import Any

from autograder.confine import Cell
from autograder.zygote import preload, sweep_user

READY = b"ready"


def main(request: dict[str, Any]) -> None:
    """Do what is asked; a worker does not come back."""
    if request["do"] == "sweep":
        os.write(1, str(sweep_user(request["uid"])).encode())
        return
    preload(request["torch"])
    from autograder import worker

    sock = socket.socket(fileno=request["socket"])
    os.write(1, READY)
    worker.serve(sock, worker.Post(**request["post"]), Cell(**request["cell"]), request["parent"])


if __name__ == "__main__":
    main(json.loads(sys.stdin.buffer.read()))
