#include "driver/vm/shape_program_builder.h"

#include "base/stack.h"

namespace tessera::relay {

using vm::ShapeOp;

namespace {

/// Integer operations of two operands, and how a program says them; `swaps` for those it has only the other way round.
struct Row {
  const NodeInfo* node;
  ShapeOp op;
  bool swaps = false;
};
const Row kBinary[] = {
    {&Add::info, ShapeOp::Add},
    {&Sub::info, ShapeOp::Sub},
    {&Mul::info, ShapeOp::Mul},
    {&Div::info, ShapeOp::TruncDiv},
    {&Mod::info, ShapeOp::TruncMod},
    {&FloorDiv::info, ShapeOp::FloorDiv},
    {&FloorMod::info, ShapeOp::FloorMod},
    {&Min::info, ShapeOp::Min},
    {&Max::info, ShapeOp::Max},
    {&EQ::info, ShapeOp::EQ},
    {&NE::info, ShapeOp::NE},
    {&LT::info, ShapeOp::LT},
    {&LE::info, ShapeOp::LE},
    {&GT::info, ShapeOp::LT, true},
    {&GE::info, ShapeOp::LE, true},
    {&And::info, ShapeOp::And},
    {&Or::info, ShapeOp::Or},
};

}  // namespace

ShapeProgramBuilder::ShapeProgramBuilder(std::string name, std::vector<uint32_t> ranks, const ExtentSources& sources)
    : sources_(sources) {
  program_.name = std::move(name);
  program_.ranks = std::move(ranks);
}

uint32_t ShapeProgramBuilder::emit(const vm::ShapeStep& step) {
  program_.steps.push_back(step);
  return static_cast<uint32_t>(program_.steps.size() - 1);
}

uint32_t ShapeProgramBuilder::extent(ExtentSource source) {
  return emit({ShapeOp::Extent, source.arg, source.dim, 0, 0});
}
uint32_t ShapeProgramBuilder::constant(int64_t value) { return emit({ShapeOp::Constant, 0, 0, 0, value}); }

bool ShapeProgramBuilder::add(const PrimExpr& expr, uint32_t* step) {
  if (auto it = done_.find(expr.get()); it != done_.end()) return *step = it->second, true;
  bool is_done = on_enough_stack([&] {
    uint32_t a = 0, b = 0, c = 0;
    if (const int64_t* value = as_int(expr)) {
      *step = constant(*value);
    } else if (auto it = sources_.find(expr.get()); it != sources_.end()) {
      *step = extent(it->second);
    } else if (auto* cast = expr.as<Cast>()) {
      if (!expr.dtype().is_integral() || !cast->value.dtype().is_integral() || !add(cast->value, step)) return false;
    } else if (auto* no = expr.as<Not>()) {
      if (!add(no->a, &a)) return false;
      *step = emit({ShapeOp::Not, a, 0, 0, 0});
    } else if (auto* select = expr.as<Select>()) {
      if (!add(select->condition, &a) || !add(select->true_value, &b) || !add(select->false_value, &c)) return false;
      *step = emit({ShapeOp::Select, a, b, c, 0});
    } else if (is_call(expr, "tir.if_then_else")) {
      auto* call = expr.as<tessera::Call>();
      if (!add(call->args[0], &a) || !add(call->args[1], &b) || !add(call->args[2], &c)) return false;
      *step = emit({ShapeOp::Select, a, b, c, 0});
    } else if (is_call(expr, "tir.likely")) {
      return add(expr.as<tessera::Call>()->args[0], step);
    } else {
      for (const Row& row : kBinary) {
        if (!expr->is_a(*row.node)) continue;
        auto* binary = static_cast<const BinaryNode*>(expr.get());
        if (!binary->a.dtype().is_integral() || !add(binary->a, &a) || !add(binary->b, &b)) return false;
        *step = emit({row.op, row.swaps ? b : a, row.swaps ? a : b, 0, 0});
        return true;
      }
      return false;
    }
    return true;
  });
  if (is_done) done_[expr.get()] = *step;
  return is_done;
}

vm::ShapeProgram ShapeProgramBuilder::take(std::vector<uint32_t> result) {
  program_.result = std::move(result);
  return std::move(program_);
}

}  // namespace tessera::relay
