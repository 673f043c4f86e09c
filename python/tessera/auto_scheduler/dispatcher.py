"""Who chooses the schedule of a kernel: contexts, the innermost first."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import Any, ClassVar

from ..autotvm.measure.confirm import left_to_rules
from ..target import Target
from .loop_state import StateObject
from .measure import MeasureErrorNo, _mean_cost
from .measure_record import RecordReader, load_records
from .utils import calc_workload_dis_factor, decode_workload_key

__all__ = [
    "ApplyHistoryBest",
    "ApplyHistoryBestOrSample",
    "DispatchContext",
    "FallbackContext",
    "load_records",
]

logger = logging.getLogger("auto_scheduler")


class DispatchContext:
    """A context that answers `query`; what it does not know, the one around it is asked."""

    current: ClassVar[Any] = None

    def __init__(self) -> None:
        self._old_ctx: Any = DispatchContext.current

    def query(self, target: Any, workload_key: str, has_complex_op: bool, dag: Any, func_name: str) -> Any:
        """The state of a workload, or None."""
        found = self._query_inside(target, workload_key, func_name)
        if found is None and self._old_ctx is not None:
            found = self._old_ctx.query(target, workload_key, has_complex_op, dag, func_name)
        return found

    def update(self, target: Any, workload_key: str, state: Any) -> None:
        """Sets the state of a workload."""
        raise NotImplementedError(f"{type(self).__name__} takes no states")

    def _query_inside(self, target: Any, workload_key: str, func_name: str) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        self._old_ctx = DispatchContext.current
        DispatchContext.current = self
        return self

    def __exit__(self, *_: Any) -> None:
        DispatchContext.current = self._old_ctx


class ApplyHistoryBest(DispatchContext):
    """The fastest of measured states: by the target's model, else by its keys.

    `records` are a file of records, a list of such files, or pairs of input and result. With `include_compatible`, states of the
    same workload with smaller shapes serve larger ones.
    """

    def __init__(self, records: Any, n_lines: int | None = None, include_compatible: bool = False) -> None:
        super().__init__()
        self.include_compatible = include_compatible
        #: By target key or model, then by hash of the workload, then by its arguments: state and cost.
        self.best_by_targetkey: dict[str, dict[str, dict[Any, tuple[Any, float]]]] = {}
        self.best_by_model: dict[str, dict[str, dict[Any, tuple[Any, float]]]] = {}
        self._best_user_defined: dict[str, dict[str, dict[Any, tuple[Any, float]]]] = {}
        self.load(records, n_lines)

    @staticmethod
    def get_workload_entry(best_records: Any, target_key: str, workload_key: str) -> tuple[Any, Any, Any]:
        """The table of a workload's hash for a target, the hash, and the arguments of the key."""
        workload_hash, workload_args = decode_workload_key(workload_key)
        entry = best_records.setdefault(target_key, {}).setdefault(workload_hash, {})
        return entry, workload_hash, workload_args

    def load(self, records: Any, n_lines: int | None = None) -> None:
        """Adds records."""
        joint: list[Iterable[Any]] = []
        left: set[tuple[str, str]] = set()  # to the schedule rules, which were faster
        for each in records if isinstance(records, (list, tuple)) else [records]:
            if isinstance(each, (str, bytes)) or hasattr(each, "__fspath__"):
                joint.append(RecordReader(os.fspath(each)))
                left |= left_to_rules(os.fspath(each))
            elif isinstance(each, tuple) and len(each) == 2 and hasattr(each[0], "task"):
                joint.append([each])
            elif each is not None:
                joint.append(each)
        count = 0
        for records_of_one in joint:
            for inp, result in records_of_one:
                if n_lines is not None and count >= n_lines:
                    return
                count += 1
                is_left = (str(inp.task.workload_key), str(inp.task.target)) in left
                if result.error_no == MeasureErrorNo.NO_ERROR and not is_left:
                    self._add(inp, _mean_cost(result))
        logger.debug("Finish loading %d records", count)

    def _add(self, inp: Any, cost: float) -> None:
        key = str(inp.task.workload_key)
        target = inp.task.target
        tables = [(self.best_by_targetkey, str(each)) for each in target.keys]
        if model := str(target.attrs.get("model") or ""):
            tables.append((self.best_by_model, model))
        for table, target_key in tables:
            entry, _, args = self.get_workload_entry(table, target_key, key)
            if args not in entry or cost < entry[args][1]:
                entry[args] = (inp.state, cost)

    def _query_inside(self, target: Any, workload_key: str, func_name: str) -> Any:
        del func_name
        if target is None:
            raise RuntimeError(
                "Need a target context to find the history best. Hint: If your target is llvm, use `with "
                "tvm.target.create('llvm'):` above the dispatcher call. So does other target. "
            )
        model = str(target.attrs.get("model") or "")
        keys = [str(key) for key in target.keys]
        tables = [(self._best_user_defined, key) for key in (model, *keys)]
        tables += [(self.best_by_model, model), *((self.best_by_targetkey, key) for key in keys)]
        for table, key in tables:
            found = self._match(table, key, workload_key)
            if found is not None:
                return found
        return None

    def _match(self, best_records: Any, target_key: str, workload_key: str) -> Any:
        """The best state for a workload, by the costs of smaller shapes where those serve too."""
        if target_key not in best_records:
            return None
        entry, workload_hash, workload_args = self.get_workload_entry(best_records, target_key, workload_key)
        best, best_cost = None, float("inf")
        for args, (state, cost) in entry.items():
            wanted = (workload_hash, workload_args if isinstance(workload_args, tuple) else (workload_args,))
            factor = 1.0 if args == workload_args else calc_workload_dis_factor(wanted, (workload_hash, args))
            if not self.include_compatible and args != workload_args:
                continue
            if factor != float("inf") and cost * factor < best_cost:
                best, best_cost = state, cost * factor
        return best

    def update(self, target: Any, workload_key: str, state: Any) -> None:
        """Sets the state of a workload, before all records."""
        keys = [str(target.attrs.get("model") or ""), *(str(key) for key in target.keys)]
        for key in keys:
            entry, _, args = self.get_workload_entry(self._best_user_defined, key, workload_key)
            entry[args] = (state if isinstance(state, StateObject) else state.state_object, 1.0)


class ApplyHistoryBestOrSample(ApplyHistoryBest):
    """The fastest of measured states; for a workload without records, the one of `num_measure` samples that is fastest, or that a
    cost model likes best where nothing is to be measured (-1)."""

    def __init__(
        self,
        records: Any,
        sample_simple_workloads: bool = False,
        cost_model_file: str | None = None,
        num_measure: int = -1,
    ) -> None:
        self.sample_simple_workloads, self.num_measure = sample_simple_workloads, num_measure
        self.cost_model_file = cost_model_file
        super().__init__(records, n_lines=None, include_compatible=True)

    def query(self, target: Any, workload_key: str, has_complex_op: bool, dag: Any, func_name: str) -> Any:
        """The state of a workload; None for simple ones unless they are to be sampled."""
        if has_complex_op or self.sample_simple_workloads:
            found = self._query_inside(target, workload_key, func_name)
            return found if found is not None else self._sample(target, workload_key, dag)
        return super().query(target, workload_key, has_complex_op, dag, func_name)

    def _sample(self, target: Any, workload_key: str, dag: Any) -> Any:
        from .cost_model import RandomModel, XGBModel
        from .measure import LocalRPCMeasureContext
        from .search_policy import SketchPolicy
        from .search_task import SearchTask, TuningOptions
        from .workload_registry import register_workload_tensors

        register_workload_tensors(workload_key, dag.tensors)
        task = SearchTask(compute_dag=dag, workload_key=workload_key, target=Target(target), layout_rewrite_option=0)
        model = XGBModel(model_file=self.cost_model_file) if self.cost_model_file else RandomModel()
        policy = SketchPolicy(task, model, params={"eps_greedy": 0.01, "sample_init_min_population": 64}, verbose=0)
        if self.num_measure > 0:
            options = TuningOptions(
                num_measure_trials=max(self.num_measure, 2),
                runner=LocalRPCMeasureContext().runner,
                num_measures_per_round=self.num_measure,
                verbose=0,
            )
            from .search_task import _auto_schedule

            state = _auto_schedule(policy, options)
        else:
            state = policy.search(1, 1, 4, None)
        if state is None:
            return None
        self.update(target, workload_key, state)
        return state.state_object


class FallbackContext(DispatchContext):
    """The default: kernels without records are scheduled by rule, and that is said once for each."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[tuple[str, str], Any] = {}
        self.verbose = 1
        self.messages: set[str] = set()

    def query(self, target: Any, workload_key: str, has_complex_op: bool, dag: Any, func_name: str) -> Any:
        """The state that `update` has set, else None."""
        found = self.memory.get((str(target), workload_key))
        if found is None and has_complex_op and self.verbose:
            message = (
                f"-----------------------------------\n{func_name}\n"
                f"Cannot find tuned schedules for target={target}, workload_key={workload_key}. "
                "A fallback schedule is used, that of the built-in rules."
            )
            if message not in self.messages:
                self.messages.add(message)
                logger.debug(message)
        return found

    def _query_inside(self, target: Any, workload_key: str, func_name: str) -> Any:
        return self.memory.get((str(target), workload_key))

    def update(self, target: Any, workload_key: str, state: Any) -> None:
        """Sets the state of a workload."""
        self.memory[(str(target), workload_key)] = state

    def clear_cache(self, target: Any, workload_key: str) -> None:
        """Forgets the state of a workload."""
        self.memory.pop((str(target), workload_key), None)


DispatchContext.current = FallbackContext()
