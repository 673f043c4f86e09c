// Errors across the border. A Python exception that passes through C++ comes out as the same object, or as the cause of
// another where C++ had more to say; a C++ error becomes the Python class of its kind.

#include <nanobind/stl/string.h>

#include "python/ffi/handles.h"
#include "python/ffi/module.h"

namespace tessera::python {
namespace {

/// Marks the foreign exceptions of errors that are ours.
struct DropException {
  void operator()(void* exception) const {
    if (!Py_IsInitialized()) return;
    WithLock lock;
    Py_DECREF(static_cast<PyObject*>(exception));
  }
};

nb::object take_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return nb::steal(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return nb::steal(value);
#endif
}

void raise(nb::object exception) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception.release().ptr());
#else
  PyObject* value = exception.release().ptr();
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  Py_INCREF(type);
  PyErr_Restore(type, value, PyException_GetTraceback(value));
#endif
}

std::string text_or_name(nb::handle exception) {
  nb::object text = nb::steal(PyObject_Str(exception.ptr()));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (utf8) return utf8;
  PyErr_Clear();
  return "(an exception that cannot be printed)";
}

/// True when C++ added to what the exception says; it then becomes the cause of a new one.
bool says_more(const Error& error, nb::handle exception) { return error.message() != text_or_name(exception); }

void raise_error(const Error& error) {
  nb::object cause;
  if (error.foreign() && std::get_deleter<DropException>(error.foreign())) {
    cause = nb::borrow(static_cast<PyObject*>(error.foreign().get()));
    if (!says_more(error, cause)) return raise(std::move(cause));
  }
  if (!make_error_function) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return;
  }
  // A function, not the text: resolving symbols is slow and rarely asked for.
  nb::object trace = nb::cpp_function([error] { return error.backtrace(); });
  // A message may quote what a user gave, which need not be text.
  const std::string& message = error.message();
  nb::object text =
      nb::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  if (!text) throw nb::python_error();
  nb::object exception = (*make_error_function)(error.kind(), text, trace);
  if (cause) PyException_SetCause(exception.ptr(), cause.release().ptr());
  raise(std::move(exception));
}

}  // namespace

nb::object* make_error_function = nullptr;

void set_python_error() {
  try {
    throw;
  } catch (const Error& error) {
    try {
      raise_error(error);
    } catch (nb::python_error& while_raising) {
      while_raising.restore();
    }
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

Error take_python_error() {
  nb::object exception = take_exception();
  std::string kind = Py_TYPE(exception.ptr())->tp_name;
  if (size_t dot = kind.rfind('.'); dot != kind.npos) kind.erase(0, dot + 1);
  Error error(kind, text_or_name(exception));
  error.set_foreign(std::shared_ptr<void>(exception.release().ptr(), DropException()));
  return error;
}

}  // namespace tessera::python
