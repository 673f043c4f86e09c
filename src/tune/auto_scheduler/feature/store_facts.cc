#include "tune/auto_scheduler/feature/store_facts.h"

#include <algorithm>
#include <limits>

#include "ir/builtin.h"
#include "ir/rewrite.h"

namespace tessera::auto_scheduler {
namespace {

class OpCounter {
 public:
  OpCounts counts;

  void visit(const PrimExpr& e) {
    if (auto* load = e.as<BufferLoad>()) return visit_all(load->indices);
    if (auto* binary = e.as<BinaryNode>()) {
      visit(binary->a);
      visit(binary->b);
      return count(e, binary->a);
    }
    if (auto* negation = e.as<Not>()) {
      visit(negation->a);
      counts.bool_op += 1;
    } else if (auto* select = e.as<Select>()) {
      visit(select->condition);
      visit(select->true_value);
      visit(select->false_value);
      counts.select_op += 1;
    } else if (auto* cast = e.as<Cast>()) {
      visit(cast->value);
    } else if (auto* call = e.as<Call>()) {
      visit_all(call->args);
      const bool is_pure = builtin::effect_of(call) <= CallEffect::Pure, is_float = e.dtype().is_float();
      double& into = is_pure ? (is_float ? counts.float_math : counts.int_math)
                             : (is_float ? counts.float_other : counts.int_other);
      into += 1;
    }
  }

 private:
  void visit_all(const Array<PrimExpr>& list) {
    for (const PrimExpr& e : list) visit(e);
  }
  void count(const PrimExpr& e, const PrimExpr& operand) {
    const bool is_float = operand.dtype().is_float();
    if (e.as<Add>() || e.as<Sub>()) (is_float ? counts.float_addsub : counts.int_addsub) += 1;
    else if (e.as<Mul>()) (is_float ? counts.float_mul : counts.int_mul) += 1;
    else if (e.as<Div>() || e.as<Mod>() || e.as<FloorDiv>() || e.as<FloorMod>())
      (is_float ? counts.float_divmod : counts.int_divmod) += 1;
    else if (e.as<And>() || e.as<Or>()) counts.bool_op += 1;
    else (is_float ? counts.float_cmp : counts.int_cmp) += 1;
  }
};

/// The factor of a variable in an index; 1 where it is part of something that is not linear.
int64_t coefficient(const PrimExpr& e, const VarNode* var) {
  if (e.get() == var) return 1;
  if (e.as<Add>()) return coefficient(e.as<Add>()->a, var) + coefficient(e.as<Add>()->b, var);
  if (auto* sub = e.as<Sub>()) return coefficient(sub->a, var) - coefficient(sub->b, var);
  if (auto* mul = e.as<Mul>()) {
    if (const int64_t* by = as_int(mul->b)) return coefficient(mul->a, var) * *by;
    if (const int64_t* by = as_int(mul->a)) return coefficient(mul->b, var) * *by;
  }
  return uses_var(e, Var(var)) ? 1 : 0;
}

bool depends_on(const BufferAccess& access, const Var& var) {
  for (const Array<PrimExpr>& indices : access.indices)
    for (const PrimExpr& index : indices)
      if (uses_var(index, var)) return true;
  return false;
}

}  // namespace

OpCounts count_ops(const PrimExpr& e) {
  OpCounter counter;
  counter.visit(e);
  return counter.counts;
}

std::vector<BufferAccess> accesses_of(const BufferStore* store) {
  std::vector<BufferAccess> out{{store->buffer, false, true, {store->indices}}};
  walk(store->value, [&](const BufferLoad* load) {
    auto found = std::find_if(out.begin(), out.end(),
                              [&](const BufferAccess& access) { return access.buffer.same_as(load->buffer); });
    if (found == out.end()) found = out.insert(out.end(), {load->buffer, false, false, {}});
    found->is_read = true;
    found->indices.push_back(load->indices);
  });
  return out;
}

const LoopFacts::Touched* LoopFacts::of(const Object* buffer) const {
  for (const Touched& each : touched)
    if (each.buffer == buffer) return &each;
  return nullptr;
}

double LoopFacts::touched_bytes() const {
  double out = 0;
  for (const Touched& each : touched)
    for (int64_t elements : each.elements) out += static_cast<double>(elements * each.element_bytes);
  return out;
}

std::vector<int64_t> touched_region(const BufferAccess& access, arith::Analyzer& analyzer) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < access.indices[0].size(); ++i) {
    int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
    for (const Array<PrimExpr>& indices : access.indices) {
      const arith::IntBound bound = analyzer.const_int_bound(indices[i]);
      low = std::min(low, bound.min);
      high = std::max(high, bound.max);
    }
    const bool is_known = low > -(int64_t{1} << 40) && high < (int64_t{1} << 40);
    out.push_back(is_known ? high - low + 1 : 1);
  }
  return out;
}

int64_t stride_of(const BufferAccess& access, const Var& loop) {
  int64_t least = 0;
  for (const Array<PrimExpr>& indices : access.indices) {
    int64_t size = 1;
    for (size_t i = indices.size(); i-- > 0;) {
      if (uses_var(indices[i], loop)) {
        const int64_t stride = std::abs(coefficient(indices[i], loop.get())) * size;
        least = least ? std::min(least, stride) : stride;
        break;
      }
      const int64_t* extent = as_int(access.buffer->shape[i]);
      size *= extent ? *extent : 1;
    }
  }
  return least;
}

ReuseFacts reuse_of(const BufferAccess& access, const std::vector<LoopFacts*>& loops) {
  double iterations = 1, bytes = -1;
  for (size_t i = loops.size(); i-- > 0;) {
    const LoopFacts& loop = *loops[i];
    const auto extent = static_cast<double>(loop.extent);
    if (!depends_on(access, loop.var)) {
      if (bytes < 0) {  // already the innermost loop: what lies between are the elements of one iteration
        bytes = 0;
        for (const LoopFacts::Touched& each : loop.touched)
          bytes += static_cast<double>(each.element_bytes) * static_cast<double>(each.elements.size());
      }
      return {Reuse::LoopMultipleRead, iterations, bytes, extent};
    }
    iterations *= extent;
    bytes = loop.touched_bytes();
    const LoopFacts::Touched* own = loop.of(access.buffer.get());
    if (!own || own->elements.size() < 2) continue;
    const auto nearest = static_cast<double>(*std::min_element(own->elements.begin(), own->elements.end()));
    return {Reuse::SerialMultipleReadWrite, nearest / extent, bytes / extent,
            static_cast<double>(own->elements.size() - 1)};
  }
  return {};
}

}  // namespace tessera::auto_scheduler
