#pragma once
// The Python classes that stand for C++ values. They are made and called millions of times, so they are plain C types
// (nanobind binds the module's functions and counts references); everything else about a class is written in Python,
// in subclasses registered by type key.

#include <nanobind/nanobind.h>

#include <memory>

#include "runtime/packed_func.h"

namespace tessera::python {

namespace nb = nanobind;

/// An object of the core; owns a share of `object`, which is null until a constructor has run.
struct ObjectHandle {
  PyObject_HEAD;
  const Object* object;
};
struct FunctionHandle {
  ObjectHandle base;
  vectorcallfunc call;
};
struct ModuleHandle {
  ObjectHandle base;
  PyObject* entry;  // the main function, once it was asked for
};
struct DeviceHandle {
  PyObject_HEAD;
  DLDevice device;
};
struct DataTypeHandle {
  PyObject_HEAD;
  DataType dtype;
};
/// What `x._move()` gives: an argument that the callee may take over.
struct MovedHandle {
  PyObject_HEAD;
  ObjectHandle* source;
};

extern PyTypeObject object_type, function_type, array_type, map_type, tensor_type, module_type, device_type, dtype_type,
    moved_type;

void add_object_types(nb::module_& m);     // object.cc
void add_function_type(nb::module_& m);    // function.cc
void add_value_types(nb::module_& m);      // values.cc
void add_container_types(nb::module_& m);  // containers.cc
void add_tensor_type(nb::module_& m);      // tensor.cc

/// Makes a C type ready and puts it into the module under the last part of its name.
void add_type(nb::module_& m, PyTypeObject* type);

inline bool is_object(PyObject* value) { return PyObject_TypeCheck(value, &object_type); }
inline const Object*& object_of(PyObject* value) { return reinterpret_cast<ObjectHandle*>(value)->object; }
/// The object of a handle; sets a Python error and returns null when no constructor has run.
const Object* checked_object(PyObject* value);

/// A new Python object for `object` of the class registered for its type, or the nearest family that has one.
PyObject* wrap(const Object* object);
/// The same, taking over the caller's share.
PyObject* wrap_owned(const Object* object);
/// A new Python value for a slot. Both return null with a Python error set when that fails.
PyObject* to_python(const AnyView& value);
PyObject* to_python(Any&& value);
PyObject* make_device(DLDevice device);
PyObject* make_handle(void* address);                // a ctypes.c_void_p
PyObject* make_tensor_view(const DLTensor* tensor);  // borrows the memory for the time of a call
PyObject* make_extension(const AnyView& value);      // an object of a class of register_extension
PyObject* make_text(std::string_view text);          // a runtime.String

/// Python values on their way into a call. What has to live as long as the call is kept here.
class Slots {
 public:
  explicit Slots(Py_ssize_t count);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  /// Converts `value` into slot `i`; false with a Python error set when it cannot be an argument.
  bool set(Py_ssize_t i, PyObject* value);
  bool set_all(PyObject* const* values) {
    for (Py_ssize_t i = 0; i < count_; ++i)
      if (!set(i, values[i])) return false;
    return true;
  }
  Args args() const { return {values_, codes_, static_cast<int>(count_)}; }

 private:
  bool set_other(Py_ssize_t i, PyObject* value);
  void keep(Py_ssize_t i, const Any& value);
  void put(Py_ssize_t i, TesseraValue value, int code) {
    values_[i] = value;
    codes_[i] = code;
  }
  static constexpr Py_ssize_t kInline = 12;
  Py_ssize_t count_;
  TesseraValue* values_;
  int* codes_;
  std::vector<Any> kept_;
  std::vector<nb::object> kept_python_;
  std::vector<std::unique_ptr<TesseraByteArray>> bytes_;
  TesseraValue inline_values_[kInline];
  int inline_codes_[kInline];
};

/// One Python value as an owned slot, and as an object for an element of a container. False/Python error on failure.
bool to_any(PyObject* value, Any* out);
bool to_object(PyObject* value, ObjectRef* out);
/// Used for values the core does not know: gives one that it does, or raises TypeError. Set from Python.
extern nb::object* convert_fallback;
/// The same for an element of a container, where a NumPy scalar is a constant of its own type.
extern nb::object* object_fallback;

/// A function of the core that calls `callable`.
PackedFunc wrap_callable(PyObject* callable);
/// Calls with the interpreter lock released (kept when the function is Python's own). False/Python error on failure.
bool call_function(const PackedFuncNode* function, Args args, Any* result);

/// The vectorcall of function handles.
PyObject* call_handle(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords);

/// Sets the Python error that the C++ exception being handled stands for.
void set_python_error();
/// Takes the pending Python error as a C++ one that remembers the exception object.
Error take_python_error();
/// Runs `body`; a C++ exception becomes a Python error and `failed` is returned.
template <class F, class R>
R guarded(R failed, F body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return failed;
  }
}

/// Which Python class stands for a type key; set by register_object.
void set_class(const std::string& type_key, nb::handle cls);

/// Holds the interpreter lock, from any thread.
class WithLock {
 public:
  WithLock() : state_(PyGILState_Ensure()) {}
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

/// A counted reference to a Python object that may be copied and dropped on any thread.
class SharedPython {
 public:
  explicit SharedPython(nb::object value);
  PyObject* get() const { return value_.get(); }

 private:
  std::shared_ptr<PyObject> value_;
};

}  // namespace tessera::python
