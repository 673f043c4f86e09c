#include "ir/type.h"

namespace tessera {

Type prim_type(DataType dtype) { return make(PrimType{.dtype = dtype}); }

Type pointer_type(DataType element, String storage_scope) {
  return make(PointerType{.element_type = prim_type(element), .storage_scope = std::move(storage_scope)});
}

Type void_type() { return make(TupleType{}); }

DataType runtime_dtype(const Type& type) {
  if (auto* prim = type.as<PrimType>()) return prim->dtype;
  if (type.as<PointerType>()) return DataType::Handle();
  if (auto* tuple = type.as<TupleType>(); tuple && tuple->fields_.empty()) return DataType::Void();
  throw Error(TypeError) << "a value of type " << type << " does not fit a register";
}

}  // namespace tessera
