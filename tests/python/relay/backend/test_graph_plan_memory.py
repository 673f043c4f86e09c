"""The memory plan of a function, expression by expression."""

import tessera
from tessera import relay
from tessera.relay.backend import _backend


def plan(function, fused=False):
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(function))
    if fused:
        mod = relay.transform.InferType()(relay.transform.FuseOps(0)(mod))
    return mod["main"], _backend.GraphPlanMemory(mod["main"]).expr_to_storage_info


def ids(info):
    return [int(i) for i in info.storage_ids]


def test_a_chain_needs_two_storages_beside_those_of_its_parameters():
    x, y = relay.var("x", shape=(10,)), relay.var("y", shape=(1,))
    value = relay.add(x, relay.exp(y))
    for _ in range(4):
        value = relay.exp(value)
    main, infos = plan(relay.Function([x, y], value), fused=True)
    assert {i for info in infos.values() for i in ids(info)} == {0, 1, 2, 3}
    assert {int(d) for info in infos.values() for d in info.device_types} == {1}
    assert [int(infos[p].storage_sizes[0]) for p in main.params] == [40, 4]
    assert ids(infos[main.body]) != ids(infos[main.body.args[0]])


def test_fields_of_tuples_lie_where_the_tuple_does():
    x = relay.var("x", shape=(4, 6))
    parts = relay.split(x, 3, axis=1)
    main, infos = plan(relay.Function([x], relay.Tuple([parts[2], parts[0], x])))
    third, first, given = main.body.fields
    split = infos[third.tuple_value]
    assert len(set(ids(split))) == 3 and [int(s) for s in split.storage_sizes] == [32, 32, 32]
    assert ids(infos[third]) == ids(split)[2:] and ids(infos[first]) == ids(split)[:1]
    assert ids(infos[main.body]) == ids(infos[third]) + ids(infos[first]) + ids(infos[given])


def test_variables_of_lets_are_their_values():
    x, bound = relay.var("x", shape=(8,)), relay.var("bound")
    body = relay.Let(bound, relay.exp(x), relay.add(bound, relay.const(1.0)))
    main, infos = plan(relay.Function([x], body))
    assert ids(infos[main.body.var]) == ids(infos[main.body.value])
    assert ids(infos[main.body]) == ids(infos[main.body.body])


def test_a_plan_is_made_of_infos():
    x = relay.var("x", shape=(8,))
    info = relay.expr.StorageInfo([3, 5], [1, 2], [32, 64])
    assert (ids(info), [int(d) for d in info.device_types]) == ([3, 5], [1, 2])
    assert [int(s) for s in info.storage_sizes] == [32, 64]
    assert [device.device_type for device in info.virtual_devices] == [1, 2]
    assert ids(relay.expr.StaticMemoryPlan({x: info}).expr_to_storage_info[x]) == [3, 5]
