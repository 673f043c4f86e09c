"""The pytest plugin gives targets, devices and combined parameters."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tessera
import tessera.testing
from tessera.script import tir as T

pytest_plugins = ["pytester"]


def run(pytester, source, *arguments):
    pytester.makeconftest('pytest_plugins = ["tessera.testing.plugin"]\n')
    pytester.makepyfile(textwrap.dedent(source))
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v", *arguments)


@pytest.fixture
def cpu_targets(monkeypatch):
    monkeypatch.setenv("TVM_TEST_TARGETS", "llvm")


def test_parameters_go_together(pytester):
    result = run(
        pytester,
        """
        import tessera.testing
        x, y = tessera.testing.parameters((1, 10), (2, 20))
        z = tessera.testing.parameter("a", "b", "c")

        def test_pairs(x, y, z):
            assert y == 10 * x
        """,
    )
    result.assert_outcomes(passed=6)


def test_parameters_of_a_class_go_to_its_tests(pytester):
    result = run(
        pytester,
        """
        import tessera.testing

        class TestSizes:
            size = tessera.testing.parameter(1, 2, 3)
            x, y = tessera.testing.parameters((1, 10), (2, 20))

            @tessera.testing.fixture
            def area(self, x, y):
                return x * y

            def test_area(self, size, x, y, area):
                assert isinstance(self, TestSizes) and size in (1, 2, 3) and area == 10 * x * x

        class TestLargeSizes(TestSizes):
            size = tessera.testing.parameter(3)
        """,
    )
    result.assert_outcomes(passed=8)


def test_parameters_by_dict_have_their_names(pytester):
    result = run(
        pytester,
        """
        import tessera.testing
        size = tessera.testing.parameter(by_dict={"small": 1, "large": 100})

        def test_size(size):
            assert size in (1, 100)
        """,
    )
    result.stdout.fnmatch_lines(["*test_size?small? PASSED*", "*test_size?large? PASSED*"])


def test_a_cached_fixture_is_computed_once_and_copied(pytester):
    result = run(
        pytester,
        """
        import tessera.testing
        calls = []
        n = tessera.testing.parameter(1, 2)

        @tessera.testing.fixture(cache_return_value=True)
        def data(n):
            calls.append(n)
            return [n]

        def test_first(data):
            data.append(0)

        def test_second(data):
            assert len(data) == 1

        def test_calls():
            assert sorted(calls) == [1, 2]
        """,
    )
    result.assert_outcomes(passed=5)


def test_parameterizations_can_be_skipped_or_expected_to_fail(pytester):
    result = run(
        pytester,
        """
        import pytest, tessera.testing

        @tessera.testing.skip_parameterizations("1", reason="not now")
        @pytest.mark.parametrize("n", [1, 2])
        def test_skipped(n):
            assert n == 2

        @tessera.testing.xfail_parameterizations("1", reason="not yet")
        @pytest.mark.parametrize("n", [1, 2])
        def test_failing(n):
            assert n == 2
        """,
    )
    result.assert_outcomes(passed=2, skipped=1, xfailed=1)


def test_a_missing_package_or_device_skips(pytester):
    result = run(
        pytester,
        """
        import tessera.testing

        @tessera.testing.requires_package("no_such_package")
        def test_package():
            assert False

        @tessera.testing.requires_hexagon
        def test_device():
            assert False

        @tessera.testing.requires_hexagon(support_required="optional")
        def test_optional():
            pass

        @tessera.testing.uses_gpu
        def test_uses():
            pass
        """,
    )
    result.assert_outcomes(passed=2, skipped=2)


@pytest.mark.skipif(not tessera.testing.device_enabled("llvm"), reason="no code generator for this machine")
def test_targets_and_devices_are_given(pytester, cpu_targets):
    result = run(
        pytester,
        """
        import tessera, tessera.testing

        def test_all(target, dev):
            assert target == "llvm" and dev == tessera.cpu(0)

        @tessera.testing.parametrize_targets("llvm", "hexagon")
        def test_given(target, dev):
            assert target == "llvm"

        @tessera.testing.known_failing_targets("llvm")
        def test_failing(target):
            assert False

        @tessera.testing.exclude_targets("llvm")
        def test_none(target):
            assert False
        """,
    )
    result.assert_outcomes(passed=2, skipped=2, xfailed=1)


def test_allclose_takes_tensors_and_compares_shapes():
    value = np.ones((2, 2), "float32")
    tessera.testing.assert_allclose(tessera.nd.array(value), value)
    with pytest.raises(AssertionError):
        tessera.testing.assert_allclose(value, value + 1e-3)
    with pytest.raises(AssertionError):
        tessera.testing.assert_allclose(np.ones((1, 2)), np.ones((2, 2)))


def test_wrong_gradients_are_found():
    x = np.array([1.0, 2.0])
    tessera.testing.check_numerical_grads(lambda x: (x**3).sum(), [x], [3 * x**2])
    with pytest.raises(AssertionError, match="differ too much"):
        tessera.testing.check_numerical_grads(lambda x: (x**3).sum(), {"x": x}, {"x": 4 * x**2})


def test_the_first_lines_of_a_tutorial_change_nothing():
    program = (
        "import urllib.request; before = urllib.request.urlopen\n"
        "from tessera import testing\n"
        "testing.utils.install_request_hook(depth=3)\n"
        "assert urllib.request.urlopen is before\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_functions_of_the_core_for_tests_of_the_border():
    assert tessera.testing.echo("x") == "x" and tessera.testing.device_test(tessera.cuda(2)) == tessera.cuda(2)
    assert tessera.testing.test_wrap_callback(lambda: 3)() == 3
    with pytest.raises(tessera.TVMError, match="on purpose"):
        tessera.testing.test_raise_error_callback("on purpose")()


def test_a_wrong_line_of_a_script_is_found():
    def undefined(a: T.handle) -> None:
        A = T.match_buffer(a, (16,), "float32")
        A[0] = nothing  # noqa: F821 # check_error: nothing

    tessera.testing.check_error(undefined, 3)
    with pytest.raises(AssertionError, match="expected an error on line 2, but it was on 3"):
        tessera.testing.tir.check_error(undefined, 2)

    def right(a: T.handle) -> None:
        A = T.match_buffer(a, (16,), "float32")
        A[0] = 1.0

    with pytest.raises(AssertionError, match="right is TVMScript without an error"):
        tessera.testing.check_error(right, 3)


def test_calls_that_ask_for_memory_are_found():
    from tessera import te
    from tessera.testing.usmp import is_tvm_backendallocworkspace_calls

    x = te.placeholder((4096,), name="x")
    y = te.compute((4096,), lambda i: x[i] + 1.0, name="y")
    z = te.compute((4096,), lambda i: y[4095 - i] * 2.0, name="z")
    lowered = tessera.lower(te.create_schedule(z.op), [x, z])
    assert not is_tvm_backendallocworkspace_calls(lowered)
    target = tessera.target.Target("llvm", host="llvm")
    mod = tessera.tir.transform.Apply(lambda f: f.with_attr("target", target))(lowered)
    mod = tessera.tir.transform.MakePackedAPI()(mod)
    assert is_tvm_backendallocworkspace_calls(tessera.tir.transform.LowerTVMBuiltin()(mod))


def test_gradients_are_checked_on_arrays_of_the_inputs_types():
    seen = set()

    def squares(x, y):
        seen.add((str(x.dtype), str(y.dtype)))
        return (x * x * y).sum()

    x, y = np.arange(1, 4, dtype="float32"), np.arange(1, 4, dtype="float64")
    tessera.testing.check_numerical_grads(squares, [x, y], [2 * x * y, x * x])
    assert seen == {("float32", "float64")}
    with pytest.raises(AssertionError, match="grads wrt '1' differ"):
        tessera.testing.check_numerical_grads(squares, [x, y], [2 * x * y, x])


def test_names_that_tests_of_v010_ask_for():
    info = tessera.support.libinfo()
    assert info["USE_LLVM"] == "ON" and info["USE_BYODT_POSIT"] == info["USE_VULKAN"] == "OFF"
    assert tessera.testing.SKIP_SLOW_TESTS in (True, False)
    tessera.testing.run_check_signal(0)


class Rounds(tessera.testing.CompareBeforeAfter):
    """The pass and both programs given by methods."""

    def transform(self):
        return lambda mod: tessera.tir.transform.Simplify()(mod)

    def before(self):
        @T.prim_func
        def func(A: T.Buffer[4, "int32"]):  # noqa: F821
            A[0] = 1 + 1

        return func

    def expected(self):
        @T.prim_func
        def func(A: T.Buffer[4, "int32"]):  # noqa: F821
            A[0] = 2

        return func


class TestMethodsGiveProgramsAndPass(Rounds):
    pass


class TestAMethodOfTheModuleIsThePass(Rounds):
    def transform(self, mod):
        return tessera.tir.transform.Simplify()(mod)


class TestAPassAndAScriptAsTheyAre(Rounds):
    transform = tessera.tir.transform.Simplify()

    def before(A: T.Buffer[4, "int32"]):  # noqa: F821
        A[0] = 1 + 1


class TestAnErrorIsExpected(Rounds):
    expected = ValueError

    def transform(self):
        def reject(mod):
            raise ValueError(mod)

        return reject


def test_ids_name_parameters_then_groups_then_marks_then_targets(pytester, cpu_targets):
    result = run(
        pytester,
        """
        import pytest
        import tessera.testing

        a, b = tessera.testing.parameters((1, 10), (2, 20))
        kind = tessera.testing.parameter("k")

        @pytest.mark.parametrize("mark", ["m"])
        def test_one(target, mark, b, a, kind):
            pass
        """,
        "--collect-only",
    )
    result.stdout.fnmatch_lines(["*test_one[[]k-10-1-m-llvm[]]*", "*test_one[[]k-20-2-m-llvm[]]*"])
