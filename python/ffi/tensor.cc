// Tensors: shape, type and device; copies from and to Python buffers; DLPack both ways without a copy.

#include "runtime/ndarray.h"

#include "python/ffi/handles.h"

namespace tessera::python {
namespace {

NDArray tensor_of(PyObject* self) { return NDArray(static_cast<const NDArrayNode*>(object_of(self))); }
const NDArrayNode* node_of(PyObject* self) { return static_cast<const NDArrayNode*>(checked_object(self)); }

PyObject* get_shape(PyObject* self, void*) {
  const NDArrayNode* node = node_of(self);
  if (!node) return nullptr;
  nb::object out = nb::steal(PyTuple_New(node->tensor.ndim));
  for (int i = 0; out && i < node->tensor.ndim; ++i)
    PyTuple_SET_ITEM(out.ptr(), i, PyLong_FromLongLong(node->tensor.shape[i]));
  return out.release().ptr();
}

PyObject* get_dtype(PyObject* self, void*) {
  const NDArrayNode* node = node_of(self);
  return node ? PyUnicode_FromString(DataType(node->tensor.dtype).str().c_str()) : nullptr;
}

PyObject* get_device(PyObject* self, void*) {
  const NDArrayNode* node = node_of(self);
  return node ? make_device(node->tensor.device) : nullptr;
}

PyObject* get_is_view(PyObject* self, void*) {
  const NDArrayNode* node = node_of(self);
  return node ? PyBool_FromLong(!node->memory) : nullptr;
}

/// Runs `copy` on the bytes of a Python buffer with the interpreter lock released.
template <class F>
PyObject* with_buffer(PyObject* source, int flags, F copy) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(source, &buffer, flags) < 0) return nullptr;
  bool done = guarded(false, [&] {
    nb::gil_scoped_release release;
    copy(buffer.buf, static_cast<size_t>(buffer.len));
    return true;
  });
  PyBuffer_Release(&buffer);
  if (!done) return nullptr;
  Py_RETURN_NONE;
}

PyObject* copy_from_buffer(PyObject* self, PyObject* source) {
  if (!node_of(self)) return nullptr;
  return with_buffer(source, PyBUF_C_CONTIGUOUS,
                     [&](void* data, size_t size) { tensor_of(self).copy_from_bytes(data, size); });
}

PyObject* copy_to_buffer(PyObject* self, PyObject* target) {
  if (!node_of(self)) return nullptr;
  return with_buffer(target, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE,
                     [&](void* data, size_t size) { tensor_of(self).copy_to_bytes(data, size); });
}

PyObject* copy_to_tensor(PyObject* self, PyObject* target) {
  if (!PyObject_TypeCheck(target, &tensor_type))
    return PyErr_Format(PyExc_TypeError, "expected an NDArray, got %R", Py_TYPE(target));
  if (!node_of(self) || !node_of(target)) return nullptr;
  bool done = guarded(false, [&] {
    nb::gil_scoped_release release;
    tensor_of(target).copy_from(tensor_of(self));
    return true;
  });
  if (!done) return nullptr;
  Py_INCREF(target);
  return target;
}

void drop_unused(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // somebody took it over
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

PyObject* to_dlpack(PyObject* self, PyObject*) {
  if (!node_of(self)) return nullptr;
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    DLManagedTensor* managed = tensor_of(self).to_dlpack();
    PyObject* capsule = PyCapsule_New(managed, "dltensor", drop_unused);
    if (!capsule) managed->deleter(managed);
    return capsule;
  });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  const NDArrayNode* node = node_of(self);
  if (!node) return nullptr;
  return Py_BuildValue("(ii)", static_cast<int>(node->tensor.device.device_type), node->tensor.device.device_id);
}

/// The letter of an element type in Python's buffers; null where there is none.
const char* buffer_format(DataType dtype) {
  if (dtype.lanes != 1) return nullptr;
  if (dtype.is_bool()) return "?";
  switch (dtype.code) {
    case DataType::kInt:
      return dtype.bits == 8 ? "b" : dtype.bits == 16 ? "h" : dtype.bits == 32 ? "i" : dtype.bits == 64 ? "q" : nullptr;
    case DataType::kUInt:
      return dtype.bits == 8 ? "B" : dtype.bits == 16 ? "H" : dtype.bits == 32 ? "I" : dtype.bits == 64 ? "Q" : nullptr;
    case DataType::kFloat: return dtype.bits == 16 ? "e" : dtype.bits == 32 ? "f" : dtype.bits == 64 ? "d" : nullptr;
    default: return nullptr;
  }
}

/// Shares the memory of row-major host tensors. A tensor that is borrowed for the time of a call does not: the buffer could
/// outlive it.
int get_buffer(PyObject* self, Py_buffer* out, int flags) {
  out->obj = nullptr;
  const NDArrayNode* node = node_of(self);
  if (!node) return -1;
  const DLTensor& tensor = node->tensor;
  const char* format = buffer_format(DataType(tensor.dtype));
  const bool is_fortran = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && tensor.ndim > 1;
  if (!format || !node->memory || tensor.device.device_type != kDLCPU || is_fortran || !is_contiguous(&tensor)) {
    PyErr_SetString(PyExc_BufferError,
                    "only row-major tensors of the host share their memory, and of types that "
                    "Python's buffers know; numpy() copies others");
    return -1;
  }
  return guarded(-1, [&] {
    auto dims = static_cast<size_t>(tensor.ndim);
    auto extents = std::make_unique<Py_ssize_t[]>(2 * dims);  // and strides
    auto item = static_cast<Py_ssize_t>(DataType(tensor.dtype).bytes()), step = item;
    for (size_t i = dims; i-- > 0; step *= extents[i]) {
      extents[i] = static_cast<Py_ssize_t>(tensor.shape[i]);
      extents[dims + i] = step;
    }
    out->buf = data_of(&tensor);
    out->len = static_cast<Py_ssize_t>(tensor_bytes(&tensor));
    out->itemsize = item;
    out->readonly = 0;
    out->ndim = tensor.ndim;
    out->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;  // Python only reads it
    out->shape = flags & PyBUF_ND ? extents.get() : nullptr;
    out->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? extents.get() + dims : nullptr;
    out->suboffsets = nullptr;
    out->internal = extents.release();
    Py_INCREF(self);
    out->obj = self;
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* buffer) { delete[] static_cast<Py_ssize_t*>(buffer->internal); }

PyBufferProcs tensor_buffer = {get_buffer, release_buffer};

PyMethodDef tensor_methods[] = {
    {"_copy_from_buffer", copy_from_buffer, METH_O, "Takes the bytes of a contiguous buffer of the same size."},
    {"_copy_to_buffer", copy_to_buffer, METH_O, "Writes the bytes to a contiguous buffer of the same size."},
    {"_copyto", copy_to_tensor, METH_O, "Copies the contents into another tensor, and returns that."},
    {"to_dlpack", to_dlpack, METH_NOARGS, "A DLPack capsule of the same memory."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "Kind and number of the device, as DLPack has them."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef tensor_properties[] = {{"shape", get_shape, nullptr, "Extents as a tuple of int.", nullptr},
                                   {"dtype", get_dtype, nullptr, "Element type as a str.", nullptr},
                                   {"device", get_device, nullptr, "Where the data is.", nullptr},
                                   {"is_view", get_is_view, nullptr, "Borrowed for the time of a call.", nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

PyTypeObject tensor_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* make_tensor_view(const DLTensor* tensor) {
  if (!tensor) Py_RETURN_NONE;
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    auto* node = new NDArrayNode;
    node->type_ = &type_of<NDArrayNode>;
    node->tensor = *tensor;
    node->shape.assign(tensor->shape, tensor->shape + tensor->ndim);
    node->tensor.shape = node->shape.data();
    if (tensor->strides) {
      node->strides.assign(tensor->strides, tensor->strides + tensor->ndim);
      node->tensor.strides = node->strides.data();
    }
    return wrap(node);
  });
}

nb::object tensor_from_dlpack(nb::object capsule) {
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!managed) {
    PyErr_Clear();
    throw Error(ValueError) << "from_dlpack takes a DLPack capsule that was not used before";
  }
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
  return nb::steal(wrap(NDArray::from_dlpack(managed).get()));
}

nb::object empty_tensor(nb::sequence shape, nb::handle dtype, nb::handle device, const std::string& scope) {
  std::vector<int64_t> extents;
  for (nb::handle extent : shape) {
    Any value;
    if (!to_any(extent.ptr(), &value)) throw nb::python_error();
    extents.push_back(value.to<int64_t>());
  }
  Any type, where;
  if (!to_any(dtype.ptr(), &type) || !to_any(device.ptr(), &where)) throw nb::python_error();
  return nb::steal(wrap(NDArray::empty(extents, type.to<DataType>(), where.to<DLDevice>(), scope).get()));
}

void add_tensor_type(nb::module_& m) {
  tensor_type.tp_name = "tessera._ffi_core.NDArrayBase";
  tensor_type.tp_basicsize = sizeof(ObjectHandle);
  tensor_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  tensor_type.tp_doc = "A tensor on a device.";
  tensor_type.tp_base = &object_type;
  tensor_type.tp_methods = tensor_methods;
  tensor_type.tp_as_buffer = &tensor_buffer;
  tensor_type.tp_getset = tensor_properties;
  add_type(m, &tensor_type);
}

}  // namespace tessera::python
