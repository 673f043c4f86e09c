#include "tir/transform/function/require_target.h"

#include "tir/attrs.h"

namespace tessera {

Target require_target(const PrimFunc& function, const char* pass_name) {
  Target target = downcast_or_null<Target>(function->attrs.get_attr(attr::kTarget));
  if (!target) throw Error(ValueError) << pass_name << ": the function has no target attribute; run BindTarget first";
  return target;
}

}  // namespace tessera
