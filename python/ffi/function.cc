// Functions: calls from Python into the core, and Python callables as functions of the core.

#include "python/ffi/handles.h"

namespace tessera::python {
namespace {

/// The body of a function that is a Python callable. Errors it raises keep their exception object.
struct PythonBody {
  SharedPython callable;

  void operator()(Args args, Any* result) const {
    WithLock lock;
    PyObject* inline_values[9];
    std::vector<PyObject*> many;
    PyObject** values = inline_values + 1;  // the slot before the first is the callee's to use
    if (args.count > 8) {
      many.resize(static_cast<size_t>(args.count) + 1);
      values = many.data() + 1;
    }
    int made = 0;
    while (made < args.count && (values[made] = to_python(args[made]))) ++made;
    PyObject* answer = nullptr;
    if (made == args.count)
      answer = PyObject_Vectorcall(callable.get(), values, static_cast<size_t>(made) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                   nullptr);
    while (made > 0) Py_DECREF(values[--made]);
    nb::object kept = nb::steal(answer);
    if (!answer || !to_any(answer, result)) throw take_python_error();
  }
};

PyObject* function_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* callable = nullptr;
  if (!PyArg_ParseTuple(args, "O:PackedFunc", &callable)) return nullptr;
  if (!PyCallable_Check(callable)) return PyErr_Format(PyExc_TypeError, "%R cannot be called", callable);
  PackedFunc function = wrap_callable(callable);
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  object_of(self) = function.detach();
  reinterpret_cast<FunctionHandle*>(self)->call = call_handle;
  return self;
}

PyTypeObject make_function_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "tessera._ffi_core.PackedFunc";
  type.tp_basicsize = sizeof(FunctionHandle);
  type.tp_vectorcall_offset = offsetof(FunctionHandle, call);
  type.tp_call = PyVectorcall_Call;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_doc =
      "A function of the one calling convention.\n\n"
      "PackedFunc(callable) makes a Python function callable from everywhere. Arguments and results may be numbers,\n"
      "strings, bytes, None, devices, dtypes, tensors, modules, functions, objects, and lists and dicts of them.";
  type.tp_base = &object_type;
  type.tp_new = function_new;
  return type;
}

}  // namespace

PyTypeObject function_type = make_function_type();

SharedPython::SharedPython(nb::object value)
    : value_(value.release().ptr(), [](PyObject* held) {
        if (!Py_IsInitialized()) return;  // the interpreter is gone, and the object with it
        WithLock lock;
        Py_DECREF(held);
      }) {}

PackedFunc wrap_callable(PyObject* callable) { return PackedFunc(PythonBody{SharedPython(nb::borrow(callable))}); }

bool call_function(const PackedFuncNode* function, Args args, Any* result) {
  if (function->body.target<PythonBody>()) return guarded(false, [&] { return function->body(args, result), true; });
  PyThreadState* state = PyEval_SaveThread();
  try {
    function->body(args, result);
  } catch (...) {
    PyEval_RestoreThread(state);
    set_python_error();
    return false;
  }
  PyEval_RestoreThread(state);
  return true;
}

PyObject* call_handle(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  if (keywords && PyTuple_GET_SIZE(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "a PackedFunc takes no keyword arguments");
    return nullptr;
  }
  const Object* function = checked_object(self);
  if (!function) return nullptr;
  Slots slots(PyVectorcall_NARGS(flags));
  if (!slots.set_all(args)) return nullptr;
  Any result;
  if (!call_function(static_cast<const PackedFuncNode*>(function), slots.args(), &result)) return nullptr;
  // Text that a function makes is a plain str, which everything outside takes; names in nodes are runtime.String.
  if (auto* text = cast_or_null<StringNode>(result.object()))
    return PyUnicode_DecodeUTF8(text->text.data(), static_cast<Py_ssize_t>(text->text.size()), nullptr);
  return to_python(std::move(result));
}

void add_function_type(nb::module_& m) { add_type(m, &function_type); }

}  // namespace tessera::python
