// The C border, in the order of tessera/c_api_functions.h.

#include "tessera/c_api.h"

#include <cstdlib>
#include <cstring>

#include "runtime/c_border.h"
#include "runtime/module/module.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera {

Error error_from_text(std::string_view text) {
  size_t colon = text.find(": ");
  std::string_view kind = text.substr(0, colon == text.npos ? 0 : colon);
  bool is_name =
      !kind.empty() && kind.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.") == kind.npos;
  if (is_name && (kind.ends_with("Error") || kind.starts_with("Op")))
    return Error(std::string(kind), std::string(text.substr(colon + 2)));
  return Error(RuntimeError, std::string(text));
}

void keep_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    set_last_error(error);
  } catch (const std::bad_alloc&) {
    set_last_error(Error("MemoryError", "out of memory"));
  } catch (const std::exception& error) {
    set_last_error(Error(RuntimeError, error.what()));
  } catch (...) {
    set_last_error(Error(RuntimeError, "an exception of unknown type"));
  }
}

namespace {

/// What the calling thread was given and has not been replaced yet.
struct Given {
  ObjectRef text_owner;
  std::string text;
  TesseraByteArray bytes{};
  std::vector<std::string> names;
  std::vector<const char*> name_pointers;
};
Given& given() {
  thread_local Given of_thread;
  return of_thread;
}

template <class T>
T* required(T* pointer, const char* name) {
  if (!pointer) throw Error(ValueError) << name << " is NULL";
  return pointer;
}

template <class Node>
Ref<Node> borrowed(void* handle, const char* name) {
  return Ref<Node>(static_cast<const Node*>(static_cast<Object*>(required(handle, name))));
}

/// Gives a share of the object to a C caller.
template <class Node>
void* owned(const Ref<Node>& ref) {
  if (ref) ref.get()->retain();
  return const_cast<Object*>(static_cast<const Object*>(ref.get()));
}

NDArray array_of(DLTensor* handle) {
  auto* object = reinterpret_cast<Object*>(reinterpret_cast<char*>(required(handle, "array")) - kTensorOffset);
  return NDArray(static_cast<NDArrayNode*>(object));
}

/// Strings, bytes and types leave as plain C data; anything else as it is, owned by the caller.
void give_result(Any result, TesseraValue* value, int* code) {
  Given& kept = given();
  if (auto* text = cast_or_null<StringNode>(result.object())) {
    kept.text_owner = ObjectRef(text);
    value->v_str = text->text.c_str();
    *code = kTesseraStr;
  } else if (auto* bytes = cast_or_null<BytesNode>(result.object())) {
    kept.text_owner = ObjectRef(bytes);
    kept.bytes = {bytes->data.data(), bytes->data.size()};
    value->v_handle = &kept.bytes;
    *code = kTesseraBytes;
  } else if (result.code() == kTesseraDataType) {
    kept.text = DataType(result.raw().v_type).str();
    value->v_str = kept.text.c_str();
    *code = kTesseraStr;
  } else {
    result.move_to(value, code);
  }
}

DeviceAPI* api_of(DLDevice device) { return get_device_api(device); }

const TypeInfo* type_at(uint32_t index) {
  const TypeInfo* type = find_type(index);
  if (!type) throw Error(ValueError) << "no object type has the index " << index;
  return type;
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // NOLINT: this file is the C names of what is in there

extern "C" {

const char* TesseraGetLastError() {
  const Error* error = last_error();
  return error ? error->what() : "";
}

void TesseraAPISetLastError(const char* message) {
  at_border([&] { set_last_error(error_from_text(message ? message : "")); });
}

// ---- functions ----

int TesseraFuncCall(TesseraFunctionHandle function, TesseraValue* args, int* type_codes, int num_args,
                    TesseraValue* ret, int* ret_type_code) {
  return at_border([&] {
    auto* node = static_cast<const PackedFuncNode*>(static_cast<const Object*>(required(function, "function")));
    Any result;
    node->body({args, type_codes, num_args}, &result);
    give_result(std::move(result), ret, ret_type_code);
  });
}

int TesseraFuncFree(TesseraFunctionHandle function) { return TesseraObjectFree(function); }

int TesseraFuncCreateFromCFunc(TesseraPackedCFunc function, void* resource_handle,
                               TesseraPackedCFuncFinalizer finalizer, TesseraFunctionHandle* out) {
  return at_border(
      [&] { *out = owned(PackedFunc::from_c(required(function, "function"), resource_handle, finalizer)); });
}

int TesseraCFuncSetReturn(TesseraRetHandle ret, TesseraValue* value, int* type_code, int num_ret) {
  return at_border([&] {
    if (num_ret != 1) throw Error(ValueError) << "a function returns 1 value, not " << num_ret;
    *static_cast<Any*>(required(ret, "ret")) = Any(AnyView(*value, *type_code));
  });
}

int TesseraCbArgToReturn(TesseraValue* value, int* type_code) {
  return at_border([&] { Any(AnyView(*value, *type_code)).move_to(value, type_code); });
}

int TesseraFuncRegisterGlobal(const char* name, TesseraFunctionHandle function, int override_existing) {
  return at_border([&] {
    Ref<PackedFuncNode> node = borrowed<PackedFuncNode>(function, "function");
    register_global(required(name, "name"), PackedFunc(node.get()), override_existing != 0);
  });
}

int TesseraFuncGetGlobal(const char* name, TesseraFunctionHandle* out) {
  return at_border([&] { *out = owned(find_global(required(name, "name"))); });
}

int TesseraFuncListGlobalNames(int* out_size, const char*** out_array) {
  return at_border([&] {
    Given& kept = given();
    kept.names = global_names();
    kept.name_pointers.clear();
    for (const std::string& name : kept.names) kept.name_pointers.push_back(name.c_str());
    *out_size = static_cast<int>(kept.names.size());
    *out_array = kept.name_pointers.data();
  });
}

int TesseraFuncRemoveGlobal(const char* name) {
  return at_border([&] { remove_global(required(name, "name")); });
}

// ---- modules ----

int TesseraModLoadFromFile(const char* file_name, const char* format, TesseraModuleHandle* out) {
  return at_border([&] { *out = owned(load_module(required(file_name, "file_name"), format ? format : "")); });
}

int TesseraModImport(TesseraModuleHandle module, TesseraModuleHandle dependency) {
  return at_border([&] {
    Module(borrowed<ModuleNode>(module, "module")).import_module(borrowed<ModuleNode>(dependency, "dependency"));
  });
}

int TesseraModGetFunction(TesseraModuleHandle module, const char* name, int query_imports, TesseraFunctionHandle* out) {
  return at_border([&] {
    Module holder(borrowed<ModuleNode>(module, "module"));
    *out = owned(holder.get_function(required(name, "name"), query_imports != 0));
  });
}

int TesseraModFree(TesseraModuleHandle module) { return TesseraObjectFree(module); }

// ---- tensors ----

int TesseraArrayAlloc(const int64_t* shape, int ndim, int dtype_code, int dtype_bits, int dtype_lanes, int device_type,
                      int device_id, TesseraArrayHandle* out) {
  return at_border([&] {
    if (ndim < 0) throw Error(ValueError) << "a tensor cannot have " << ndim << " dimensions";
    NDArray array = NDArray::empty({shape, static_cast<size_t>(ndim)}, DataType(dtype_code, dtype_bits, dtype_lanes),
                                   make_device(device_type, device_id));
    owned(array);
    *out = array.tensor();
  });
}

int TesseraArrayFree(TesseraArrayHandle array) {
  return at_border([&] { array_of(array).get()->release(); });
}

int TesseraArrayCopyFromBytes(TesseraArrayHandle array, void* data, size_t nbytes) {
  return at_border([&] { array_of(array).copy_from_bytes(data, nbytes); });
}

int TesseraArrayCopyToBytes(TesseraArrayHandle array, void* data, size_t nbytes) {
  return at_border([&] { array_of(array).copy_to_bytes(data, nbytes); });
}

int TesseraArrayCopyFromTo(TesseraArrayHandle from, TesseraArrayHandle to, TesseraStreamHandle stream) {
  return TesseraDeviceCopyDataFromTo(from, to, stream);
}

int TesseraArrayFromDLPack(DLManagedTensor* from, TesseraArrayHandle* out) {
  return at_border([&] {
    NDArray array = NDArray::from_dlpack(required(from, "from"));
    owned(array);
    *out = array.tensor();
  });
}

int TesseraArrayToDLPack(TesseraArrayHandle from, DLManagedTensor** out) {
  return at_border([&] { *out = array_of(from).to_dlpack(); });
}

void TesseraDLManagedTensorCallDeleter(DLManagedTensor* tensor) {
  if (tensor && tensor->deleter) tensor->deleter(tensor);
}

// ---- objects ----

int TesseraObjectGetTypeIndex(TesseraObjectHandle object, unsigned* out_index) {
  return at_border([&] { *out_index = static_cast<Object*>(required(object, "object"))->type()->index; });
}

int TesseraObjectTypeKey2Index(const char* type_key, unsigned* out_index) {
  return at_border([&] {
    const TypeInfo* type = find_type(required(type_key, "type_key"));
    if (!type) throw Error(ValueError) << "no object type has the key " << type_key;
    *out_index = type->index;
  });
}

int TesseraObjectTypeIndex2Key(unsigned index, char** out_type_key) {
  return at_border([&] { *out_type_key = strdup(type_at(index)->node->key); });
}

int TesseraObjectDerivedFrom(uint32_t child_index, uint32_t parent_index, int* is_derived) {
  return at_border([&] {
    const NodeInfo* parent = type_at(parent_index)->node;
    const NodeInfo* at = type_at(child_index)->node;
    while (at && at != parent) at = at->parent;
    *is_derived = at != nullptr;
  });
}

int TesseraObjectRetain(TesseraObjectHandle object) {
  return at_border([&] { static_cast<Object*>(required(object, "object"))->retain(); });
}

int TesseraObjectFree(TesseraObjectHandle object) {
  return at_border([&] {
    if (object) static_cast<Object*>(object)->release();
  });
}

int TesseraByteArrayFree(TesseraByteArray* bytes) {
  return at_border([&] {
    if (bytes != &given().bytes)
      throw Error(ValueError) << "these bytes were not returned by a function call of this thread";
    given().bytes = {};
    given().text_owner = nullptr;
  });
}

// ---- devices ----

int TesseraStreamCreate(int device_type, int device_id, TesseraStreamHandle* out) {
  return at_border([&] {
    DLDevice device = make_device(device_type, device_id);
    *out = api_of(device)->create_stream(device);
  });
}

int TesseraStreamFree(int device_type, int device_id, TesseraStreamHandle stream) {
  return at_border([&] {
    DLDevice device = make_device(device_type, device_id);
    api_of(device)->free_stream(device, stream);
  });
}

int TesseraSetStream(int device_type, int device_id, TesseraStreamHandle stream) {
  return at_border([&] {
    DLDevice device = make_device(device_type, device_id);
    api_of(device)->set_stream(device, stream);
  });
}

int TesseraSynchronize(int device_type, int device_id, TesseraStreamHandle stream) {
  return at_border([&] {
    DLDevice device = make_device(device_type, device_id);
    api_of(device)->sync(device, stream);
  });
}

int TesseraStreamStreamSynchronize(int device_type, int device_id, TesseraStreamHandle src, TesseraStreamHandle dst) {
  return at_border([&] {
    DLDevice device = make_device(device_type, device_id);
    api_of(device)->sync_streams(device, src, dst);
  });
}

int TesseraDeviceAllocDataSpace(DLDevice device, size_t nbytes, size_t alignment, DLDataType type_hint,
                                void** out_data) {
  return at_border([&] { *out_data = api_of(device)->alloc(device, nbytes, alignment, DataType(type_hint)); });
}

int TesseraDeviceAllocDataSpaceWithScope(DLDevice device, int ndim, const int64_t* shape, DLDataType dtype,
                                         const char* mem_scope, void** out_data) {
  return at_border([&] {
    if (ndim < 0) throw Error(ValueError) << "a tensor cannot have " << ndim << " dimensions";
    *out_data = api_of(device)->alloc_in_scope(device, {shape, static_cast<size_t>(ndim)}, DataType(dtype),
                                               mem_scope ? mem_scope : "");
  });
}

int TesseraDeviceFreeDataSpace(DLDevice device, void* data) {
  return at_border([&] { api_of(device)->free(device, data); });
}

int TesseraDeviceCopyDataFromTo(DLTensor* from, DLTensor* to, TesseraStreamHandle stream) {
  return at_border([&] { copy_tensor(required(from, "from"), required(to, "to"), stream); });
}
}
