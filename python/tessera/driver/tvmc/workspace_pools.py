"""Flags for pools of memory."""

from __future__ import annotations

import argparse
from typing import Any

from ...ir.memory_pools import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from .exceptions import TVMCException

__all__ = ["generate_workspace_pools_args", "workspace_pools_recombobulate"]

#: Flags of numbers, which are fields of PoolInfoProperties.
_NUMBERS = (
    "size_hint_bytes",
    "clock_frequency_hz",
    "read_bandwidth_bytes_per_cycle",
    "write_bandwidth_bytes_per_cycle",
    "read_latency_cycles",
    "write_latency_cycles",
)


def generate_workspace_pools_args(parser: argparse.ArgumentParser) -> None:
    """Gives a parser --workspace-pools, the names of pools, and flags of their properties, each `pool:value`."""
    parser.add_argument("--workspace-pools", help="the names of the workspace pools, with commas between them")
    parser.add_argument("--workspace-pools-targets", action="append", help="targets of a pool: pool:target,target")
    for name in (*_NUMBERS, "target_burst_bytes"):
        flag = name.replace("_", "-")
        parser.add_argument(f"--workspace-pools-{flag}", action="append", help=f"{name} of a pool: pool:value")


def _by_pool(values: list[str] | None) -> dict[str, str]:
    """pool:value as a map, from flags that may have several of them with commas; a later one counts."""
    out: dict[str, str] = {}
    for text in values or []:
        for part in text.split(","):
            pool, colon, value = part.partition(":")
            if not colon and out:  # a value with a comma
                last = next(reversed(out))
                out[last] += f",{part}"
            elif not colon:
                raise TVMCException(f"a property of a pool is pool:value, not {part!r}")
            else:
                out[pool.strip()] = value.strip()
    return out


def workspace_pools_recombobulate(parsed: Any, targets: Any, extra_target: Any) -> WorkspaceMemoryPools | None:
    """The pools that flags tell; None without any. `targets` are those of the compiler, `extra_target` those of external
    code generators."""
    if not parsed.workspace_pools:
        return None
    known = {target.kind.name: target for target in targets}
    for extra in extra_target or []:
        known.setdefault(extra.kind.name if hasattr(extra, "kind") else str(extra), extra)

    def find(name: str) -> Any:
        if name not in known:
            raise TVMCException(f'The workspace pool target specification "{name}" is not one of {", ".join(known)}')
        return known[name]

    numbers = {name: _by_pool(getattr(parsed, f"workspace_pools_{name}", None)) for name in _NUMBERS}
    names = _by_pool(parsed.workspace_pools_targets)
    bursts = _by_pool(parsed.workspace_pools_target_burst_bytes)
    pools = []
    for pool in (part.strip() for part in parsed.workspace_pools.split(",")):
        wanted = names.get(pool)
        if wanted is None and len(known) > 1 and not names:
            wanted = ",".join(known)
        chosen = [find(name.strip()) for name in wanted.split(",")] if wanted else list(known.values())
        values: dict[str, Any] = {name: int(by_pool[pool]) for name, by_pool in numbers.items() if pool in by_pool}
        if pool in bursts:
            target, _, size = bursts[pool].partition(":")
            values["target_burst_bytes"] = {find(target): int(size)} if size else {chosen[0]: int(target)}
        pools.append(WorkspacePoolInfo(pool, chosen, PoolInfoProperties(**values)))
    return WorkspaceMemoryPools(pools)
