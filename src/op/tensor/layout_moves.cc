// Moves between layouts and of axes on CPUs by tiles in registers (topi/cpu/transpose_tiles.h): another implementation
// of layout_transform and transpose.

#include "op/records.h"
#include "relay/attrs/transform.h"
#include "relay/strategy.h"
#include "topi/cpu/transpose_tiles.h"

namespace tessera::op {
namespace {

constexpr int kLevel = 15;  // before the operator's own compute

std::optional<topi::Transposition> move_of(const Attrs& given, const Array<PrimExpr>& shape) {
  if (auto* attrs = given.as<relay::LayoutTransformAttrs>())
    return topi::as_transposition(shape, attrs->src_layout, attrs->dst_layout);
  auto* attrs = given.as<relay::TransposeAttrs>();
  if (!attrs) return {};
  const size_t rank = shape.size();
  std::vector<size_t> axes;
  for (size_t i = 0; i < rank; ++i) {
    if (!attrs->axes.defined()) {
      axes.push_back(rank - 1 - i);
      continue;
    }
    int64_t axis = *as_int(attrs->axes[i]);
    axes.push_back(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis));
  }
  return topi::as_transposition(shape, axes);
}

/// Only for what lies in memory already: other elements are computed on their way.
void offer_tiles(const relay::OpStrategy& strategy, const Attrs& given, const Array<te::Tensor>& inputs, const Type&,
                 const Target& target) {
  if (!target || target->kind->name != "llvm" || !inputs[0]->op.as<te::PlaceholderOp>()) return;
  if (inputs[0]->dtype.is_bfloat()) return;  // it becomes uint16 later on, which vectors that are stored do not follow
  std::optional<topi::Transposition> move = move_of(given, inputs[0]->shape);
  topi::Machine machine = topi::machine_of(target);
  if (!move || !topi::has_tiles(*move, inputs[0]->dtype, machine)) return;
  auto compute = [move = *move, machine](Attrs, Array<te::Tensor> in, Type out) {
    return Array<te::Tensor>{topi::transpose_tiles(in[0], move, out.as<TensorTypeNode>()->shape, machine)};
  };
  relay::add_implementation(strategy, typed("transposed tiles", compute), nullptr, "transpose_tiles.cpu", kLevel);
}

}  // namespace

static void layout_move_implementations() {
  for (const char* name : {"layout_transform", "transpose"})
    Op::get(name).set(relay::kMoreImplementations, Any(typed("transpose_tiles.cpu", offer_tiles)));
}

[[gnu::init_priority(kFamilies)]] static const OpFamily layout_move_implementation_family{layout_move_implementations,
                                                                                          FillOrder::MoreSlots};

}  // namespace tessera::op
