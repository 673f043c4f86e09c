// Devices and element types: small values with a class of their own.

#include "python/ffi/handles.h"
#include "python/ffi/module.h"

#include <structmember.h>  // wants Python.h before it

namespace tessera::python {
namespace {

DLDevice& device_of(PyObject* self) { return reinterpret_cast<DeviceHandle*>(self)->device; }
DataType& dtype_of(PyObject* self) { return reinterpret_cast<DataTypeHandle*>(self)->dtype; }

PyObject* device_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"device_type", "device_id", nullptr};
  int kind, id = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "i|i:Device", const_cast<char**>(names), &kind, &id)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self) device_of(self) = {static_cast<DLDeviceType>(kind), id};
  return self;
}

PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !PyObject_TypeCheck(b, &device_type)) Py_RETURN_NOTIMPLEMENTED;
  bool same = device_of(a).device_type == device_of(b).device_type && device_of(a).device_id == device_of(b).device_id;
  return PyBool_FromLong(same == (op == Py_EQ));
}

Py_hash_t device_hash(PyObject* self) {
  return static_cast<Py_hash_t>(device_of(self).device_type) * 1000003 + device_of(self).device_id + 7;
}

PyMemberDef device_members[] = {
    {"device_type", T_INT, offsetof(DeviceHandle, device) + offsetof(DLDevice, device_type), 0, "DLPack's code"},
    {"device_id", T_INT, offsetof(DeviceHandle, device) + offsetof(DLDevice, device_id), 0, "which one of its kind"},
    {nullptr, 0, 0, 0, nullptr}};

PyObject* dtype_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* given;
  if (!PyArg_ParseTuple(args, "O:DataType", &given)) return nullptr;
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    DataType dtype;
    if (PyObject_TypeCheck(given, &dtype_type)) {
      dtype = dtype_of(given);
    } else {
      const char* text = PyUnicode_AsUTF8(given);
      if (!text) return nullptr;
      dtype = DataType(std::string_view(text));
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self) dtype_of(self) = dtype;
    return self;
  });
}

PyObject* dtype_text(PyObject* self) { return PyUnicode_FromString(dtype_of(self).str().c_str()); }

PyObject* dtype_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !PyObject_TypeCheck(b, &dtype_type)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((dtype_of(a) == dtype_of(b)) == (op == Py_EQ));
}

Py_hash_t dtype_hash(PyObject* self) {
  DataType dtype = dtype_of(self);
  return (dtype.code << 24) | (dtype.bits << 16) | dtype.lanes;
}

PyMemberDef dtype_members[] = {
    {"type_code", T_UBYTE, offsetof(DataTypeHandle, dtype) + offsetof(DataType, code), 0, "DLPack's code"},
    {"bits", T_UBYTE, offsetof(DataTypeHandle, dtype) + offsetof(DataType, bits), 0, "of one lane"},
    {"lanes", T_USHORT, offsetof(DataTypeHandle, dtype) + offsetof(DataType, lanes), 0, "1 for scalars"},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyTypeObject device_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject dtype_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

nb::object* text_class = nullptr;
nb::object* device_class = nullptr;
nb::object* void_pointer_class = nullptr;
nb::object* extension_makers = nullptr;

PyObject* make_device(DLDevice device) {
  auto* type = device_class ? reinterpret_cast<PyTypeObject*>(device_class->ptr()) : &device_type;
  PyObject* self = type->tp_alloc(type, 0);
  if (self) device_of(self) = device;
  return self;
}

PyObject* make_text(std::string_view text) {
  PyObject* plain = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (!plain || !text_class) return plain;
  PyObject* out = PyObject_CallOneArg(text_class->ptr(), plain);
  Py_DECREF(plain);
  return out;
}

PyObject* make_handle(void* address) {
  nb::object number = nb::steal(PyLong_FromVoidPtr(address));
  if (!number || !void_pointer_class) return number.release().ptr();
  return PyObject_CallOneArg(void_pointer_class->ptr(), number.ptr());
}

PyObject* make_extension(const AnyView& value) {
  nb::object code = nb::steal(PyLong_FromLong(value.code()));
  PyObject* make = extension_makers ? PyDict_GetItemWithError(extension_makers->ptr(), code.ptr()) : nullptr;
  if (!make)
    return PyErr_Format(PyExc_TypeError, "a value of code %d has no Python class; register_extension gives it one",
                        value.code());
  nb::object handle = nb::steal(PyLong_FromVoidPtr(value.raw().v_handle));
  return PyObject_CallOneArg(make, handle.ptr());
}

void add_value_types(nb::module_& m) {
  device_type.tp_name = "tessera._ffi_core.DeviceBase";
  device_type.tp_basicsize = sizeof(DeviceHandle);
  device_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  device_type.tp_doc = "A device: its kind and number.";
  device_type.tp_new = device_new;
  device_type.tp_richcompare = device_compare;
  device_type.tp_hash = device_hash;
  device_type.tp_members = device_members;
  add_type(m, &device_type);

  dtype_type.tp_name = "tessera._ffi_core.DataTypeBase";
  dtype_type.tp_basicsize = sizeof(DataTypeHandle);
  dtype_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  dtype_type.tp_doc = "The element type of a value or tensor.";
  dtype_type.tp_new = dtype_new;
  dtype_type.tp_repr = dtype_text;
  dtype_type.tp_str = dtype_text;
  dtype_type.tp_richcompare = dtype_compare;
  dtype_type.tp_hash = dtype_hash;
  dtype_type.tp_members = dtype_members;
  add_type(m, &dtype_type);
}

}  // namespace tessera::python
