// Values across the border, both ways. The common cases are tested first and allocate nothing.

#include "python/ffi/handles.h"

namespace tessera::python {
namespace {

Py_ssize_t checked_size(PyObject* sequence) { return PySequence_Fast_GET_SIZE(sequence); }

bool list_to_object(PyObject* value, ObjectRef* out) {
  // Items are converted from a copy: converting one may run Python code that changes the list.
  nb::object items = nb::steal(PySequence_Tuple(value));
  if (!items) return false;
  ArrayNode node;
  node.items.resize(static_cast<size_t>(checked_size(items.ptr())));
  for (size_t i = 0; i < node.items.size(); ++i)
    if (!to_object(PyTuple_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)), &node.items[i])) return false;
  *out = make(std::move(node));
  return true;
}

bool dict_to_object(PyObject* value, ObjectRef* out) {
  nb::object items = nb::steal(PyDict_Items(value));
  if (!items) return false;
  MapNode node;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.ptr()); ++i) {
    PyObject* pair = PyList_GET_ITEM(items.ptr(), i);
    ObjectRef key, held;
    if (!to_object(PyTuple_GET_ITEM(pair, 0), &key) || !to_object(PyTuple_GET_ITEM(pair, 1), &held)) return false;
    if (!key) {
      PyErr_SetString(PyExc_TypeError, "None cannot be a key of a Map");
      return false;
    }
    node.set(std::move(key), std::move(held));
  }
  *out = make(std::move(node));
  return true;
}

bool text_of(PyObject* value, std::string_view* out) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text) *out = {text, static_cast<size_t>(size)};
  return text != nullptr;
}

bool bytes_of(PyObject* value, std::string_view* out) {
  if (PyBytes_Check(value)) {
    *out = {PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value))};
  } else if (PyByteArray_Check(value)) {
    *out = {PyByteArray_AS_STRING(value), static_cast<size_t>(PyByteArray_GET_SIZE(value))};
  } else {
    return false;
  }
  return true;
}

/// Classes of register_extension carry a code of their own and a handle.
bool extension_of(PyObject* value, TesseraValue* out, int* code) {
  nb::handle cls(reinterpret_cast<PyObject*>(Py_TYPE(value)));
  if (!PyObject_HasAttrString(cls.ptr(), "_tvm_tcode")) return false;
  *code = nb::cast<int>(cls.attr("_tvm_tcode"));
  nb::object handle = nb::borrow(value).attr("_tvm_handle");
  out->v_handle = PyLong_AsVoidPtr(handle.ptr());
  return !PyErr_Occurred();
}

/// A ctypes.c_void_p as an address, where a callee wants a plain handle.
bool is_void_pointer(PyObject* value) { return std::string_view(Py_TYPE(value)->tp_name) == "c_void_p"; }

nb::object fall_back(const nb::object* hook, PyObject* value) {
  if (!hook) {
    PyErr_Format(PyExc_TypeError, "Don't know how to handle type %R", Py_TYPE(value));
    return {};
  }
  return nb::steal(PyObject_CallOneArg(hook->ptr(), value));
}

bool box_value(PyObject* value, ObjectRef* out) {
  Any any;
  if (!to_any(value, &any)) return false;
  *out = box(any);
  return true;
}

}  // namespace

nb::object* convert_fallback = nullptr;
nb::object* object_fallback = nullptr;

Slots::Slots(Py_ssize_t count) : count_(count), values_(inline_values_), codes_(inline_codes_) {
  if (count > kInline) {
    values_ = new TesseraValue[static_cast<size_t>(count)];
    codes_ = new int[static_cast<size_t>(count)];
  }
}

Slots::~Slots() {
  if (values_ != inline_values_) {
    delete[] values_;
    delete[] codes_;
  }
}

void Slots::keep(Py_ssize_t i, const Any& value) {
  kept_.push_back(value);
  put(i, value.raw(), value.code());
}

bool Slots::set(Py_ssize_t i, PyObject* value) {
  if (is_object(value)) {
    const Object* object = checked_object(value);
    if (!object) return false;
    int code = object->type()->node->slot_code;
    auto* handle = reinterpret_cast<char*>(const_cast<Object*>(object));
    put(i, {.v_handle = code == kTesseraNDArray ? handle + kTensorOffset : handle}, code);
    return true;
  }
  if (PyLong_Check(value)) {  // True and False too
    int64_t number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred()) return false;
    put(i, {.v_int64 = number}, kTesseraInt);
    return true;
  }
  if (value == Py_None) {
    put(i, {.v_int64 = 0}, kTesseraNull);
    return true;
  }
  if (PyFloat_Check(value)) {
    put(i, {.v_float64 = PyFloat_AS_DOUBLE(value)}, kTesseraFloat);
    return true;
  }
  if (PyUnicode_Check(value)) {
    std::string_view text;
    if (!text_of(value, &text)) return false;
    if (text.find('\0') != text.npos) {
      keep(i, Any(String(text)));
    } else {
      put(i, {.v_str = text.data()}, kTesseraStr);
    }
    return true;
  }
  return guarded(false, [&] { return set_other(i, value); });
}

bool Slots::set_other(Py_ssize_t i, PyObject* value) {
  if (PyObject_TypeCheck(value, &device_type)) {
    put(i, {.v_device = reinterpret_cast<DeviceHandle*>(value)->device}, kTesseraDevice);
    return true;
  }
  if (PyObject_TypeCheck(value, &dtype_type)) {
    put(i, {.v_type = reinterpret_cast<DataTypeHandle*>(value)->dtype}, kTesseraDataType);
    return true;
  }
  if (PyList_Check(value) || PyTuple_Check(value) || PyDict_Check(value)) {
    ObjectRef object;
    if (!to_object(value, &object)) return false;
    keep(i, Any::of_object(object.get()));
    return true;
  }
  if (std::string_view bytes; bytes_of(value, &bytes)) {
    bytes_.push_back(std::make_unique<TesseraByteArray>(TesseraByteArray{bytes.data(), bytes.size()}));
    put(i, {.v_handle = bytes_.back().get()}, kTesseraBytes);
    return true;
  }
  if (Py_TYPE(value) == &moved_type) {
    put(i, {.v_handle = &reinterpret_cast<MovedHandle*>(value)->source->object}, kTesseraRValueRef);
    return true;
  }
  if (is_void_pointer(value)) {
    nb::object address = nb::borrow(value).attr("value");
    put(i, {.v_handle = address.is_none() ? nullptr : PyLong_AsVoidPtr(address.ptr())}, kTesseraHandle);
    return true;
  }
  if (extension_of(value, &values_[i], &codes_[i])) return true;
  if (PyErr_Occurred()) return false;
  nb::object known = fall_back(convert_fallback, value);
  if (!known) return false;
  if (known.is(value)) {  // the fallback lets callables through
    keep(i, Any::of_object(wrap_callable(value).get()));
    return true;
  }
  kept_python_.push_back(known);
  return set(i, known.ptr());
}

bool to_any(PyObject* value, Any* out) {
  Slots slots(1);
  if (!slots.set(0, value)) return false;
  *out = Any(slots.args()[0]);
  return true;
}

bool to_object(PyObject* value, ObjectRef* out) {
  if (is_object(value)) {
    const Object* object = checked_object(value);
    *out = ObjectRef(object);
    return object != nullptr;
  }
  return guarded(false, [&] {
    bool is_list = PyList_Check(value) || PyTuple_Check(value);
    if (is_list || PyDict_Check(value)) {
      // A list that holds itself, or thousands of levels, is a RecursionError.
      if (Py_EnterRecursiveCall(" while converting a container")) return false;
      struct Leave {
        ~Leave() { Py_LeaveRecursiveCall(); }
      } leave;
      return is_list ? list_to_object(value, out) : dict_to_object(value, out);
    }
    if (PyBool_Check(value) && number_boxes.box_bool) {
      *out = number_boxes.box_bool(value == Py_True);
      return true;
    }
    if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_Check(value) || value == Py_None)
      return box_value(value, out);
    // NumPy's scalars keep their type inside a container; Python knows how.
    nb::object known = fall_back(object_fallback, value);
    if (!known) return false;
    if (!known.is(value)) return to_object(known.ptr(), out);
    return box_value(value, out);
  });
}

PyObject* to_python(const AnyView& value) {
  switch (value.code()) {
    case kTesseraInt: return PyLong_FromLongLong(value.raw().v_int64);
    case kTesseraFloat: return PyFloat_FromDouble(value.raw().v_float64);
    case kTesseraNull: Py_RETURN_NONE;
    case kTesseraStr: return PyUnicode_FromString(value.raw().v_str);
    case kTesseraBytes: {
      auto* bytes = static_cast<const TesseraByteArray*>(value.raw().v_handle);
      return PyByteArray_FromStringAndSize(bytes->data, static_cast<Py_ssize_t>(bytes->size));
    }
    case kTesseraDataType: {
      std::string text = DataType(value.raw().v_type).str();
      return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    }
    case kTesseraDevice: return make_device(value.raw().v_device);
    case kTesseraDLTensor: return make_tensor_view(static_cast<DLTensor*>(value.raw().v_handle));
    case kTesseraHandle: return make_handle(value.raw().v_handle);
    default: break;
  }
  if (const Object* object = value.object()) return wrap(object);
  return make_extension(value);
}

PyObject* to_python(Any&& value) {
  if (!value.object()) return to_python(static_cast<const AnyView&>(value));
  const Object* object = value.object();
  TesseraValue raw;
  int code;
  value.move_to(&raw, &code);
  return wrap_owned(object);
}

}  // namespace tessera::python
