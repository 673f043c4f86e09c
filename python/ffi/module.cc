// The extension module tessera._ffi_core: the classes of handles.h and the functions that the package is built on.

#include "python/ffi/module.h"

#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime/registry.h"

namespace tessera::python {
namespace {

nb::object own(PyObject* value) {
  if (!value) throw nb::python_error();
  return nb::steal(value);
}

PackedFunc function_of(nb::handle value) {
  if (PyObject_TypeCheck(value.ptr(), &function_type))
    return PackedFunc(static_cast<const PackedFuncNode*>(object_of(value.ptr())));
  if (!PyCallable_Check(value.ptr())) throw Error(TypeError) << "a global function has to be callable";
  return wrap_callable(value.ptr());
}

nb::object get_global_function(const std::string& name, bool allow_missing) {
  PackedFunc found = allow_missing ? find_global(name) : get_global(name);
  return own(wrap(found.get()));
}

/// The value as the object it would be inside a container; None stays None.
nb::object convert(nb::handle value) {
  ObjectRef object;
  if (!to_object(value.ptr(), &object)) throw nb::python_error();
  return own(wrap(object.get()));
}

int type_index(const std::string& key) {
  const TypeInfo* type = find_type(key);
  return type ? static_cast<int>(type->index) : -1;
}

void load_library(const std::string& path, bool global) {
  nb::gil_scoped_release release;
  if (!dlopen(path.c_str(), RTLD_LAZY | (global ? RTLD_GLOBAL : RTLD_LOCAL)))
    throw Error(FileError) << "cannot load " << path << ": " << dlerror();
}

void set_hook(nb::object*& hook, nb::object value) {
  delete hook;
  hook = new nb::object(std::move(value));
}

void set_hooks(nb::object make_error, nb::object fallback, nb::object in_container, nb::object text, nb::object device,
               nb::object void_pointer, nb::object extensions) {
  set_hook(make_error_function, std::move(make_error));
  set_hook(convert_fallback, std::move(fallback));
  set_hook(object_fallback, std::move(in_container));
  set_hook(text_class, std::move(text));
  set_hook(device_class, std::move(device));
  set_hook(void_pointer_class, std::move(void_pointer));
  set_hook(extension_makers, std::move(extensions));
}

}  // namespace

nb::object tensor_from_dlpack(nb::object capsule);
nb::object empty_tensor(nb::sequence shape, nb::handle dtype, nb::handle device, const std::string& scope);

}  // namespace tessera::python

NB_MODULE(_ffi_core, m) {
  using namespace tessera::python;
  nb::set_leak_warnings(false);  // classes and functions of the registry live as long as the process
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const tessera::Error&) {
      set_python_error();
    }
  });
  m.doc() = "The core of Tessera as Python sees it.";
  m.attr("version") = TESSERA_VERSION;
  add_object_types(m);
  add_function_type(m);
  add_value_types(m);
  add_container_types(m);
  add_tensor_type(m);

  m.def("set_hooks", set_hooks, nb::kw_only(), nb::arg("make_error"), nb::arg("fallback"), nb::arg("object_fallback"),
        nb::arg("text"), nb::arg("device"), nb::arg("void_pointer"), nb::arg("extensions"));
  m.def("load_library", load_library, nb::arg("path"), nb::arg("is_global") = false);
  m.def("register_global", [](const std::string& name, nb::handle function, bool override) {
    tessera::register_global(name, function_of(function), override);
  });
  m.def("get_global", get_global_function, nb::arg("name"), nb::arg("allow_missing") = false);
  m.def("remove_global", [](const std::string& name) { return tessera::remove_global(name); });
  m.def("global_names", tessera::global_names);
  m.def("set_class", set_class);
  m.def("type_index", type_index);
  m.def("convert", convert, nb::arg("value").none());
  m.def("tensor_from_dlpack", tensor_from_dlpack);
  m.def("empty_tensor", empty_tensor);
}
