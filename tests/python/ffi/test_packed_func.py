"""One calling convention: values go through the core and come back, errors keep their identity."""

import threading
import traceback

import numpy as np
import pytest
import tessera
import tessera.testing
from tessera._ffi import get_global_func, list_global_func_names, register_func, remove_global_func
from tessera.runtime import PackedFunc, convert

echo = PackedFunc(lambda value: value)


@pytest.mark.parametrize("value", [0, -7, 2**62, 2.5, "text", "", "with \0 inside", "ünï", None, True])
def test_plain_values_come_back_as_they_went(value):
    assert echo(value) == value


def test_devices_come_back_as_devices():
    assert echo(tessera.cuda(3)) == tessera.device("cuda", 3)
    assert repr(echo(tessera.cpu(0))) == "cpu(0)"


def test_bytes_come_back_as_a_bytearray():
    assert echo(b"\0\1\2") == bytearray(b"\0\1\2")
    assert isinstance(echo(bytearray(b"xy")), bytearray)


def test_dtypes_arrive_as_text():
    assert echo(tessera.DataType("float32x4")) == "float32x4"
    assert echo(np.dtype("int8")) == "int8"


def test_numpy_scalars_are_numbers():
    assert echo(np.int64(3)) == 3
    assert echo(np.float32(0.5)) == 0.5
    assert echo(np.bool_(True)) == 1


def test_a_numpy_array_is_not_converted_silently():
    with pytest.raises(TypeError, match=r"Don't know how to handle type <class 'numpy\.ndarray'>"):
        echo(np.zeros(3))


def test_a_number_beyond_64_bits_is_rejected():
    with pytest.raises(OverflowError):
        echo(2**64)


def test_keyword_arguments_are_rejected():
    with pytest.raises(TypeError, match="no keyword arguments"):
        echo(value=1)


def test_functions_are_values():
    twice = convert(lambda f, x: f(f(x)))
    assert twice(lambda x: x + 1, 1) == 3
    assert echo(twice).same_as(twice)


def test_many_arguments_are_fine():
    assert convert(lambda *xs: sum(xs))(*range(100)) == sum(range(100))


def test_an_exception_comes_out_as_the_very_same_object():
    raised = ValueError("from the callback")

    def boom():
        raise raised

    with pytest.raises(ValueError) as caught:
        convert(lambda f: f())(boom)
    assert caught.value is raised
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "boom"


def test_an_interrupt_passes_through():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(stop)()


def test_errors_of_the_core_have_their_python_class_and_a_traceback_says_it_once():
    with pytest.raises(ValueError, match=r"^Cannot find global function no\.such\.function") as caught:
        get_global_func("no.such.function")
    last = traceback.format_exception_only(caught.type, caught.value)[-1]
    assert last.startswith("ValueError: Cannot find global function")
    with pytest.raises(tessera.TVMError, match=r"^unknown type float3x"):
        tessera.DataType("float3x")


def test_a_kind_without_a_class_is_said_by_the_text():
    error = tessera._ffi.base.make_error("NobodysError", "text", lambda: "")
    assert type(error) is tessera.TVMError and str(error) == "NobodysError: text"


def test_a_registered_error_class_is_used():
    @tessera.register_error
    class MyOwnError(tessera.TVMError):
        pass

    assert tessera._ffi.base.ERROR_TYPE["MyOwnError"] is MyOwnError
    error = tessera._ffi.base.make_error("MyOwnError", "text", lambda: "")
    assert type(error) is MyOwnError and str(error) == "text"


def test_the_core_trace_is_shown_when_asked_for(monkeypatch):
    monkeypatch.setenv("TVM_BACKTRACE", "1")
    with pytest.raises(ValueError) as caught:
        get_global_func("no.such.function")
    assert any("C++ frames" in note for note in caught.value.__notes__)


def test_a_function_is_registered_by_its_own_or_a_given_name():
    @register_func
    def tests_ffi_plain(x):
        return x + 1

    @register_func("tests.ffi.named")
    def _(x):
        return x + 2

    assert isinstance(tests_ffi_plain, PackedFunc)
    assert get_global_func("tests_ffi_plain")(1) == 2
    assert get_global_func("tests.ffi.named")(1) == 3
    assert "tests.ffi.named" in list_global_func_names()
    with pytest.raises(ValueError, match="exists already"):
        register_func("tests.ffi.named", lambda: 0)
    register_func("tests.ffi.named", lambda: 0, override=True)
    assert get_global_func("tests.ffi.named")() == 0
    for name in ("tests_ffi_plain", "tests.ffi.named"):
        remove_global_func(name)
        assert get_global_func(name, allow_missing=True) is None


def test_callbacks_work_from_many_threads():
    def work(results, start):
        for i in range(200):
            results.append(echo(start + i))

    results: list[list[int]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=work, args=(results[t], t * 1000)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [list(range(t * 1000, t * 1000 + 200)) for t in range(4)]


def test_a_dropped_callback_is_freed():
    import weakref

    class Callback:
        def __call__(self):
            return 1

    callback = Callback()
    gone = weakref.ref(callback)
    packed = convert(callback)
    del callback
    assert gone() is not None and packed() == 1
    del packed
    assert gone() is None


def test_a_wrong_argument_is_a_type_error_and_an_error_of_the_core():
    with pytest.raises(TypeError, match="expected str, got int") as caught:
        tessera.tir.Var(1, 1)
    assert isinstance(caught.value, tessera.TVMError) and type(caught.value).__name__ == "TypeError"


def test_the_class_of_an_error_may_be_said_before_a_colon():
    with pytest.raises(tessera.error.OpNotImplemented, match="^myop$"):
        tessera.testing.test_raise_error_callback("OpNotImplemented: myop")()
    with pytest.raises(tessera.error.InternalError, match="myop: 0 is not 1"):
        tessera.testing.test_check_eq_callback("InternalError: myop")(0, 1)
    with pytest.raises(ValueError, match="0 vs. 1"):
        tessera.testing.ErrorTest(0, 1)


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, IndexError, NotImplementedError, OSError])
def test_errors_of_the_core_are_of_both_classes(kind):
    with pytest.raises(kind) as first:
        raise tessera._ffi.base.make_error(kind.__name__, "what", lambda: "")
    assert isinstance(first.value, tessera.TVMError) and type(first.value).__name__ == kind.__name__


def test_an_operator_registered_twice_is_a_tvm_error():
    tessera.relay.op.register("test.registered_twice", "")
    with pytest.raises(tessera.TVMError):
        tessera.relay.op.register("test.registered_twice", "")
    x = tessera.relay.var("x", shape=(2,))
    function = tessera.relay.Function([x, tessera.relay.var("x", shape=(2,))], x)
    with pytest.raises(tessera.TVMError):
        tessera.relay.build_module.bind_params_by_name(function, {"x": tessera.nd.array([1.0, 2.0])})
