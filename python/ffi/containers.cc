// Arrays and maps as Python sequences and mappings.

#include "python/ffi/handles.h"

namespace tessera::python {
namespace {

const ArrayNode* array_of(PyObject* self) {
  const Object* object = checked_object(self);
  if (object && !object->is_a(ArrayNode::info)) {
    PyErr_Format(PyExc_TypeError, "%R holds a %s, not an Array", Py_TYPE(self), object->type_key());
    return nullptr;
  }
  return static_cast<const ArrayNode*>(object);
}

const MapNode* map_of(PyObject* self) {
  const Object* object = checked_object(self);
  if (object && !object->is_a(MapNode::info)) {
    PyErr_Format(PyExc_TypeError, "%R holds a %s, not a Map", Py_TYPE(self), object->type_key());
    return nullptr;
  }
  return static_cast<const MapNode*>(object);
}

Py_ssize_t array_size(PyObject* self) {
  const ArrayNode* array = array_of(self);
  return array ? static_cast<Py_ssize_t>(array->items.size()) : -1;
}

PyObject* array_item(PyObject* self, Py_ssize_t i) {
  const ArrayNode* array = array_of(self);
  if (!array) return nullptr;
  auto size = static_cast<Py_ssize_t>(array->items.size());
  if (i < 0 || i >= size)
    return PyErr_Format(PyExc_IndexError, "Index out of range. size: %zd, got index %zd", size, i);
  return wrap(array->items[static_cast<size_t>(i)].get());
}

PyObject* array_slice(PyObject* self, PyObject* key) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(key, &start, &stop, &step) < 0) return nullptr;
  Py_ssize_t size = array_size(self);
  if (size < 0) return nullptr;
  Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
  nb::object out = nb::steal(PyList_New(count));
  for (Py_ssize_t i = 0; out && i < count; ++i) {
    PyObject* item = array_item(self, start + i * step);
    if (!item) return nullptr;
    PyList_SET_ITEM(out.ptr(), i, item);
  }
  return out.release().ptr();
}

PyObject* array_subscript(PyObject* self, PyObject* key) {
  if (PySlice_Check(key)) return array_slice(self, key);
  Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  Py_ssize_t size = array_size(self);
  if (size < 0) return nullptr;
  return array_item(self, i < 0 ? i + size : i);
}

Py_ssize_t map_size(PyObject* self) {
  const MapNode* map = map_of(self);
  return map ? static_cast<Py_ssize_t>(map->entries.size()) : -1;
}

/// The entry under `key`; null without an error when there is none.
const ObjectRef* map_find(PyObject* self, PyObject* key) {
  const MapNode* map = map_of(self);
  ObjectRef wanted;
  if (!map || !to_object(key, &wanted)) return nullptr;
  return map->find(wanted.get());
}

PyObject* map_subscript(PyObject* self, PyObject* key) {
  const ObjectRef* found = map_find(self, key);
  if (found) return wrap(found->get());
  if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, key);
  return nullptr;
}

int map_contains(PyObject* self, PyObject* key) {
  const ObjectRef* found = map_find(self, key);
  if (found) return 1;
  if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();  // what cannot be a key is not one
  return PyErr_Occurred() ? -1 : 0;
}

PyObject* map_items(PyObject* self, PyObject*) {
  const MapNode* map = map_of(self);
  if (!map) return nullptr;
  nb::object out = nb::steal(PyList_New(0));
  for (const auto& [key, value] : map->entries) {
    nb::object first = nb::steal(wrap(key.get())), second = nb::steal(wrap(value.get()));
    if (!first || !second) return nullptr;
    nb::object pair = nb::steal(PyTuple_Pack(2, first.ptr(), second.ptr()));
    if (!pair || PyList_Append(out.ptr(), pair.ptr()) < 0) return nullptr;
  }
  return out.release().ptr();
}

PySequenceMethods array_sequence = {};
PyMappingMethods array_mapping = {array_size, array_subscript, nullptr};
PySequenceMethods map_sequence = {};
PyMappingMethods map_mapping = {map_size, map_subscript, nullptr};
PyMethodDef map_methods[] = {{"items", map_items, METH_NOARGS, "The entries as a list of (key, value)."},
                             {nullptr, nullptr, 0, nullptr}};

void init_type(PyTypeObject* type, const char* name, const char* doc) {
  type->tp_name = name;
  type->tp_doc = doc;
  type->tp_base = &object_type;
  type->tp_basicsize = sizeof(ObjectHandle);
  type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
}

}  // namespace

PyTypeObject array_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject map_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

void add_container_types(nb::module_& m) {
  init_type(&array_type, "tessera._ffi_core.ArrayBase", "An immutable sequence of objects.");
  array_sequence.sq_length = array_size;
  array_sequence.sq_item = array_item;
  array_type.tp_as_sequence = &array_sequence;
  array_type.tp_as_mapping = &array_mapping;
  add_type(m, &array_type);

  init_type(&map_type, "tessera._ffi_core.MapBase", "An immutable map from objects to objects.");
  map_sequence.sq_contains = map_contains;
  map_type.tp_as_sequence = &map_sequence;
  map_type.tp_as_mapping = &map_mapping;
  map_type.tp_methods = map_methods;
  add_type(m, &map_type);
}

}  // namespace tessera::python
