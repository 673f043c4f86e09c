// Applying steps, with constant operands laid out in the order in which the loops of their consumer read them.

#include <optional>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {

bool is_layout_free(const te::Operation& op, const te::Operation& operand) {
  ObjectRef value = op->attrs.get_or_null("layout_free_placeholders");
  auto* list = value.as<ArrayNode>();
  if (!list) return false;
  for (const ObjectRef& item : list->items)
    if (auto* tensor = item.as<te::TensorNode>(); tensor && tensor->op.same_as(operand)) return true;
  return false;
}

namespace {

/// One dimension of a new layout: a part of a dimension of the old one.
struct Part {
  size_t dim;
  int64_t extent;
};

/// A placeholder to be laid out anew, and how.
struct Rewrite {
  te::Operation placeholder, consumer;  // of the DAG
  std::vector<Part> layout;
};

/// The only read of a placeholder by an operation, where there is just one.
const Array<PrimExpr>* only_read(const Accesses& accesses, const te::Operation& op, const te::Operation& placeholder) {
  for (const auto& [producer, list] : accesses.of(op).reads)
    if (producer.same_as(placeholder)) return list.size() == 1 ? &list[0] : nullptr;
  return nullptr;
}

/// The loops that make up a loop, as they were before they were fused.
void open_fused(const Iterator& iter, std::vector<Iterator>* out) {
  if (iter->orig_iters.empty()) return out->push_back(iter);
  for (const Iterator& part : iter->orig_iters) open_fused(part, out);
}

std::vector<std::string> axis_names(const te::Operation& op) {
  std::vector<std::string> out;
  auto* compute = op.as<te::ComputeOp>();
  for (const IterVar& axis : compute->axis) out.push_back(clean_name(axis->var->name.str()));
  for (const IterVar& axis : compute->reduce_axis) out.push_back(clean_name(axis->var->name.str()));
  return out;
}

/// The axis of an operation that a loop is part of, by name; -1 for none.
int axis_of(const Iterator& iter, const std::vector<std::string>& names) {
  std::set<std::string> own;
  add_original_names(iter->name.str(), &own);
  if (own.size() != 1) return -1;
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == *own.begin()) return static_cast<int>(i);
  return -1;
}

/// The loops around a stage, each with the axis of the stage's operation that it is part of.
std::vector<std::pair<int, int64_t>> loops_by_axis(const State& state, int id) {
  const Stage stage = stage_at(state, id);
  std::vector<std::pair<int, int64_t>> out;
  auto add = [&](const Iterator& iter, const std::vector<std::string>& names) {
    std::vector<Iterator> parts;
    open_fused(iter, &parts);
    for (const Iterator& part : parts) out.emplace_back(axis_of(part, names), extent_of(part));
  };
  if (const Attachment* at = state->attachment_of(id)) {
    const Stage target = stage_at(state, at->target);
    for (int i = 0; i <= at->iter; ++i) add(target->iters[StateNode::at(i)], axis_names(target->op));
  }
  for (const Iterator& iter : stage->iters) add(iter, axis_names(stage->op));
  return out;
}

/// How the loops of a stage walk through a placeholder; nothing where they do in order, or not along whole dimensions.
std::vector<Part> layout_of(const State& state, int id, const Array<PrimExpr>& indices,
                            const te::PlaceholderOp* given) {
  auto* op = stage_at(state, id)->op.as<te::ComputeOp>();
  std::vector<int> axis_of_dim;
  for (const PrimExpr& index : indices) {
    int found = -1, position = 0;
    for (const Array<IterVar>& list : {op->axis, op->reduce_axis})
      for (const IterVar& axis : list) {
        if (index.same_as(axis->var)) found = position;
        ++position;
      }
    if (found < 0) return {};
    axis_of_dim.push_back(found);
  }
  std::vector<Part> out;
  for (const auto& [axis, extent] : loops_by_axis(state, id)) {
    if (extent <= 1) continue;
    for (size_t dim = 0; dim < axis_of_dim.size(); ++dim)
      if (axis_of_dim[dim] == axis) out.push_back({dim, extent});
  }
  bool is_in_order = out.size() == indices.size();
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    int64_t product = 1;
    for (const Part& part : out)
      if (part.dim == dim) product *= part.extent;
    const int64_t* extent = as_int(given->shape[dim]);
    if (!extent || *extent != product) return {};
    is_in_order = is_in_order && out[dim].dim == dim;
  }
  return is_in_order ? std::vector<Part>() : out;
}

std::optional<Rewrite> find_rewrite(const ComputeDAGNode* dag, const Array<Step>& steps) {
  StateNode given;
  given.transform_steps = steps;
  const State state = infer_bound(dag, make(std::move(given)));
  const ComputeDAG now = current_dag(state.get(), dag);
  for (const te::Operation& placeholder : dag->ops) {
    auto* shape = placeholder.as<te::PlaceholderOp>();
    if (!shape || dag->accesses.of(placeholder).consumers.size() != 1) continue;
    const te::Operation consumer = dag->accesses.of(placeholder).consumers[0];
    if (!is_layout_free(consumer, placeholder) || !only_read(dag->accesses, consumer, placeholder)) continue;
    for (size_t id = 0; id < state->stages.size(); ++id) {
      const te::Operation op = state->stages[id]->op;
      if (!op.as<te::ComputeOp>() || state->stages[id]->compute_at == ComputeAt::Inlined) continue;
      const Array<PrimExpr>* read = only_read(now->accesses, op, placeholder);
      if (!read || !is_layout_free(op, placeholder)) continue;  // a copy of it, made by cache_read
      std::vector<Part> layout = layout_of(state, static_cast<int>(id), *read, shape);
      if (!layout.empty()) return Rewrite{placeholder, consumer, layout};
    }
  }
  return std::nullopt;
}

/// Indices in the new layout of an element of the old one.
Array<PrimExpr> new_indices(const std::vector<Part>& layout, const Array<PrimExpr>& old) {
  Array<PrimExpr> out;
  for (size_t i = 0; i < layout.size(); ++i) {
    int64_t inner = 1;
    bool is_outermost = true;
    for (size_t j = 0; j < layout.size(); ++j) {
      if (layout[j].dim != layout[i].dim) continue;
      if (j > i) inner *= layout[j].extent;
      if (j < i) is_outermost = false;
    }
    PrimExpr index = old[layout[i].dim];
    if (inner > 1) index = floordiv(index, int_imm(index.dtype(), inner));
    if (!is_outermost) index = floormod(index, int_imm(index.dtype(), layout[i].extent));
    out.push_back(index);
  }
  return out;
}

/// Indices in the old layout of an element of the new one.
Array<PrimExpr> old_indices(const std::vector<Part>& layout, size_t dims, const Array<PrimExpr>& given) {
  std::vector<PrimExpr> out(dims, int_imm(DataType::Int(32), 0));
  for (size_t i = 0; i < layout.size(); ++i) {
    PrimExpr& index = out[layout[i].dim];
    index = index * int_imm(DataType::Int(32), layout[i].extent) + given[i];
  }
  return {out.begin(), out.end()};
}

/// The DAG in which the consumer reads `laid_out` instead.
ComputeDAG replace_operand(const ComputeDAGNode* dag, const Rewrite& rewrite, const te::Tensor& laid_out,
                           bool is_argument) {
  std::unordered_map<const Object*, te::Operation> changed;
  auto current = [&](const te::Tensor& tensor) {
    auto found = changed.find(tensor->op.get());
    return found == changed.end() ? te::Tensor() : te::output(found->second, tensor->value_index);
  };
  for (const te::Operation& op : dag->ops) {
    te::Operation own = te::replace_inputs(op, current);
    if (op.same_as(rewrite.consumer)) {
      auto* compute = own.as<te::ComputeOp>();
      own = te::with_body(compute, te::rewrite_compute_bodies(compute, [&](const PrimExpr& body) {
                            return tessera::rewrite(body, [&](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
                              auto* tensor = load->producer.as<te::TensorNode>();
                              if (!tensor || !tensor->op.same_as(rewrite.placeholder)) return self.children(load);
                              return te::load(laid_out, new_indices(rewrite.layout, load->indices));
                            });
                          }));
    }
    if (!own.same_as(op)) changed[op.get()] = own;
  }
  Array<te::Tensor> tensors;
  for (const te::Tensor& tensor : dag->tensors) {
    const te::Tensor other = current(tensor);
    const bool is_operand = is_argument && tensor->op.same_as(rewrite.placeholder);
    tensors.push_back(is_operand ? laid_out : other ? other : tensor);
  }
  return make_compute_dag(tensors);
}

/// True where elements along the last axis of the new layout lie side by side in the old one too, and are vectors.
bool copies_vectors(const std::vector<Part>& layout, size_t old_dims) {
  constexpr int64_t kMax = 64;  // elements, as of innermost loops of sketches
  return layout.size() > 1 && layout.back().dim + 1 == old_dims && layout.back().extent > 1 &&
         layout.back().extent <= kMax;
}

AnnotationStep annotated(int stage, int iterator, Annotation annotation) {
  AnnotationStep out;
  out.stage_id = stage;
  out.iter_id = iterator;
  out.annotation = annotation;
  return out;
}

/// The steps where a stage is inserted at `position`, and that stage runs in parallel, its last loop by vectors if wanted.
Array<Step> steps_around(const Array<Step>& steps, int position, size_t dims, bool has_vectors) {
  Array<Step> out;
  for (const Step& step : steps) {
    auto moved = [&](int id) { return id >= position ? id + 1 : id; };
    const int added = step.as<CacheReadStep>() ? step->stage_id + 1 : step->stage_id;
    auto push = [&](auto copy) {
      copy.stage_id = moved(copy.stage_id);
      out.push_back(make(std::move(copy)));
    };
    if (auto* s = step.as<AnnotationStep>()) push(*s);
    else if (auto* s = step.as<FuseStep>()) push(*s);
    else if (auto* s = step.as<PragmaStep>()) push(*s);
    else if (auto* s = step.as<ReorderStep>()) push(*s);
    else if (auto* s = step.as<SplitStep>()) push(*s);
    else if (auto* s = step.as<FollowSplitStep>()) push(*s);
    else if (auto* s = step.as<FollowFusedSplitStep>()) push(*s);
    else if (auto* s = step.as<StorageAlignStep>()) push(*s);
    else if (auto* s = step.as<ComputeInlineStep>()) push(*s);
    else if (auto* s = step.as<ComputeRootStep>()) push(*s);
    else if (auto* s = step.as<CacheWriteStep>()) push(*s);
    else if (auto* s = step.as<RfactorStep>()) push(*s);
    else if (auto* s = step.as<ComputeAtStep>()) {
      ComputeAtStep copy(*s);
      copy.target_stage_id = moved(copy.target_stage_id);
      push(std::move(copy));
    } else if (auto* s = step.as<CacheReadStep>()) {
      CacheReadStep copy(*s);
      for (int& reader : copy.reader_stage_ids) reader = moved(reader);
      push(std::move(copy));
    }
    if (is_stage_adding(step) && added < position) ++position;
  }
  FuseStep fuse;
  fuse.stage_id = position;
  for (size_t i = 0; i + (has_vectors ? 1 : 0) < dims; ++i) fuse.fused_ids.push_back(static_cast<int>(i));
  out.push_back(make(std::move(fuse)));
  out.push_back(make(annotated(position, 0, Annotation::Parallel)));
  if (has_vectors) out.push_back(make(annotated(position, 1, Annotation::Vectorize)));
  return out;
}

int position_of(const ComputeDAGNode* dag, const te::Operation& op) {
  for (size_t i = 0; i < dag->ops.size(); ++i)
    if (dag->ops[i].same_as(op)) return static_cast<int>(i);
  return -1;
}

}  // namespace

std::pair<te::Schedule, Array<te::Tensor>> apply_steps(const ComputeDAGNode* dag, const Array<Step>& steps,
                                                       LayoutRewrite rewrite) {
  if (rewrite == LayoutRewrite::None || steps.empty()) return {replay_steps(dag, steps).schedule, dag->tensors};
  auto [changed, changed_steps] = rewrite_layout(dag, steps, rewrite);
  return {replay_steps(changed.get(), changed_steps).schedule, changed->tensors};
}

std::pair<ComputeDAG, Array<Step>> rewrite_layout(const ComputeDAGNode* given, const Array<Step>& given_steps,
                                                  LayoutRewrite how) {
  ComputeDAG dag(given);
  Array<Step> steps = given_steps;
  bool has_free_operands = false;
  for (const te::Operation& op : dag->ops) has_free_operands |= op->attrs.count("layout_free_placeholders");
  if (!has_free_operands) return {dag, steps};
  while (std::optional<Rewrite> found = find_rewrite(dag.get(), steps)) {
    auto* old = found->placeholder.as<te::PlaceholderOp>();
    Array<PrimExpr> shape;
    for (const Part& part : found->layout) shape.push_back(int_imm(DataType::Int(32), part.extent));
    if (how == LayoutRewrite::PreTransformed) {
      te::Tensor laid_out = te::placeholder(shape, old->dtype, old->name);
      dag = replace_operand(dag.get(), *found, laid_out, true);
      continue;
    }
    const te::Tensor original = te::output(found->placeholder, 0);
    te::Tensor laid_out = te::compute(
        shape,
        [&](const Array<PrimExpr>& at) {
          return te::load(original, old_indices(found->layout, old->shape.size(), at));
        },
        old->name + ".packed", "auto_scheduler_layout_transform");
    dag = replace_operand(dag.get(), *found, laid_out, false);
    steps = steps_around(steps, position_of(dag.get(), laid_out->op), shape.size(),
                         copies_vectors(found->layout, old->shape.size()));
  }
  return {dag, steps};
}

}  // namespace tessera::auto_scheduler
