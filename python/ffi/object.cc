// Handles of objects: attributes come from the field table, classes from the table that register_object fills.

#include <nanobind/stl/string.h>

#include <cstring>
#include <unordered_map>

#include "python/ffi/handles.h"

namespace tessera::python {
namespace {

std::unordered_map<std::string, nb::object>& classes_by_key() {
  static auto* classes = new std::unordered_map<std::string, nb::object>;
  return *classes;
}
// By type index; null where not yet looked for.
std::vector<PyTypeObject*>& classes_by_index() {
  static auto* classes = new std::vector<PyTypeObject*>;
  return *classes;
}

PyTypeObject* base_type_for(const NodeInfo* node) {
  switch (node->slot_code) {
    case kTesseraFunction: return &function_type;
    case kTesseraNDArray: return &tensor_type;
    case kTesseraModule: return &module_type;
    default: return &object_type;
  }
}

PyTypeObject* find_class(const TypeInfo* type) {
  // Functions, modules and tensors are families of their own: what is registered for all objects is not for them.
  for (const NodeInfo* node = type->node; node && node->slot_code == type->node->slot_code; node = node->parent) {
    auto found = classes_by_key().find(node->key);
    if (found != classes_by_key().end()) return reinterpret_cast<PyTypeObject*>(found->second.ptr());
  }
  return base_type_for(type->node);
}

PyTypeObject* class_of(const TypeInfo* type) {
  auto& classes = classes_by_index();
  if (type->index >= classes.size()) classes.resize(type->index + 64);
  PyTypeObject*& cls = classes[type->index];
  if (!cls) cls = find_class(type);
  return cls;
}

void object_dealloc(PyObject* self) {
  if (const Object* object = std::exchange(object_of(self), nullptr)) object->release();
  Py_TYPE(self)->tp_free(self);
}

PyObject* object_new(PyTypeObject* type, PyObject*, PyObject*) { return type->tp_alloc(type, 0); }

// Python subclasses take any arguments in their own __init__; the base has nothing to do.
int object_init(PyObject*, PyObject*, PyObject*) { return 0; }

PyObject* unknown_attribute(PyObject* self, const Object* object, PyObject* name) {
  std::string known;
  if (object)
    for (const Field& field : object->type()->fields())
      known += (known.empty() ? "; its fields are " : ", ") + std::string(field.name);
  return PyErr_Format(PyExc_AttributeError, "%R has no attribute %U%s", Py_TYPE(self), name, known.c_str());
}

/// The field of that name; null without an error when there is none.
PyObject* get_field_named(const Object* object, PyObject* name) {
  Py_ssize_t size;
  const char* text = object ? PyUnicode_AsUTF8AndSize(name, &size) : nullptr;
  if (!text) return nullptr;
  const Field* field = object->type()->find({text, static_cast<size_t>(size)});
  return field ? to_python(get_field(object, *field)) : nullptr;
}

/// What the class has comes first, then what was set on this object, then the fields. A property that raises
/// AttributeError leaves the word to the field of its name, and to its own message where there is none.
PyObject* object_getattr(PyObject* self, PyObject* name) {
  const Object* object = object_of(self);
  if (_PyType_Lookup(Py_TYPE(self), name)) {
    PyObject* found = PyObject_GenericGetAttr(self, name);
    if (found || !object || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    found = get_field_named(object, name);
    if (!found && !PyErr_Occurred()) {
      PyErr_Restore(type, value, trace);
      return nullptr;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return found;
  }
  PyObject* found = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1);
  if (!found && !PyErr_Occurred()) found = get_field_named(object, name);
  if (found || PyErr_Occurred()) return found;
  return unknown_attribute(self, object, name);
}

Py_hash_t object_hash(PyObject* self) {
  auto value = static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(object_of(self)) >> 4);
  return value == -1 ? -2 : value;
}

PyObject* object_compare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool same = is_object(b) && object_of(a) == object_of(b);
  return PyBool_FromLong(same == (op == Py_EQ));
}

PyObject* same_as(PyObject* self, PyObject* other) {
  return PyBool_FromLong(is_object(other) && object_of(self) == object_of(other));
}

/// Calls a constructor function of the core and makes its answer this handle's object.
PyObject* init_by_constructor(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count < 1 || !PyObject_TypeCheck(args[0], &function_type)) {
    PyErr_SetString(PyExc_TypeError, "__init_handle_by_constructor__ takes a PackedFunc and its arguments");
    return nullptr;
  }
  Slots slots(count - 1);
  if (!slots.set_all(args + 1)) return nullptr;
  Any result;
  if (!call_function(static_cast<const PackedFuncNode*>(object_of(args[0])), slots.args(), &result)) return nullptr;
  const Object* made = result.object();
  if (!made) return PyErr_Format(PyExc_TypeError, "the constructor of %R made no object", Py_TYPE(self));
  made->retain();
  if (const Object* old = std::exchange(object_of(self), made)) old->release();
  Py_RETURN_NONE;
}

/// Shares the object of another handle, for classes that are views of one object.
PyObject* init_by_handle(PyObject* self, PyObject* other) {
  if (!is_object(other)) return PyErr_Format(PyExc_TypeError, "expected an object, got %R", Py_TYPE(other));
  const Object* object = checked_object(other);
  if (!object) return nullptr;
  object->retain();
  if (const Object* old = std::exchange(object_of(self), object)) old->release();
  Py_RETURN_NONE;
}

PyObject* move(PyObject* self, PyObject*) {
  auto* moved = PyObject_New(MovedHandle, &moved_type);
  if (!moved) return nullptr;
  Py_INCREF(self);
  moved->source = reinterpret_cast<ObjectHandle*>(self);
  return reinterpret_cast<PyObject*>(moved);
}

PyObject* field_named(PyObject* self, PyObject* name) {
  if (!PyUnicode_Check(name)) return PyErr_Format(PyExc_TypeError, "a field's name is a str, not %R", name);
  PyObject* found = get_field_named(object_of(self), name);
  if (found || PyErr_Occurred()) return found;
  return unknown_attribute(self, object_of(self), name);
}

PyObject* field_names(PyObject* self, PyObject*) {
  const Object* object = object_of(self);
  nb::list names;
  if (object)
    for (const Field& field : object->type()->fields()) names.append(field.name);
  return names.release().ptr();
}

PyObject* core_type(PyObject* self, PyObject*) {
  const Object* object = checked_object(self);
  return object ? PyUnicode_FromString(object->type_key()) : nullptr;
}

/// A ctypes.c_void_p, so that functions of the C border can be called with it.
PyObject* get_handle(PyObject* self, void*) {
  const Object* object = object_of(self);
  return make_handle(object ? Any::of_object(object).raw().v_handle : nullptr);
}

/// A module is called through its main function, which is looked for once.
PyObject* module_call(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject*& entry = reinterpret_cast<ModuleHandle*>(self)->entry;
  if (!entry) entry = PyObject_GetAttrString(self, "entry_func");
  return entry ? PyObject_Call(entry, args, keywords) : nullptr;
}

void module_dealloc(PyObject* self) {
  Py_CLEAR(reinterpret_cast<ModuleHandle*>(self)->entry);
  object_dealloc(self);
}

void moved_dealloc(PyObject* self) {
  Py_DECREF(reinterpret_cast<MovedHandle*>(self)->source);
  PyObject_Free(self);
}

PyMethodDef object_methods[] = {
    {"same_as", same_as, METH_O, "True when both are the same object of the core."},
    {"__init_handle_by_constructor__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(init_by_constructor)),
     METH_FASTCALL, "Makes what the function returns this object."},
    {"__init_handle_by_handle__", init_by_handle, METH_O, "Makes this another handle of the same object."},
    {"_move", move, METH_NOARGS, "Passes the object on: the callee may take it over."},
    {"_field", field_named, METH_O, "The field of that name, whatever the class has under it."},
    {"_field_names", field_names, METH_NOARGS, "Names of the fields of the object's type."},
    {"_core_type", core_type, METH_NOARGS, "The registered name of the object's type."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef object_properties[] = {{"handle", get_handle, nullptr, "The address of the object.", nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject make_object_type(const char* name, PyTypeObject* base, const char* doc) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_basicsize = sizeof(ObjectHandle);
  type.tp_dealloc = object_dealloc;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  type.tp_doc = doc;
  type.tp_base = base;
  type.tp_new = object_new;
  type.tp_init = object_init;
  return type;
}

}  // namespace

PyTypeObject object_type = make_object_type("tessera._ffi_core.ObjectBase", nullptr, "An object of the core.");
PyTypeObject module_type = make_object_type("tessera._ffi_core.ModuleBase", &object_type, "A runtime module.");
PyTypeObject moved_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

const Object* checked_object(PyObject* value) {
  const Object* object = object_of(value);
  if (!object)
    PyErr_Format(PyExc_ValueError, "this %R is empty: it was moved away, or its __init__ made no object",
                 Py_TYPE(value));
  return object;
}

PyObject* wrap(const Object* object) {
  if (!object) Py_RETURN_NONE;
  object->retain();
  return wrap_owned(object);
}

PyObject* wrap_owned(const Object* object) {
  if (!object) Py_RETURN_NONE;
  if (object->type() == &type_of<StringNode>) {
    PyObject* text = make_text(static_cast<const StringNode*>(object)->text);
    object->release();
    return text;
  }
  if (object->type() == &type_of<BytesNode>) {
    const std::string& data = static_cast<const BytesNode*>(object)->data;
    PyObject* bytes = PyByteArray_FromStringAndSize(data.data(), static_cast<Py_ssize_t>(data.size()));
    object->release();
    return bytes;
  }
  PyTypeObject* cls = class_of(object->type());
  PyObject* self = cls->tp_alloc(cls, 0);  // as __new__ without __init__
  if (!self) {
    object->release();
    return nullptr;
  }
  object_of(self) = object;
  if (object->type() == &type_of<PackedFuncNode>) reinterpret_cast<FunctionHandle*>(self)->call = call_handle;
  return self;
}

void set_class(const std::string& type_key, nb::handle cls) {
  const TypeInfo* type = find_type(type_key);
  PyTypeObject* base = type ? base_type_for(type->node) : &object_type;
  if (!PyType_Check(cls.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), base))
    throw Error(TypeError) << "the class registered for " << type_key << " has to derive from "
                           << std::string(base->tp_name);
  classes_by_key()[type_key] = nb::borrow(cls);
  classes_by_index().clear();
}

void add_type(nb::module_& m, PyTypeObject* type) {
  if (PyType_Ready(type) < 0) throw nb::python_error();
  const char* dot = std::strrchr(type->tp_name, '.');
  m.attr(dot + 1) = nb::handle(reinterpret_cast<PyObject*>(type));
}

void add_object_types(nb::module_& m) {
  object_type.tp_getattro = object_getattr;
  object_type.tp_hash = object_hash;
  object_type.tp_richcompare = object_compare;
  object_type.tp_methods = object_methods;
  object_type.tp_getset = object_properties;
  add_type(m, &object_type);
  module_type.tp_basicsize = sizeof(ModuleHandle);
  module_type.tp_dealloc = module_dealloc;
  module_type.tp_call = module_call;
  add_type(m, &module_type);
  moved_type.tp_name = "tessera._ffi_core.ObjectRValueRef";
  moved_type.tp_basicsize = sizeof(MovedHandle);
  moved_type.tp_flags = Py_TPFLAGS_DEFAULT;
  moved_type.tp_dealloc = moved_dealloc;
  moved_type.tp_doc = "An argument that the callee may take over.";
  add_type(m, &moved_type);
}

}  // namespace tessera::python
