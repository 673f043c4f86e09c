#include "topi/cpu/contraction/matmul_nest.h"

#include "ir/prim/ops.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
Stmt matmul_nest(const Matmul& matmul, const MatmulPlan& plan, const Machine& machine) {
  check_plan(matmul, plan, machine);
  if (matmul.is_dynamic() && matmul.b.panel == 0) return dynamic_nest(matmul, plan, machine);
  return plan->by_dots ? dot_nest(matmul, plan, machine) : outer_nest(matmul, plan, machine);
}

PrimExpr start_of(const EvenTiles& tiles, const PrimExpr& tile) {
  if (tiles.is_even()) return tile * number(tiles.size);
  return tile * number(tiles.size - 1) + min(tile, number(tiles.longer));
}

Stmt by_size(const EvenTiles& tiles, const PrimExpr& tile, const std::function<Stmt(int64_t)>& tile_of) {
  if (tiles.is_even()) return tile_of(tiles.size);
  return make(IfThenElse{.condition = tile < number(tiles.longer),
                         .then_case = tile_of(tiles.size),
                         .else_case = tile_of(tiles.size - 1)});
}

Span part_of(int64_t total, int64_t parts, const PrimExpr& index) {
  if (parts == 1) return {0, number(total)};
  if (total % parts == 0) return {index * number(total / parts), number(total / parts)};
  PrimExpr first = floordiv(index * number(total), number(parts));
  return {first, floordiv((index + 1) * number(total), number(parts)) - first};
}

Stmt by_blocks(const char* name, const Span& span, int64_t most, int64_t size,
               const std::function<Stmt(const Span&)>& body) {
  if (size >= most) return body(span);
  const int64_t* count = as_int(span.count);
  PrimExpr blocks = count ? number(ceil_div(*count, size)) : floordiv(span.count + number(size - 1), number(size));
  return loop_over(name, blocks, [&](const PrimExpr& block) {
    PrimExpr offset = block * number(size);
    const bool is_whole = count && *count % size == 0;
    return body({span.first + offset, is_whole ? number(size) : min(number(size), span.count - offset)});
  });
}

Stmt for_tasks(const Matmul& matmul, const MatmulPlan& plan, int64_t rows, int64_t columns,
               const std::function<Stmt(const Task&)>& body) {
  return loop_over(
      "task", number(matmul.batch * plan->parts_m * plan->parts_n),
      [&](const PrimExpr& task) {
        PrimExpr part_n = floormod(task, number(plan->parts_n)), rest = floordiv(task, number(plan->parts_n));
        PrimExpr part_m = floormod(rest, number(plan->parts_m));
        return body({floordiv(rest, number(plan->parts_m)), part_of(rows, plan->parts_m, part_m),
                     part_of(columns, plan->parts_n, part_n)});
      },
      plan->is_parallel ? LoopKind::Parallel : LoopKind::Serial);
}

}  // namespace tessera::topi
