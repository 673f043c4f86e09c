"""Memory pools carry what was said about them, and the usual unknowns."""

import numpy as np
import tessera
from tessera.target import Target


def test_a_pool_has_its_properties():
    target = Target("c")
    known = tessera.PoolInfoProperties(size_hint_bytes=2**33, read_latency_cycles=5, target_burst_bytes={target: 8})
    pool = tessera.WorkspacePoolInfo("sram", [target], known)
    assert isinstance(pool, tessera.PoolInfo) and pool.pool_name == "sram"
    assert pool.size_hint_bytes.value == 2**33 and pool.read_latency_cycles.value == 5
    assert pool.clock_frequency_hz.value == -1
    assert pool.target_burst_bytes[pool.targets[0]].value == 8


def test_pools_without_properties_know_nothing():
    data = tessera.nd.array(np.zeros(2))
    constant = tessera.ir.memory_pools.ConstantInfo("w", 16, data)
    pool = tessera.ConstantPoolInfo("flash", [Target("c")], [constant])
    assert pool.size_hint_bytes.value == -1 and pool.constant_info_array[0].byte_offset.value == 16
    assert tessera.ConstantMemoryPools([pool]).pools[0].same_as(pool)
    assert len(tessera.WorkspaceMemoryPools([]).pools) == 0
