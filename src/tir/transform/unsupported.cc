// Steps of the pipeline for features that are not here yet. Each lets programs through that do not use its feature, and
// refuses by name those that do.

#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

/// A pass that throws when `uses` names a use of the feature.
Pass refuse(const char* name, const char* feature, std::function<std::string(const Object*)> uses) {
  return body_pass(std::string("tir.") + name, [=](const Stmt& body) {
    post_order(body, [&](const Object* node) {
      std::string what = uses(node);
      if (!what.empty()) throw Error(NotImplementedError) << feature << " is not supported yet: " << what;
    });
    return body;
  });
}

std::string has_scope(const Object* node, std::string_view prefix) {
  Var memory;
  if (auto* allocate = cast_or_null<Allocate>(node)) memory = allocate->buffer_var;
  if (auto* realize = cast_or_null<BufferRealize>(node)) memory = realize->buffer->data;
  auto* type = memory ? memory->type_annotation.as<PointerType>() : nullptr;
  if (!type || std::string_view(type->storage_scope).substr(0, prefix.size()) != prefix) return "";
  return "buffer " + memory->name.str() + " in scope " + type->storage_scope.str();
}

std::string has_custom_type(const Object* node) {
  auto* e = cast_or_null<PrimExprNode>(node);
  return e && e->dtype.code >= DataType::kCustom ? "an expression of type " + e->dtype.str() : "";
}

std::string is_coproc_code(const Object* node) {
  auto* attr = cast_or_null<AttrStmt>(node);
  return attr && attr->attr_key == attr::kCoprocScope ? "a region for a coprocessor" : "";
}

static Globals globals{
    {"tir.transform.CoProcSync", [] { return refuse("CoProcSync", "coprocessor code", is_coproc_code); }},
    {"tir.transform.TextureFlatten",
     [] { return refuse("TextureFlatten", "texture memory", [](auto* n) { return has_scope(n, "global.texture"); }); }},
    {"tir.transform.LowerCustomDatatypes",
     [] { return refuse("LowerCustomDatatypes", "custom data types", has_custom_type); }},
};

}  // namespace
}  // namespace tessera
