"""The process of a `PopenWorker`: ``python -m tessera.contrib._popen_worker <descriptor to read> <to write>``."""

from __future__ import annotations

import os
import struct
import sys
from typing import Any

from . import _function_pickle


def _answer(message: bytes) -> Any:
    """(status, value) of a call; the statuses are those of popen_pool.StatusKind."""
    try:
        function, args, kwargs = _function_pickle.loads(message)
        return 1, function(*args, **kwargs)
    except Exception as error:
        return 2, error


def _packed(answer: Any) -> bytes:
    try:
        return _function_pickle.dumps(answer)
    except Exception as error:
        return _function_pickle.dumps((2, RuntimeError(f"the result cannot be sent back: {error}")))


def main(read_from: int, write_to: int) -> None:
    """Answers calls until the other side closes."""
    with os.fdopen(read_from, "rb") as reader, os.fdopen(write_to, "wb") as writer:
        while len(header := reader.read(8)) == 8:
            body = _packed(_answer(reader.read(struct.unpack("<q", header)[0])))
            writer.write(struct.pack("<q", len(body)) + body)
            writer.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
