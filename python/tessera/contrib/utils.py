"""Temporary folders and file locks."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from typing import Any, ClassVar


class DirectoryCreatedPastAtExit(Exception):
    """A temporary folder was asked for when all of them had been removed."""


class TempDirectory:
    """A folder that is removed when it is no longer used, or at the end of the process."""

    #: Set (by `set_keep_for_debug`) to keep the folders.
    _KEEP_FOR_DEBUG: ClassVar[bool] = False
    #: The same under an old name; programs save and restore it.
    DEBUG_MODE: ClassVar[bool] = False
    #: Those that are still there and will be removed; None once all were.
    TEMPDIRS: ClassVar[set[str] | None] = set()
    _lock: ClassVar[Any] = threading.Lock()

    @classmethod
    def remove_tempdirs(cls) -> None:
        """Removes all of them, as the end of the process does. None can be made afterwards."""
        with TempDirectory._lock:
            left, TempDirectory.TEMPDIRS = TempDirectory.TEMPDIRS or set(), None
        for path in left:
            shutil.rmtree(path, ignore_errors=True)

    @classmethod
    @contextlib.contextmanager
    def set_keep_for_debug(cls, set_to: bool = True) -> Iterator[None]:
        """Folders made inside the with-statement are kept."""
        old, cls._KEEP_FOR_DEBUG = cls._KEEP_FOR_DEBUG, set_to
        try:
            yield
        finally:
            cls._KEEP_FOR_DEBUG = old

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool | None = None):
        if TempDirectory.TEMPDIRS is None:
            raise DirectoryCreatedPastAtExit("all temporary folders were removed; no new one can be made")
        self._keep = (
            (TempDirectory._KEEP_FOR_DEBUG or TempDirectory.DEBUG_MODE) if keep_for_debug is None else keep_for_debug
        )
        if custom_path:
            os.mkdir(custom_path)
            self.temp_dir = custom_path
        else:
            self.temp_dir = tempfile.mkdtemp(prefix="tessera-")
        if not self._keep:
            with TempDirectory._lock:
                TempDirectory.TEMPDIRS.add(self.temp_dir)

    def remove(self) -> None:
        """Removes the folder and what is in it; a second time is no error."""
        with TempDirectory._lock:
            left = TempDirectory.TEMPDIRS
            if left is None or self.temp_dir not in left:
                return
            left.discard(self.temp_dir)
        shutil.rmtree(self.temp_dir, ignore_errors=True)

    @property
    def path(self) -> str:
        return self.temp_dir

    def __truediv__(self, other: str) -> str:
        return self.relpath(other)

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    def __del__(self) -> None:
        if hasattr(self, "temp_dir") and not self._keep:
            with contextlib.suppress(Exception):
                self.remove()

    def relpath(self, name: str) -> str:
        """The path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """Names of the files in the folder."""
        return os.listdir(self.temp_dir)


atexit.register(TempDirectory.remove_tempdirs)


def tempdir(custom_path: str | None = None, keep_for_debug: bool | None = None) -> TempDirectory:
    """A new temporary folder."""
    return TempDirectory(custom_path, keep_for_debug)


class FileLock:
    """A lock that processes share through a file."""

    def __init__(self, path: str):
        import fcntl

        self._file = open(path, "w")  # noqa: SIM115 - kept open as long as the lock is held
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        if not self._file.closed:
            self._file.close()


def filelock(path: str) -> FileLock:
    """Waits for and takes the lock of that file."""
    return FileLock(path)


def is_source_path(path: str) -> bool:
    """True when the text is the path of a file rather than source code."""
    return os.path.exists(path)


def which(exec_name: str) -> str | None:
    """The path of a program, or None."""
    return shutil.which(exec_name)
