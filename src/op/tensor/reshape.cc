// The same elements under another shape.

#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"
#include "op/evaluate/evaluate.h"
#include "op/qnn/quantized_forms.h"
#include "op/records.h"
#include "op/rules.h"
#include "op/tensor/concrete_forms.h"
#include "relay/attrs/transform.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::is_any;
using relay::may_equal;
using relay::ReshapeAttrs;
using relay::ReshapeLikeAttrs;

/// The factors of an extent: numbers are multiplied into `number`, the others are listed.
void add_factors(const PrimExpr& extent, int64_t* number, std::vector<PrimExpr>* names) {
  if (auto* product = extent.as<Mul>()) {
    add_factors(product->a, number, names);
    add_factors(product->b, number, names);
  } else if (const int64_t* value = as_int(extent)) {
    *number *= *value;
  } else {
    names->push_back(extent);
  }
}

/// `before` / `after` without the factors that both have: those of no extent are not asked what 0 / 0 is.
PrimExpr quotient(const PrimExpr& before, const PrimExpr& after) {
  int64_t number = 1, by = 1;
  std::vector<PrimExpr> names, divisors, left;
  add_factors(before, &number, &names);
  add_factors(after, &by, &divisors);
  for (const PrimExpr& divisor : divisors) {
    auto same =
        std::find_if(names.begin(), names.end(), [&](const PrimExpr& name) { return expr_equal(name, divisor); });
    if (same == names.end()) left.push_back(divisor);
    else names.erase(same);
  }
  if (divisors.empty() || left.size() == divisors.size()) return floordiv(before, after);
  auto product = [](const std::vector<PrimExpr>& factors, int64_t by) {
    PrimExpr out = factors.empty() || by != 1 ? int_imm(DataType::Int(32), by) : factors[0];
    for (size_t i = by == 1; i < factors.size(); ++i) out = i == 0 ? factors[0] * out : out * factors[i];
    return out;
  };
  if (by != 0 && number % by == 0) number /= by, by = 1;
  PrimExpr whole = product(names, number);
  return left.empty() && by == 1 ? whole : floordiv(whole, product(left, by));
}

/// The extents that ReshapeAttrs::newshape means for a tensor of shape `in`.
Array<PrimExpr> reshaped(const Array<PrimExpr>& in, const Array<PrimExpr>& newshape, bool allowzero) {
  std::vector<PrimExpr> out;
  size_t next = 0;
  int inferred = -1;
  auto take_one = [&](const char* what) {
    if (next >= in.size())
      throw Error(TypeError) << "newshape " << to_text(newshape) << " uses more dimensions than " << to_text(in)
                             << " has (at " << what << ")";
    return in[next++];
  };
  for (size_t i = 0; i < newshape.size(); ++i) {
    const int64_t* value = as_int(newshape[i]);
    if (!value || *value > 0 || (*value == 0 && allowzero)) {
      out.push_back(newshape[i]);
      if (next < in.size()) ++next;
    } else if (*value == 0) {
      out.push_back(take_one("0"));
    } else if (*value == -1) {
      if (inferred >= 0) throw Error(TypeError) << "newshape " << to_text(newshape) << " has two -1";
      inferred = static_cast<int>(out.size());
      out.push_back(PrimExpr(1));
      if (next < in.size()) ++next;
    } else if (*value == -2) {
      while (next < in.size()) out.push_back(in[next++]);
    } else if (*value == -3) {
      PrimExpr a = take_one("-3"), b = take_one("-3");
      out.push_back(is_any(a) ? a : is_any(b) ? b : a * b);
    } else if (*value == -4) {
      if (i + 2 >= newshape.size())
        throw Error(TypeError) << "newshape " << to_text(newshape) << ": -4 is followed by two extents";
      PrimExpr whole = take_one("-4"), first = newshape[i + 1], second = newshape[i + 2];
      bool open_first = is_const_int(first, -1), open_second = is_const_int(second, -1);
      if (open_first && open_second)
        throw Error(TypeError) << "newshape: one of the two extents after -4 must be known";
      out.push_back(open_first ? floordiv(whole, second) : first);
      out.push_back(open_second ? floordiv(whole, first) : second);
      i += 2;
    } else {
      throw Error(TypeError) << "newshape " << to_text(newshape) << ": " << *value << " means nothing";
    }
  }
  PrimExpr before = PrimExpr(1), after = PrimExpr(1), unknown;
  for (const PrimExpr& extent : in) is_any(extent) ? void(unknown = extent) : void(before = before * extent);
  for (const PrimExpr& extent : out) is_any(extent) ? void(unknown = extent) : void(after = after * extent);
  if (inferred >= 0) {
    if (unknown) {
      out[inferred] = unknown;
    } else {
      const int64_t* known = as_int(after);
      if (known && *known == 0) throw Error(TypeError) << "-1 cannot be inferred beside an extent of 0";
      if (as_int(before) && known && *as_int(before) % *known != 0)
        throw Error(TypeError) << "a tensor of shape " << to_text(in) << " cannot be reshaped to " << to_text(newshape)
                               << ": " << before << " elements are not a multiple of " << after;
      out[inferred] = known ? floordiv(before, after) : quotient(before, after);
    }
  } else if (!unknown && !may_equal(before, after)) {
    throw Error(TypeError) << "a tensor of shape " << to_text(in) << " has " << before << " elements, but "
                           << to_text(newshape) << " means " << after;
  }
  return out;
}

bool reshape_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<ReshapeAttrs>();
  query.result(TensorType(reshaped(data->shape, attrs->newshape, attrs->allowzero), data->dtype));
  return true;
}

Tensors reshape(const Attrs&, const Tensors& in, const Type& out) {
  return {topi::reshape(in[0], tensor_of(out)->shape)};
}

Array<PrimExpr> reversed(const Array<PrimExpr>& list) {
  std::vector<PrimExpr> out(list.begin(), list.end());
  std::reverse(out.begin(), out.end());
  return out;
}

/// As reshape, but the special numbers are read from the last dimension to the first.
bool reverse_reshape_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<ReshapeAttrs>();
  for (const PrimExpr& extent : attrs->newshape)
    if (is_const_int(extent, -4)) throw Error(TypeError) << "newshape: -4 cannot be read from the right";
  Array<PrimExpr> shape = reshaped(reversed(data->shape), reversed(attrs->newshape), attrs->allowzero);
  query.result(TensorType(reversed(shape), data->dtype));
  return true;
}

bool reshape_like_type(TypeQuery& query) {
  auto *data = query.tensor(0), *like = query.tensor(1);
  if (!data || !like) return false;
  auto* attrs = query.attrs_as<ReshapeLikeAttrs>();
  auto range = [](int first, const PrimExpr& last, int rank, const char* name) {
    int64_t end = last ? constant_of(last, name) : rank, begin = first < 0 ? first + rank : first;
    if (end < 0) end += rank;
    if (begin < 0 || end > rank || begin > end)
      throw Error(TypeError) << "the dimensions [" << begin << ", " << end << ") of " << name
                             << " are out of range for a tensor of " << rank << " dimensions";
    return std::pair(begin, end);
  };
  auto [left, left_end] = range(attrs->lhs_begin, attrs->lhs_end, rank_of(data), "lhs");
  auto [right, right_end] = range(attrs->rhs_begin, attrs->rhs_end, rank_of(like), "rhs");
  Array<PrimExpr> shape;
  PrimExpr before = PrimExpr(1), after = PrimExpr(1);
  bool is_known = true;
  auto count = [&](const PrimExpr& extent, PrimExpr* total) {
    if (is_any(extent)) is_known = false;
    else *total = *total * extent;
  };
  for (int64_t i = 0; i < left; ++i) shape.push_back(data->shape[i]);
  for (int64_t i = left; i < left_end; ++i) count(data->shape[i], &before);
  for (int64_t i = right; i < right_end; ++i) shape.push_back(like->shape[i]), count(like->shape[i], &after);
  for (int64_t i = left_end; i < rank_of(data); ++i) shape.push_back(data->shape[i]);
  if (is_known && !may_equal(before, after))
    throw Error(TypeError) << "a tensor of type " << to_text(query.type(0)) << " cannot be reshaped like "
                           << to_text(query.type(1)) << ": " << before << " elements are not " << after;
  query.result(TensorType(shape, data->dtype));
  return true;
}

}  // namespace

static void reshape_records() {
  OpRecord("reshape")
      .doc("The same elements in row-major order under another shape.")
      .attrs<ReshapeAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Reshape", reshape_type)
      .fusion(Fusion::Injective)
      .moves(Moves::View)
      .precision(Precision::Follow)
      .quantized(quantized_moves)
      .evaluate(evaluate_view)
      .compute(reshape);
  OpRecord("contrib_reverse_reshape")
      .doc("reshape, with the special numbers of newshape read from the last dimension to the first.")
      .attrs<ReshapeAttrs>()
      .input("data", "the input")
      .support_level(10)
      .type("ReverseReshape", reverse_reshape_type)
      .fusion(Fusion::Injective)
      .moves(Moves::View)
      .compute(reshape);
  OpRecord("reshape_like")
      .doc("The same elements under the shape of another tensor, or of a part of it.")
      .attrs<ReshapeLikeAttrs>()
      .input("data", "the input")
      .input("shape_like", "what has the shape")
      .support_level(3)
      .type("ReshapeLike", reshape_like_type)
      .fusion(Fusion::Injective)
      .moves(Moves::View)
      .precision(Precision::Follow)
      .concrete_form(concrete_reshape)
      .compute(reshape);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily reshape_family{reshape_records};

}  // namespace tessera::op
