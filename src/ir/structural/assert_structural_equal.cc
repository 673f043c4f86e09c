// assert_structural_equal: the first difference as a message.

#include <vector>

#include "base/any.h"
#include "base/map.h"
#include "ir/structural/equal.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// What a path leads to.
std::string text_at(const ObjectRef& root, const ObjectPath& path) {
  std::vector<const ObjectPathNode*> steps;
  for (const ObjectPathNode* at = path.get(); at; at = at->parent.get()) steps.push_back(at);
  Any here = Any::of_object(root.get());
  for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
    const Object* object = here.object();
    if (auto* attr = cast_or_null<AttributeAccessPath>(*it)) {
      here = get_field(object, *object->type()->find(attr->attr_key));
    } else if (auto* item = cast_or_null<ArrayIndexPath>(*it)) {
      here = Any::of_object(static_cast<const ArrayNode*>(object)->items[static_cast<size_t>(item->index)].get());
    } else if (auto* entry = cast_or_null<MapValuePath>(*it)) {
      const ObjectRef* value = static_cast<const MapNode*>(object)->find(entry->key.get());
      here = value ? Any::of_object(value->get()) : Any();
    } else if (!(*it)->is_a(RootPath::info)) {
      return "(nothing)";
    }
  }
  switch (here.code()) {
    case kTesseraNull: return "None";
    case kTesseraInt: return to_text(here.to<int64_t>());
    case kTesseraFloat: return to_text(here.to<double>());
    case kTesseraDataType: return here.to<DataType>().str();
    default: return to_text(ObjectRef(here.object()));
  }
}

}  // namespace

void assert_structural_equal(const ObjectRef& lhs, const ObjectRef& rhs, bool map_free_vars) {
  auto mismatch = first_structural_mismatch(lhs, rhs, map_free_vars, kUserTolerance);
  if (!mismatch) return;
  const ObjectPathPairNode& paths = **mismatch;
  throw Error(ValueError) << "StructuralEqual check failed, caused by lhs at " << path_text(paths.lhs_path) << ":\n"
                          << text_at(lhs, paths.lhs_path) << "\nand rhs at " << path_text(paths.rhs_path) << ":\n"
                          << text_at(rhs, paths.rhs_path);
}

static Globals assert_structural_equal_globals{
    // node.StructuralEqual(lhs, rhs, assert_mode, map_free_vars)
    {"node.StructuralEqual",
     [](AnyView lhs, AnyView rhs, bool assert_mode, bool map_free_vars) {
       if (assert_mode) return assert_structural_equal(box(lhs), box(rhs), map_free_vars), true;
       return structural_equal(box(lhs), box(rhs), map_free_vars, kUserTolerance);
     }},
    {"node.GetFirstStructuralMismatch",
     [](AnyView lhs, AnyView rhs, bool map_free_vars) -> ObjectPathPair {
       return first_structural_mismatch(box(lhs), box(rhs), map_free_vars, kUserTolerance).value_or(nullptr);
     }},
};

}  // namespace tessera
