#include "codegen/llvm/lane_offsets.h"

#include "ir/builtin.h"
#include "ir/prim/ops.h"

namespace tessera::codegen {
namespace {

/// An offset beyond this is no neighbour, and sums of such stay exact.
constexpr int64_t kFurthest = 1 << 30;

/// The number that all lanes have.
std::optional<int64_t> number_of(const PrimExpr& e) {
  auto* broadcast = e.as<Broadcast>();
  const int64_t* value = as_int(broadcast ? broadcast->value : e);
  if (!value || *value > kFurthest || *value < -kFurthest) return {};
  return *value;
}

/// `quotient` and `rest` round down.
int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0); }

/// True where `e` is a multiple of `factor`, whatever its variables are.
bool is_multiple(const PrimExpr& e, int64_t factor) {
  if (const int64_t* value = as_int(e)) return *value % factor == 0;
  if (auto* mul = e.as<Mul>()) return is_multiple(mul->a, factor) || is_multiple(mul->b, factor);
  if (auto* add = e.as<Add>()) return is_multiple(add->a, factor) && is_multiple(add->b, factor);
  if (auto* sub = e.as<Sub>()) return is_multiple(sub->a, factor) && is_multiple(sub->b, factor);
  return false;
}

std::optional<LaneOffsets> map(std::optional<LaneOffsets> lanes, auto change_base, auto change_offset) {
  if (!lanes) return {};
  lanes->base = change_base(lanes->base);
  for (int64_t& offset : lanes->offsets) {
    offset = change_offset(offset);
    if (offset > kFurthest || offset < -kFurthest) return {};
  }
  return lanes;
}

std::optional<LaneOffsets> sum(const PrimExpr& a, const PrimExpr& b, int sign, const KnownLanes& known) {
  auto left = lane_offsets(a, known), right = lane_offsets(b, known);
  if (!left || !right) return {};
  left->base = sign > 0 ? left->base + right->base : left->base - right->base;
  for (size_t i = 0; i < left->offsets.size(); ++i) left->offsets[i] += sign * right->offsets[i];
  return map(left, [](const PrimExpr& base) { return base; }, [](int64_t offset) { return offset; });
}

}  // namespace

std::optional<LaneOffsets> lane_offsets(const PrimExpr& index, const KnownLanes& known) {
  if (auto* var = index.as<VarNode>()) {
    auto it = known.find(var);
    return it == known.end() ? std::nullopt : std::optional(it->second);
  }
  const auto lanes = static_cast<size_t>(index.dtype().lanes);
  if (auto* ramp = index.as<Ramp>(); ramp && ramp->base.dtype().lanes == 1) {
    const int64_t* step = as_int(ramp->stride);
    if (!step || *step > kFurthest / 64 || *step < -kFurthest / 64 || lanes > 64) return {};
    LaneOffsets out{ramp->base, {}};
    for (size_t i = 0; i < lanes; ++i) out.offsets.push_back(static_cast<int64_t>(i) * *step);
    return out;
  }
  if (auto* same = index.as<Broadcast>(); same && same->value.dtype().lanes == 1)
    return LaneOffsets{same->value, std::vector<int64_t>(lanes, 0)};
  if (auto* add = index.as<Add>()) return sum(add->a, add->b, 1, known);
  if (auto* sub = index.as<Sub>()) return sum(sub->a, sub->b, -1, known);
  if (auto* mul = index.as<Mul>()) {
    std::optional<int64_t> factor = number_of(mul->b);
    const bool is_second = factor.has_value();
    if (!factor) factor = number_of(mul->a);
    if (!factor) return {};
    return map(
        lane_offsets(is_second ? mul->a : mul->b, known),
        [&](const PrimExpr& base) { return base * make_const(base.dtype(), *factor); },
        [&](int64_t offset) { return offset > kFurthest / 64 ? kFurthest + 1 : offset * *factor; });
  }
  // (base + offset) / divisor = base / divisor + offset / divisor where the divisor divides the base
  auto divided = [&](const PrimExpr& a, std::optional<int64_t> divisor,
                     bool is_quotient) -> std::optional<LaneOffsets> {
    auto of = lane_offsets(a, known);
    if (!divisor || *divisor < 1 || !of || !is_multiple(of->base, *divisor)) return {};
    return map(
        of,
        [&](const PrimExpr& base) {
          if (!is_quotient) return make_zero(base.dtype());
          if (const int64_t* value = as_int(base)) return int_imm(base.dtype(), *value / *divisor);
          return make_binary<Div>(base, make_const(base.dtype(), *divisor));
        },
        [&](int64_t offset) {
          const int64_t quotient = floor_quotient(offset, *divisor);
          return is_quotient ? quotient : offset - quotient * *divisor;
        });
  };
  if (auto* div = index.as<FloorDiv>()) return divided(div->a, number_of(div->b), true);
  if (auto* mod = index.as<FloorMod>()) return divided(mod->a, number_of(mod->b), false);
  if (auto* call = index.as<Call>(); call && call->args.size() == 2) {  // what lowering makes of those
    std::optional<int64_t> number = number_of(call->args[1]);
    if (!number || *number < 0) return {};
    if (call->op.same_as(builtin::shift_right()) && *number < 30)
      return divided(call->args[0], int64_t(1) << *number, true);
    if (call->op.same_as(builtin::bitwise_and()) && (*number & (*number + 1)) == 0)
      return divided(call->args[0], *number + 1, false);
  }
  return {};
}

}  // namespace tessera::codegen
