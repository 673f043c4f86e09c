"""Servers, trackers and proxies as processes of their own: ``python -m tessera.rpc._service``.

The parent sends what to do through standard input, reads the port from standard output, and keeps the input open: the
process ends when it is closed, also by the parent's death.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from typing import Any

from ..contrib import _function_pickle

__all__ = ["ServiceProcess"]


class ServiceProcess:
    """One such process, and the port that it listens on."""

    def __init__(self, kind: str, **options: Any) -> None:
        self.proc: subprocess.Popen | None = subprocess.Popen(
            [sys.executable, "-m", "tessera.rpc._service"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )
        assert self.proc.stdin and self.proc.stdout
        message = _function_pickle.dumps((kind, options))
        self.proc.stdin.write(struct.pack("<q", len(message)) + message)
        self.proc.stdin.flush()
        answer = self.proc.stdout.readline().decode().strip()
        if not answer.isdigit():
            self.terminate()
            raise RuntimeError(f"the RPC {kind} did not start: {answer or 'it ended'}")
        self.port = int(answer)

    def terminate(self) -> None:
        """Ends the process."""
        proc, self.proc = self.proc, None
        if proc is None:
            return
        assert proc.stdin and proc.stdout
        proc.stdin.close()
        proc.terminate()
        proc.wait()
        proc.stdout.close()

    def __del__(self) -> None:
        self.terminate()
