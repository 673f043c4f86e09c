#pragma once
// Equality of programs by structure, read from the field table (roles and flags: base/object.h).

#include <optional>
#include <string_view>
#include <vector>

#include "ir/structural/object_path.h"

namespace tessera {

/// True when `lhs` and `rhs` are the same program up to the names of bound variables.
///  - a variable under a Binds field is matched with its counterpart, and both stay matched from then on;
///  - a free variable equals only itself and its copies with other annotations (relay.Var of one `vid`), or any free one of
///    its type when `map_free_vars` is set;
///  - nodes of role Dag must be shared alike, nodes of role Identity be the same object;
///  - floating point fields compare by bits, or are nearer than `tolerance`; tensors by type, shape and content; functions of
///    a module by name;
///  - a promise about a variable (SizeVar) is no more part of the structure than its name.
/// Works without recursion, and visits a pair of shared nodes once.
bool structural_equal(const ObjectRef& lhs, const ObjectRef& rhs, bool map_free_vars = false, double tolerance = 0);
/// What users' comparisons overlook between floating point fields, as in v0.10. Passes compare by bits, and so does the hash.
inline constexpr double kUserTolerance = 1e-9;

/// Where the two first differ, each side's path from its root; empty when they are equal.
std::optional<ObjectPathPair> first_structural_mismatch(const ObjectRef& lhs, const ObjectRef& rhs,
                                                        bool map_free_vars = false, double tolerance = 0);

/// Throws a ValueError that names the path and both sides of the first difference; floating point fields may differ by
/// `kUserTolerance`.
void assert_structural_equal(const ObjectRef& lhs, const ObjectRef& rhs, bool map_free_vars = false);

/// A number that is equal for structurally equal programs, in this and every other process.
int64_t structural_hash(const ObjectRef& object, bool map_free_vars = false);

/// What copies of a variable share and are known by; the variable itself where there is nothing of the kind.
const Object* variable_identity(const Object* variable);

/// A field that equality and hash overlook in some nodes of a type, since something else already says it.
struct Overlooked {
  const NodeInfo* type;
  const char* field;
  bool (*when)(const Object* node);
  bool operator()(const Object* node, const Field& with) const {
    return node->type()->node == type && std::string_view(with.name) == field && when(node);
  }
};
std::vector<Overlooked>& overlooked_fields();
inline bool is_overlooked(const Object* node, const Field& field) {
  for (const Overlooked& overlooked : overlooked_fields())
    if (overlooked(node, field)) return true;
  return false;
}

}  // namespace tessera
