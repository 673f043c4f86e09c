"""Who chooses the configuration of a template: contexts, the innermost first."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from ..env import GLOBAL_SCOPE
from .space import FallbackConfigEntity

__all__ = [
    "ApplyConfig",
    "ApplyFixedConfig",
    "ApplyGraphBest",
    "ApplyHistoryBest",
    "DispatchContext",
    "FallbackContext",
    "clear_fallback_cache",
]

logger = logging.getLogger("autotvm")


class DispatchContext:
    """A context that answers `query(target, workload)`; what it does not know, the one around it is asked."""

    current: ClassVar[Any] = None

    def __init__(self) -> None:
        self._old_ctx: Any = DispatchContext.current

    def query(self, target: Any, workload: Any) -> Any:
        """The configuration of a workload."""
        found = self._query_inside(target, workload)
        return found if found is not None or self._old_ctx is None else self._old_ctx.query(target, workload)

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        """Sets the configuration of a workload."""
        raise NotImplementedError(f"{type(self).__name__} takes no configurations")

    def _query_inside(self, target: Any, workload: Any) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        self._old_ctx = DispatchContext.current
        DispatchContext.current = self
        return self

    def __exit__(self, *_: Any) -> None:
        DispatchContext.current = self._old_ctx


class ApplyConfig(DispatchContext):
    """One configuration for every workload."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self._config = config
        self.workload: Any = None

    def _query_inside(self, target: Any, workload: Any) -> Any:
        del target
        self.workload = workload
        return self._config

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        """Sets it."""
        self.workload, self._config = workload, cfg


class ApplyFixedConfig(DispatchContext):
    """The configurations of tasks, by their workloads."""

    def __init__(self, tasks: Any, schedule_names: Any) -> None:
        super().__init__()
        self._schedule_names = [schedule_names] if isinstance(schedule_names, str) else list(schedule_names)
        self._configs = {task.workload: task.config_space.get(0) for task in tasks}

    def _query_inside(self, target: Any, workload: Any) -> Any:
        del target
        return self._configs.get(workload)

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        """Sets the configuration of a workload."""
        self._configs[workload] = cfg


class ApplyHistoryBest(DispatchContext):
    """The fastest of measured configurations: by the target's model, else by its keys."""

    def __init__(self, records: Any = None) -> None:
        super().__init__()
        self.best_by_targetkey: dict[Any, Any] = {}
        self.best_by_model: dict[Any, Any] = {}
        self._best_user_defined: dict[Any, Any] = {}
        if records:
            self.load(records)

    def load(self, records: Any) -> None:
        """Reads records: a file or its name, or pairs of input and result."""
        from ..measure.confirm import left_to_rules
        from ..record import load_from_buffer, load_from_file

        if isinstance(records, (str, bytes)) or hasattr(records, "__fspath__"):
            left = left_to_rules(os.fsdecode(records))  # where the schedule rules were faster
            known = load_from_file(records)
            records = [each for each in known if (str(each[0].task.workload), str(each[0].target)) not in left]
        elif hasattr(records, "read"):
            records = load_from_buffer(records)
        self._add(records)

    def _add(self, records: Iterable[Any]) -> None:
        for inp, result in records:
            if result.error_no != 0:
                continue
            target, workload = inp.target, inp.task.workload
            keys = [(self.best_by_targetkey, key) for key in target.keys]
            if model := target.attrs.get("model"):
                keys.append((self.best_by_model, str(model)))
            for table, key in keys:
                known = table.get((key, workload))
                if known is None or np.mean(known[1].costs) > np.mean(result.costs):
                    table[(key, workload)] = (inp, result)

    def _query_inside(self, target: Any, workload: Any) -> Any:
        if target is None:
            raise RuntimeError(
                "Need a target context to find the history best. Hint: If your target is llvm, use `with "
                "tvm.target.create('llvm'):` above the dispatcher call. So does other target. "
            )
        model = str(target.attrs.get("model") or "")
        tables = [(self._best_user_defined, key) for key in (model, *target.keys)]
        tables += [(self.best_by_model, model), *((self.best_by_targetkey, key) for key in target.keys)]
        for table, key in tables:
            if (found := table.get((key, workload))) is not None:
                return found[0].config if isinstance(found, tuple) else found
        return None

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        """Sets the configuration of a workload, before all records."""
        cfg.is_fallback = False
        for key in (str(target.attrs.get("model") or ""), *target.keys):
            self._best_user_defined[(key, workload)] = cfg


class FallbackContext(DispatchContext):
    """The default: each workload gets the configuration that its template has without records."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[Any, Any] = {}
        self.messages: set[str] = set()

    def _query_inside(self, target: Any, workload: Any) -> Any:
        key = (str(target), workload)
        if workload is None or key not in self.memory:
            config = FallbackConfigEntity()
            if workload is None:
                return config
            message = f"Cannot find config for target={target}, workload={workload}. A fallback configuration is used."
            if not GLOBAL_SCOPE.silent and message not in self.messages:
                self.messages.add(message)
                logger.debug(message)
            self.memory[key] = config
        return self.memory[key]

    def clear_cache(self, target: Any, workload: Any) -> None:
        """Forgets the configuration of a workload."""
        self.memory.pop((str(target), workload), None)

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        """Sets the configuration of a workload."""
        self.memory[(str(target), workload)] = cfg


class ApplyGraphBest(DispatchContext):
    """Records taken one after the other, as the graph asks."""

    def __init__(self, records: Any) -> None:
        from ..record import load_from_file

        super().__init__()
        self._records = list(load_from_file(records) if isinstance(records, str) else records)
        self._next = 0
        self._global = ApplyHistoryBest(self._records)

    def _query_inside(self, target: Any, workload: Any) -> Any:
        if self._next < len(self._records) and self._records[self._next][0].task.workload == workload:
            self._next += 1
            return self._records[self._next - 1][0].config
        return self._global._query_inside(target, workload)


DispatchContext.current = FallbackContext()


def clear_fallback_cache(target: Any, workload: Any) -> None:
    """Forgets the default configuration of a workload."""
    context = DispatchContext.current
    while not isinstance(context, FallbackContext):
        context = context._old_ctx
    context.clear_cache(target, workload)
