#include "topi/te/stages.h"

#include <algorithm>

#include "arith/linear.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::topi {
namespace {

/// Does a reader count with the first `axes` of its own axes over those of what it reads?
bool reads_rows(const StageReads::Reader& reader, size_t axes) {
  auto* op = compute_of(reader.stage);
  if (!op || op->axis.size() < axes || reader.indices.size() < axes) return false;
  for (size_t i = 0; i < axes; ++i)
    if (!reader.indices[i].same_as(op->axis[i]->var)) return false;
  return true;
}

}  // namespace

int64_t extent_of(const IterVar& axis) {
  const int64_t* extent = axis->dom ? as_int(axis->dom->extent) : nullptr;
  return extent ? *extent : -1;
}

int64_t divisor_of(int64_t extent, int64_t limit) {
  for (int64_t out = std::min(extent, limit); out > 1; --out)
    if (extent % out == 0) return out;
  return 1;
}

bool is_reduction(const te::Stage& stage) { return compute_of(stage) && !compute_of(stage)->reduce_axis.empty(); }

int64_t total_work(const te::ComputeOp* op) {
  int64_t out = 1;
  for (const auto& axes : {op->axis, op->reduce_axis})
    for (const IterVar& axis : axes) out *= std::max<int64_t>(1, extent_of(axis));
  return out;
}

bool have_same_extents(const te::Stage& a, const te::Stage& b, size_t axes) {
  for (size_t i = 0; i < axes; ++i) {
    const int64_t extent = extent_of(compute_of(a)->axis[i]);
    if (extent < 1 || extent != extent_of(compute_of(b)->axis[i])) return false;
  }
  return true;
}

Along along(const Array<PrimExpr>& indices, const Var& var) {
  Along out = Along::Same;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!uses_var(indices[i], var)) continue;
    if (i + 1 < indices.size()) return Along::Apart;
    Array<PrimExpr> terms = arith::detect_linear_equation(indices[i], {var});
    const int64_t* factor = terms.size() == 2 ? as_int(terms[0]) : nullptr;
    if (!factor || *factor != 1) return Along::Apart;
    out = Along::Neighbours;
  }
  return out;
}

void StageReads::each_read_in(const PrimExpr& expr,
                              const std::function<void(const te::Tensor&, const Array<PrimExpr>&)>& read) const {
  walk(expr, [&](const ProducerLoad* load) {
    te::Tensor tensor = downcast<te::Tensor>(load->producer);
    te::Stage stage = te::stage_of(sch_, tensor->op);
    auto* op = compute_of(stage);
    if (!op || !is_inline(stage)) return read(tensor, load->indices);
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < op->axis.size(); ++i) values.set(op->axis[i]->var, load->indices[i]);
    each_read_in(substitute(op->body[static_cast<size_t>(tensor->value_index)], values), read);
  });
}

void StageReads::each_read(const te::Stage& stage,
                           const std::function<void(const te::Tensor&, const Array<PrimExpr>&)>& read) const {
  if (auto* op = compute_of(stage))
    for (const PrimExpr& body : op->body) each_read_in(body, read);
}

std::vector<StageReads::Reader> StageReads::readers_of(const te::Stage& stage) const {
  std::vector<Reader> out;
  for (const te::Stage& other : sch_->stages) {
    if (is_inline(other)) continue;
    if (!compute_of(other))
      for (const te::Tensor& input : te::input_tensors(other->op.get()))
        if (input->op.same_as(stage->op)) out.push_back({other, {}});
    each_read(other, [&](const te::Tensor& tensor, const Array<PrimExpr>& indices) {
      if (tensor->op.same_as(stage->op)) out.push_back({other, indices});
    });
  }
  return out;
}

te::Stage StageReads::reduction_before(const te::Stage& stage, const std::unordered_set<const Object*>& without) const {
  const size_t axes = compute_of(stage)->axis.size();
  te::Stage found;
  each_read(stage, [&](const te::Tensor& tensor, const Array<PrimExpr>&) {
    te::Stage made = te::stage_of(sch_, tensor->op);
    if (found || !is_reduction(made) || made->is_output || without.count(made.get())) return;
    if (compute_of(made)->axis.size() != axes || !have_same_extents(made, stage, axes)) return;
    const std::vector<Reader> readers = readers_of(made);
    if (std::all_of(readers.begin(), readers.end(),
                    [&](const Reader& reader) { return reader.stage.same_as(stage) && reads_rows(reader, axes); }))
      found = made;
  });
  return found;
}

StageReads::Rows StageReads::rows_before(const te::Stage& stage,
                                         const std::unordered_set<const Object*>& without) const {
  auto* op = compute_of(stage);
  Rows out;
  std::unordered_set<const Object*> with{stage.get()};
  for (size_t i = sch_->stages.size(); i-- > 0;) {
    const te::Stage& made = sch_->stages[i];
    auto* its = compute_of(made);
    if (!its || is_inline(made) || made->is_output || without.count(made.get()) || its->body.size() != 1) continue;
    const bool is_sum = is_reduction(made) && its->axis.size() < op->axis.size();
    if (!is_sum && (is_reduction(made) || its->axis.size() != op->axis.size())) continue;
    const size_t axes = is_sum ? its->axis.size() : out.axes;
    if (axes == 0 || (out.axes && axes != out.axes) || !have_same_extents(made, stage, its->axis.size())) continue;
    const std::vector<Reader> readers = readers_of(made);
    if (readers.empty() || !std::all_of(readers.begin(), readers.end(), [&](const Reader& reader) {
          return with.count(reader.stage.get()) && reads_rows(reader, axes);
        }))
      continue;
    out.axes = axes;
    with.insert(made.get());
    out.stages.push_back(made);
  }
  return out;
}

IterVar fused(const te::Stage& stage, const Array<IterVar>& axes) {
  return axes.size() == 1 ? axes[0] : te::fuse(stage, axes);
}

void StagePolicy::run() {
  const Array<te::Stage> stages = sch_->stages;  // there will be more
  for (size_t i = stages.size(); i-- > 0;) {
    const te::Stage& stage = stages[i];
    if (!compute_of(stage) || is_inline(stage) || done_.count(stage.get())) continue;
    if (is_reduction(stage)) {
      reduction(stage, te::Stage());
    } else if (!by_rows(stage)) {
      te::Stage found = stage->is_output ? reads_.reduction_before(stage, done_) : te::Stage();
      found ? reduction(found, stage) : element_wise(stage);
    }
  }
}

}  // namespace tessera::topi
