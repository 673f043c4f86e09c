#include "frontend/common/heads.h"

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::frontend {

using namespace relay;  // NOLINT: makers of calls

Expr split_heads(Expr x, int64_t heads) {
  return transpose(reshape(x, int_array({0, 0, heads, -1})), int_array({0, 2, 1, 3}));
}
Expr merge_heads(Expr x) { return reshape(transpose(x, int_array({0, 2, 1, 3})), int_array({0, 0, -1})); }
Expr transposed_matrices(const Expr& x) { return transpose(x, int_array({0, 1, 3, 2})); }

Expr counting(int64_t count, size_t axis) {
  constexpr int64_t kMax = 1 << 24;
  if (count > kMax) throw Error(OpNotImplemented) << "attention over " << count << " positions is not supported";
  std::vector<int64_t> values, shape(4, 1);
  for (int64_t i = 0; i < count; ++i) values.push_back(i);
  shape[axis] = count;
  return reshape_to(make_ints(values), shape);
}

Expr counting(const NodeContext& in, const Expr& x, size_t axis) {
  if (const int64_t* count = as_int(in.shape(x)[2])) return counting(*count, axis);
  Expr out = positions_along(in, x, 2);
  if (axis < 3) out = expand_dims(out, 1, 3 - static_cast<int>(axis));
  return expand_dims(out, 0, static_cast<int>(axis));
}

Expr rotated(const NodeContext& in, const Expr& x, const Expr& cosine, const Expr& sine, int64_t turned,
             bool is_interleaved) {
  auto* whole = in.shape(x)[3].as<IntImm>();
  if (!whole) in.unsupported("the size of heads must be fixed");
  if (turned == 0) turned = whole->value;
  Expr part = slice(x, 3, 0, turned), first, second;
  if (is_interleaved) {
    first = slice(part, 3, 0, turned, 2);
    second = slice(part, 3, 1, turned, 2);
  } else {
    first = slice(part, 3, 0, turned / 2);
    second = slice(part, 3, turned / 2, turned);
  }
  Expr real = subtract(multiply(cosine, first), multiply(sine, second));
  Expr imaginary = add(multiply(sine, first), multiply(cosine, second));
  Expr out = is_interleaved ? reshape(stack({real, imaginary}, -1), int_array({0, 0, 0, -1}))
                            : concatenate({real, imaginary}, 3);
  return turned < whole->value ? concatenate({out, slice(x, 3, turned, whole->value)}, 3) : out;
}

}  // namespace tessera::frontend
