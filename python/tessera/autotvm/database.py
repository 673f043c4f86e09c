"""Databases of records: what was measured before is not measured again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from . import record

__all__ = ["Database", "DummyDatabase", "RedisDatabase", "filter_inputs"]

_SEPARATOR = "\n"


class Database:
    """Records by what was measured."""

    def load(self, inp: Any, get_all: bool = False) -> Any:
        """The last result of an input, or all of them; None where there is none."""
        values = self._get(record.measure_str_key(inp))
        if not values:
            return None
        results = [decoded[1] for decoded in map(record.decode, values.split(_SEPARATOR)) if decoded is not None]
        return results if get_all else results[-1] if results else None

    def save(self, inp: Any, res: Any, extend: bool = False) -> None:
        """Keeps a result, in place of those before or behind them."""
        key, line = record.measure_str_key(inp), record.encode(inp, res)
        before = self._get(key) if extend else None
        self._set(key, f"{before}{_SEPARATOR}{line}" if before else line)

    def filter(self, func: Callable[[Any, Any], bool]) -> list[Any]:
        """The pairs of input and result for which the function is true."""
        found = (
            record.decode(line) for key in self._keys() for line in (self._get(key) or "").split(_SEPARATOR) if line
        )
        return [pair for pair in found if pair is not None and func(*pair)]

    def _get(self, key: str) -> str | None:
        raise NotImplementedError("a database says how it reads")

    def _set(self, key: str, value: str) -> None:
        raise NotImplementedError("a database says how it writes")

    def _keys(self) -> list[str]:
        raise NotImplementedError("a database says what it has")


class DummyDatabase(Database):
    """A database in memory."""

    def __init__(self) -> None:
        self._records: dict[str, str] = {}

    def flush(self) -> None:
        """Forgets everything."""
        self._records = {}

    def _get(self, key: str) -> str | None:
        return self._records.get(key)

    def _set(self, key: str, value: str) -> None:
        self._records[key] = value

    def _keys(self) -> list[str]:
        return list(self._records)


class RedisDatabase(Database):
    """A database of a Redis server of this machine, which needs the package redis."""

    REDIS_PROD, REDIS_TEST, REDIS_NIGHT_TEMP = 15, 14, 13

    def __init__(self, db_index: int = REDIS_PROD) -> None:
        try:
            redis = importlib.import_module("redis")
        except ImportError as error:
            raise ImportError("RedisDatabase needs the package redis; DummyDatabase needs nothing") from error
        if db_index == self.REDIS_TEST:
            raise RuntimeError("the test database is DummyDatabase")
        self.db = redis.StrictRedis(host="127.0.0.1", port=6379, db=db_index, decode_responses=True)

    def flush(self) -> None:
        """Forgets everything."""
        self.db.flushdb()

    def _get(self, key: str) -> str | None:
        return self.db.get(key)

    def _set(self, key: str, value: str) -> None:
        self.db.set(key, value)

    def _keys(self) -> list[str]:
        return list(self.db.keys())


def filter_inputs(db: Database, measure_inputs: Any, retry: bool = False) -> tuple[list[Any], list[Any]]:
    """Results of what was measured before, None for the others; and the inputs that are left. With `retry` those that failed are
    left too."""
    results, left = [], []
    for inp in measure_inputs:
        known = db.load(inp)
        if known is None or (retry and known.error_no != 0):
            left.append(inp)
            known = None
        results.append(known)
    return results, left
