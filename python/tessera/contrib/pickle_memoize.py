"""Results of functions, kept in files between runs."""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any, ClassVar

__all__ = ["Cache", "memoize"]


def _folder() -> str:
    """$TESSERA_PICKLE_MEMOIZE_DIR, or a folder of the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("TESSERA_PICKLE_MEMOIZE_DIR") or os.path.join(base, "tessera", "pickle_memoize")


class Cache:
    """What a function gave for its arguments, in the file of a key.

    Files are pickles, which run code when they are read: the folder must be the user's own.
    """

    cache_by_key: ClassVar[dict[str, Cache]] = {}

    def __init__(self, key: str, save_at_exit: bool):
        self.path = os.path.join(_folder(), f"{key}.python{sys.version_info[0]}.pickle")
        self.cache = self._read()
        self.dirty = False
        self.save_at_exit = save_at_exit

    def _read(self) -> dict[Any, Any]:
        try:
            with open(self.path, "rb") as file:
                found = pickle.load(file)
        except (OSError, ValueError, EOFError, AttributeError, ImportError, pickle.UnpicklingError):
            return {}  # none yet, or one that another version has written
        return found if isinstance(found, dict) else {}

    def save(self) -> None:
        """Writes what is new."""
        if not self.dirty:
            return
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        temporary = f"{self.path}.{os.getpid()}"
        with open(temporary, "wb") as file:
            pickle.dump(self.cache, file, pickle.HIGHEST_PROTOCOL)
        os.replace(temporary, self.path)
        self.dirty = False


@atexit.register
def _save_all() -> None:
    for cache in Cache.cache_by_key.values():
        if cache.save_at_exit:
            cache.save()


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: results are kept by the arguments, which can be hashed, and by the values of closure variables.

    They go to a file of that key, where later runs find them, after each new one or, with `save_at_exit`, at the end.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        cells = function.__closure__ or ()
        names = function.__code__.co_freevars
        full = "_".join([key, *(f"{name}={cell.cell_contents}" for name, cell in zip(names, cells))])
        full = "".join(c if c.isalnum() or c in "._=-" else "_" for c in full)

        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            cache = Cache.cache_by_key.get(full)
            if cache is None:
                cache = Cache.cache_by_key[full] = Cache(full, save_at_exit)
            if args not in cache.cache:
                cache.cache[args] = function(*args)
                cache.dirty = True
                if not save_at_exit:
                    cache.save()
            return cache.cache[args]

        return wrapper

    return decorate
