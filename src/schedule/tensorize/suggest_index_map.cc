// The layout in which loops walk through a buffer from its first element to its last.

#include <algorithm>

#include "arith/iter_map/iter_map.h"
#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "schedule/tensorize/auto_tensorize.h"
#include "tir/index_map.h"

namespace tessera::schedule {
namespace {

/// A digit of one dimension of the buffer, and of which loop it is a digit.
struct Piece {
  PrimExpr index;  // over the indices of the buffer
  size_t loop;     // its position, outermost first
  int64_t lower;   // the loop's digits below it
};

/// The digits of the loops that make up dimension `dim`; false where they are something else.
bool add_pieces(const arith::IterSumExpr& sum, const Var& dim, const std::vector<const For*>& loops,
                std::vector<Piece>* out) {
  if (!is_zero(sum->base)) return false;
  std::vector<arith::IterSplitExpr> digits = sum->args.vec();
  if (digits.size() == 1)  // a sum of several digits is one digit of their sum
    if (auto* inside = digits[0]->source->source.as<arith::IterSumExprNode>()) {
      if (!is_one(digits[0]->lower_factor) || !is_one(digits[0]->scale) || !is_zero(inside->base)) return false;
      digits = inside->args.vec();
    }
  int64_t below = 1;
  for (size_t i = digits.size(); i-- > 0;) {
    auto *extent = as_int(digits[i]->extent), *scale = as_int(digits[i]->scale),
         *lower = as_int(digits[i]->lower_factor);
    auto* var = digits[i]->source->source.as<VarNode>();
    if (!extent || !scale || !lower || !var || *scale != below) return false;
    size_t loop = 0;
    while (loop < loops.size() && loops[loop]->loop_var.get() != var) ++loop;
    if (loop == loops.size()) return false;
    PrimExpr index = below == 1 ? PrimExpr(dim) : floordiv(dim, make_const(dim->dtype, below));
    if (i > 0) index = floormod(index, make_const(dim->dtype, *extent));
    out->push_back({index, loop, *lower});
    below *= *extent;
  }
  return true;
}

}  // namespace

ObjectRef suggest_index_map(const Buffer& buffer, const Array<PrimExpr>& indices, const Array<Stmt>& given,
                            const PrimExpr& predicate) {
  std::vector<const For*> loops;
  Map<Var, Range> domains;
  for (const Stmt& stmt : given) {
    loops.push_back(stmt.as<For>());
    if (!loops.back()) throw Error(TypeError) << "suggest_index_map takes loops, not " << to_text(stmt);
    domains.set(loops.back()->loop_var, range_of(loops.back()));
  }
  if (indices.size() != buffer->shape.size())
    throw Error(ValueError) << "buffer " << buffer->name << " has " << buffer->shape.size() << " dimensions, not "
                            << indices.size();
  arith::Analyzer analyzer;
  auto map = arith::detect_iter_map(indices, domains, predicate, arith::IterMapLevel::NoCheck, &analyzer);
  if (map->indices.size() != indices.size()) return nullptr;
  Array<Var> dims;
  std::vector<Piece> pieces;
  for (size_t i = 0; i < indices.size(); ++i) {
    dims.push_back(make_var("i" + std::to_string(i), buffer->shape[i].dtype()));
    if (!add_pieces(map->indices[i], dims[i], loops, &pieces)) return nullptr;
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.loop != b.loop ? a.loop < b.loop : a.lower > b.lower;
  });
  Array<PrimExpr> out;
  for (const Piece& piece : pieces) out.push_back(piece.index);
  return make_index_map(dims, out);
}

namespace {

Globals suggest_index_map_globals{{"tir.schedule.SuggestIndexMap", suggest_index_map}};

}  // namespace
}  // namespace tessera::schedule
