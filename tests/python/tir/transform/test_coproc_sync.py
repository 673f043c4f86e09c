"""A coprocessor whose queues run on their own touches memory in the order of the program."""

import random

import pytest
import tessera as tvm
from helpers import body_text
from tessera import te, tir
from tessera.tir import transform as X

for _name in ("coproc_sync", "coproc_read_barrier", "coproc_write_barrier", "coproc_dep_push", "coproc_dep_pop"):
    tvm.ir.register_op_attr("tir.cop." + _name, "TCallEffectKind", tir.CallEffectKind.Opaque)

MEMORIES = 3


class Program:
    """Builds a program that writes and reads some memories, in queues and on the host."""

    def __init__(self):
        self.builder = tir.ir_builder.create()
        self.axis = te.thread_axis((0, 1), "cop")
        self.memories = [self.builder.allocate("int32", 16, name=f"M{m}") for m in range(MEMORIES)]

    def work(self, queue, target, source):
        """``M[target][0] = M[source][0] + 1`` in a queue, or on the host where it is None."""
        with self.builder.new_scope():
            if queue is not None:
                self.builder.scope_attr(self.axis, "coproc_scope", queue)
            self.memories[target][0] = self.memories[source][0] + 1

    def func(self):
        return tir.PrimFunc([], self.builder.get()).with_attr("global_symbol", "main")

    def synced(self):
        return X.CoProcSync()(tvm.IRModule({"main": self.func()}))["main"]


def test_a_queue_waits_for_another():
    program = Program()
    program.work(1, 0, 1)
    program.work(2, 2, 0)
    lines = [line.strip() for line in body_text(program.synced()).splitlines() if "coproc_" in line]
    assert [line.split("(")[1] + line.split("(")[2].split(",")[0] for line in lines if "dep" in line] == [
        "T.cop.coproc_dep_push1",
        "T.cop.coproc_dep_pop1",
    ]
    assert lines[-1] == 'T.evaluate(T.cop.coproc_sync(dtype="int32"))'


def test_queues_that_share_nothing_do_not_wait():
    program = Program()
    program.work(1, 0, 0)
    program.work(2, 1, 1)
    assert "coproc_dep" not in body_text(program.synced())


def test_the_host_waits_and_barriers_name_what_was_touched():
    ib = tir.ir_builder.create()
    n = te.size_var("n")
    axis = te.thread_axis((0, 1), "cop")
    A = ib.allocate("float32", 128, name="A", scope="global.cache")
    with ib.for_range(0, n, name="i") as i:
        A[i] = A[i] + 1
        with ib.for_range(0, 8, name="k") as k, ib.for_range(0, 10, name="j") as j:
            ib.scope_attr(axis, "coproc_scope", 1)
            A[j] = A[j + k * 10] + 2
    mod = tvm.IRModule.from_expr(tir.PrimFunc([n], ib.get()))
    parts = tir.stmt_list(X.CoProcSync()(mod)["main"].body.body.body)
    assert [part.value.op.name for part in (parts[1], parts[3], parts[4])] == [
        "tir.cop.coproc_read_barrier",
        "tir.cop.coproc_sync",
        "tir.cop.coproc_write_barrier",
    ]
    assert [arg.value for arg in parts[1].value.args[1:]] == [32, 0, 80]
    assert [arg.value for arg in parts[4].value.args[1:]] == [32, 0, 10]


def test_a_program_without_a_coprocessor_stays():
    program = Program()
    program.work(None, 0, 1)
    mod = tvm.IRModule({"main": program.func()})
    tvm.ir.assert_structural_equal(X.CoProcSync()(mod), mod)


def test_a_queue_has_a_number():
    ib = tir.ir_builder.create()
    A = ib.allocate("int32", 16, name="A")
    ib.scope_attr(te.thread_axis((0, 1), "cop"), "coproc_scope", te.var("q"))
    A[0] = 1
    with pytest.raises(ValueError, match="has the number of a queue, not q"):
        X.CoProcSync()(tvm.IRModule.from_expr(tir.PrimFunc([], ib.get())))


def random_body(program, rng, depth):
    for _ in range(rng.randint(1, 3)):
        if depth < 2 and rng.random() < 0.4:
            with program.builder.for_range(0, rng.randint(0, 3), name="i"):
                random_body(program, rng, depth + 1)
        else:
            queue = rng.choice([None, 1, 2, 3])
            program.work(queue, rng.randrange(MEMORIES), rng.randrange(MEMORIES))


class Machine:
    """Runs a program with its queues in any order that tokens and syncs allow; work is a (target, source) pair."""

    def __init__(self, rng):
        self.rng = rng
        self.values = [0] * MEMORIES
        self.queues = {queue: [] for queue in (1, 2, 3)}
        self.tokens = {}

    def step(self, queue):
        """Takes the next order of a queue; False when it has to wait."""
        kind, what = self.queues[queue][0]
        if kind == "pop" and not self.tokens.get(what):
            return False
        self.queues[queue].pop(0)
        if kind == "work":
            self.do(*what)
        else:
            self.tokens[what] = self.tokens.get(what, 0) + (1 if kind == "push" else -1)
        return True

    def do(self, target, source):
        self.values[target] = self.values[source] * 3 + target + 1

    def some_steps(self, drain=False):
        while drain or self.rng.random() < 0.5:
            ready = [queue for queue, orders in self.queues.items() if orders]
            if not ready:
                return
            self.rng.shuffle(ready)
            moved = any(self.step(queue) for queue in ready)
            if not moved:
                assert not drain, "the queues wait for each other"
                return

    def run(self, stmt):
        self.some_steps()
        if isinstance(stmt, tir.SeqStmt):
            for part in stmt.seq:
                self.run(part)
        elif isinstance(stmt, tir.For):
            for _ in range(int(stmt.extent)):
                self.run(stmt.body)
        elif isinstance(stmt, tir.AttrStmt):
            self.queues[int(stmt.value)].append(("work", self.elements(stmt.body)))
        elif isinstance(stmt, tir.BufferStore):
            self.do(*self.elements(stmt))
        elif isinstance(stmt, tir.Evaluate) and isinstance(stmt.value, tir.Call):
            name, args = stmt.value.op.name.split(".")[-1], stmt.value.args
            if name == "coproc_sync":
                self.some_steps(drain=True)
            elif name.startswith("coproc_dep"):
                token = (int(args[0]), int(args[1]))
                kind = name.removeprefix("coproc_dep_")
                self.queues[token[0 if kind == "push" else 1]].append((kind, token))
        elif not isinstance(stmt, tir.Evaluate):
            self.run(stmt.body)

    @staticmethod
    def elements(store):
        return int(store.buffer.name[1:]), int(store.value.a.buffer.name[1:])


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_queues_do_the_answer_is_that_of_the_program_in_order(seed):
    rng = random.Random(seed)
    program = Program()
    random_body(program, rng, 0)
    mod = tvm.IRModule({"main": program.func()})
    expected = run_in_order(mod["main"].body)
    synced = X.CoProcSync()(mod)["main"].body
    for attempt in range(10):
        machine = Machine(random.Random(seed * 100 + attempt))
        machine.run(synced)
        assert not any(machine.queues.values()), "work is left behind"
        assert machine.values == expected
        assert not any(machine.tokens.values()), "tokens are left over"


def run_in_order(stmt):
    machine = Machine(random.Random(0))

    def run(part):
        if isinstance(part, tir.SeqStmt):
            for one in part.seq:
                run(one)
        elif isinstance(part, tir.For):
            for _ in range(int(part.extent)):
                run(part.body)
        elif isinstance(part, tir.BufferStore):
            machine.do(*machine.elements(part))
        elif not isinstance(part, tir.Evaluate):
            run(part.body)

    run(stmt)
    return machine.values
