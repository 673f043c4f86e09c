"""The operator append: rows that loops collect, written behind each other."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.error import TVMError
from tessera.runtime.vm import VirtualMachine

TEXT = """
#[version = "0.0.5"]
def @main(%%rows: Tensor[%s, float32], %%a: Tensor[(2), float32], %%b: Tensor[(2), float32]) {
  %s
}
"""


def run(rows, body, *args):
    mod = relay.transform.InferType()(tvm.parser.parse(TEXT % (rows, body)))
    machine = VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    return machine.run(*map(tvm.nd.array, args)), machine


ROWS = np.arange(4, dtype="float32").reshape(2, 2)
A, B = np.array([10, 11], "float32"), np.array([20, 21], "float32")


@pytest.mark.parametrize("rows", ["(2, 2)", "(?, 2)", "(?, ?)"])
def test_a_row_is_put_behind_the_others(rows):
    got, _ = run(rows, "append(append(%rows, %a), %b)", ROWS, A, B)
    np.testing.assert_array_equal(got.numpy(), [*ROWS, A, B])


def test_rows_that_two_are_appended_to_stay_what_they_are():
    body = """
  let %first = append(%rows, %a);
  let %x = append(%first, %a);
  let %y = append(%first, %b);
  (%first, %x, %y, append(%x, %b))"""
    got, _ = run("(?, 2)", body, ROWS, A, B)
    for one, want in zip(got, ([*ROWS, A], [*ROWS, A, A], [*ROWS, A, B], [*ROWS, A, A, B]), strict=True):
        np.testing.assert_array_equal(one.numpy(), want)


def test_results_of_one_run_are_not_written_by_the_next():
    first, machine = run("(?, 2)", "append(%rows, %a)", ROWS, A, B)
    second, third = (machine.run(first, tvm.nd.array(row), tvm.nd.array(row)) for row in (A, B))
    np.testing.assert_array_equal(first.numpy(), [*ROWS, A])
    np.testing.assert_array_equal(second.numpy(), [*ROWS, A, A])
    np.testing.assert_array_equal(third.numpy(), [*ROWS, A, B])


def test_without_rows_the_row_says_the_shape():
    got, _ = run("(?, ?)", "append(%rows, %a)", np.zeros((0, 0), "float32"), A, B)
    np.testing.assert_array_equal(got.numpy(), [A])
    with pytest.raises(TVMError, match="a loop collects values of one shape"):
        run("(?, ?)", "append(%rows, %a)", np.zeros((1, 3), "float32"), A, B)


def test_a_row_of_another_type_is_rejected():
    with pytest.raises(
        TVMError, match=r"a row of TensorType\(\[2, 3\], float32\) cannot be TensorType\(\[2\], float32\)"
    ):
        run("(2, 3)", "append(%rows, %a)", ROWS, A, B)


def test_many_rows_are_appended_by_a_loop():
    text = """
#[version = "0.0.5"]
def @main(%n: int64, %row: Tensor[(1000), float32], %none: Tensor[(0, 1000), float32]) {
  let %loop = fn (%i: int64, %rows: Tensor[(?, 1000), float32]) -> Tensor[(?, 1000), float32] {
    if (less(%i, %n)) {
      %loop(add(%i, 1i64), append(%rows, %row))
    } else {
      %rows
    }
  };
  %loop(0i64, %none)
}
"""
    mod = relay.transform.InferType()(tvm.parser.parse(text))
    machine = VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    row = np.arange(1000, dtype="float32")
    for count in (0, 1, 500):
        got = machine.run(np.array(count), row, np.zeros((0, 1000), "float32"))
        np.testing.assert_array_equal(got.numpy(), np.tile(row, (count, 1)))


@pytest.mark.parametrize("kind", ["graph", "vm", "debug"])
def test_every_executor_appends(kind):
    mod = tvm.parser.parse(TEXT % ("(2, 2)", "append(append(%rows, %a), %b)"))
    got = relay.create_executor(kind, mod, tvm.cpu(), "llvm").evaluate()(ROWS, A, B)
    np.testing.assert_array_equal(got.numpy(), [*ROWS, A, B])


def test_a_constant_row_is_appended():
    text = """
#[version = "0.0.5"]
def @main(%rows: Tensor[(?), float32]) {
  append(%rows, 2f)
}
"""
    machine = VirtualMachine(relay.vm.compile(tvm.parser.parse(text), "llvm"), tvm.cpu())
    np.testing.assert_array_equal(machine.run(A).numpy(), [10, 11, 2])
