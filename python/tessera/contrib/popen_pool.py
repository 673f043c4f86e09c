"""Processes that call functions: a worker that can be killed after a time, and a pool of them."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Any

from . import _function_pickle

__all__ = ["MapResult", "PopenPoolExecutor", "PopenWorker", "StatusKind", "kill_child_processes"]


class StatusKind(IntEnum):
    """How a call ended."""

    RUNNING = 0
    COMPLETE = 1
    EXCEPTION = 2
    TIMEOUT = 3


class MapResult(namedtuple("MapResult", ["status", "value"])):
    """A result, or the error instead."""

    __slots__ = ()


def _children(pid: int) -> list[int]:
    """Processes that a process has started, and theirs."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            direct = [int(child) for child in file.read().split()]
    except OSError:
        return []
    return [descendant for child in direct for descendant in (*_children(child), child)]


def kill_child_processes(pid: int) -> None:
    """Kills what a process has started."""
    for child in _children(pid):
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)


class PopenWorker:
    """A process that calls one function at a time. It is started by the first call, and again after `maximum_uses`."""

    def __init__(
        self, initializer: Callable[..., Any] | None = None, initargs: tuple = (), maximum_uses: int | None = None
    ):
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be callable for PopenWorker")
        self._process: subprocess.Popen | None = None
        self._initializer = initializer
        self._initargs = initargs
        self._maximum_uses = maximum_uses
        self._uses = 0
        self._timer: threading.Timer | None = None
        self._is_late = False

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.kill()

    def _start(self) -> None:
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        command = [sys.executable, "-m", f"{__package__}._popen_worker", str(read_there), str(write_there)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        self._process = subprocess.Popen(command, pass_fds=(read_there, write_there), env=environment)
        os.close(read_there)
        os.close(write_there)
        self._reader, self._writer = os.fdopen(read_here, "rb"), os.fdopen(write_here, "wb")
        if self._initializer is not None:
            self.send(self._initializer, self._initargs)
            self.recv()
        self._uses = 0

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def kill(self) -> None:
        """Ends the process and what it started."""
        self._stop_timer()
        process, self._process = self._process, None
        self._uses = 0
        if process is None:
            return
        with contextlib.suppress(OSError):
            self._writer.close()
        kill_child_processes(process.pid)
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
        self._reader.close()

    def join(self, timeout: float | None = None) -> None:
        """Waits until the process ends by itself."""
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)

    def is_alive(self) -> bool:
        """True while the process runs."""
        return self._process is not None and self._process.poll() is None

    def _call_is_late(self) -> None:
        self._is_late = True
        process = self._process
        if process is not None:
            kill_child_processes(process.pid)
            with contextlib.suppress(OSError):
                process.kill()

    def send(
        self, fn: Callable[..., Any], args: Iterable[Any] = (), kwargs: Any = None, timeout: float | None = None
    ) -> None:
        """Asks the process to call a function; after `timeout` seconds it is killed."""
        if self._process is not None and self._maximum_uses is not None and self._uses >= self._maximum_uses:
            self.kill()
        if self._process is None:
            self._start()
        self._uses += 1
        self._is_late = False
        message = _function_pickle.dumps((fn, tuple(args), dict(kwargs or {})))
        try:
            self._writer.write(struct.pack("<q", len(message)) + message)
            self._writer.flush()
        except OSError:
            pass  # `recv` finds that the process has ended
        if timeout is not None:
            self._timer = threading.Timer(timeout, self._call_is_late)
            self._timer.daemon = True
            self._timer.start()

    def recv(self) -> Any:
        """The result of the call, its error, a TimeoutError, or a ChildProcessError where the process ended."""
        try:
            header = self._reader.read(8)
            body = self._reader.read(struct.unpack("<q", header)[0]) if len(header) == 8 else b""
        finally:
            self._stop_timer()
        if not body:
            late = self._is_late
            self.kill()
            if late:
                raise TimeoutError("the call took longer than it may")
            raise ChildProcessError("the worker process ended before it answered")
        status, value = _function_pickle.loads(body)
        if status == StatusKind.COMPLETE:
            return value
        raise value


class PopenPoolExecutor:
    """Workers that call functions side by side; what a call gets is the time for one call."""

    def __init__(
        self,
        max_workers: int | None = None,
        timeout: float | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple = (),
        maximum_process_uses: int | None = None,
    ):
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be callable for PopenPoolExecutor")
        self._threads = concurrent.futures.ThreadPoolExecutor(max_workers=max_workers or os.cpu_count())
        self._timeout = timeout
        self._make = lambda: PopenWorker(initializer, initargs, maximum_process_uses)
        self._workers: dict[int, PopenWorker] = {}
        self._lock = threading.Lock()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._threads.shutdown(wait=False)
            for worker in self._workers.values():
                worker.kill()

    def _call(self, fn: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        with self._lock:
            worker = self._workers.setdefault(threading.get_ident(), self._make())
        worker.send(fn, args, kwargs, self._timeout)
        return worker.recv()

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> concurrent.futures.Future:
        """Calls a function in some worker; the future has its result or its error."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def map_with_error_catching(self, fn: Callable[..., Any], iterator: Iterable[Any]) -> Iterator[MapResult]:
        """Calls a function on each element; results in their order, errors as values."""
        for future in [self.submit(fn, value) for value in iterator]:
            try:
                yield MapResult(StatusKind.COMPLETE, future.result())
            except TimeoutError as error:
                yield MapResult(StatusKind.TIMEOUT, error)
            except Exception as error:
                yield MapResult(StatusKind.EXCEPTION, error)
