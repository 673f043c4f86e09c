#include "te/nest/nest.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/attrs.h"

namespace tessera::te {

Stmt if_all(const std::vector<PrimExpr>& conditions, Stmt body) {
  for (size_t i = conditions.size(); i-- > 0;)
    body = make(IfThenElse{.condition = conditions[i], .then_case = body, .else_case = nullptr});
  return body;
}

NestBuilder::NestBuilder(const Schedule& sch, const Bounds& bounds, bool keep_trivial_loops)
    : sch_(sch),
      bounds_(bounds),
      keep_trivial_loops_(keep_trivial_loops),
      paths_(sch),
      intervals_(intervals_of(bounds)) {
  for (const auto& [iv, range] : bounds) analyzer_.bind(iv->var, range, true);
  std::unordered_map<const OperationNode*, Stage> scan_of_init;
  for (const Stage& stage : sch->stages) {
    for (int i = 0; i < num_outputs(stage->op.get()); ++i) targets_[output(stage->op, i)] = output(stage->origin_op, i);
    if (auto* scan = stage->op.as<ScanOp>())
      for (const Tensor& tensor : scan->init) {
        Stage& owner = scan_of_init[tensor->op.get()];
        if (owner && !owner.same_as(stage))
          throw Error(RuntimeError) << "Scan init tensor " << tensor->op->name << " can only belong to one scan, but "
                                    << stage_name(owner.get()) << " and " << stage_name(stage.get()) << " use it";
        owner = stage;
      }
  }
  for (const Stage& stage : sch->stages) {
    auto* scan = stage->op.as<ScanOp>();
    if (!scan) continue;
    for (size_t i = 0; i < scan->update.size(); ++i) {
      Tensor state = output(stage->origin_op, static_cast<int>(i));
      for (const Tensor& part : {scan->init[i], scan->update[i], scan->state_placeholder[i]}) targets_[part] = state;
      scan_parts_.insert({scan->init[i]->op.get(), scan->update[i]->op.get()});
    }
  }
  for (const Stage& stage : sch->stages) {
    if (stage->op.as<PlaceholderOp>()) continue;
    Stage spec = attach_spec(stage);
    if (spec->attach_type == AttachType::Inline)
      throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                                << " is yet to be inlined: call schedule.normalize() before ScheduleOps";
    if (auto it = scan_of_init.find(stage->op.get()); it != scan_of_init.end())
      scan_init_[it->second.get()].push_back(stage);
    else if (spec->attach_type == AttachType::ScanUpdate) scan_update_[spec->attach_stage.get()].push_back(stage);
    else if (spec->attach_type == AttachType::Scope)
      attached(spec->attach_stage.get(), spec->attach_ivar).push_back(stage);
    else if (spec->attach_type == AttachType::GroupRoot) roots_.push_back(stage);
  }
}

Stmt NestBuilder::operator()() { return pipelines(roots_, make_nop()); }

Stmt NestBuilder::pipelines(const std::vector<Stage>& stages, Stmt consumer) {
  for (size_t i = stages.size(); i-- > 0;) consumer = pipeline(stages[i], consumer);
  return consumer;
}

Stmt NestBuilder::pipeline(const Stage& stage, Stmt consumer) {
  Stmt body = provide(stage);
  std::vector<Tensor> outputs;
  for (int i = 0; i < num_outputs(stage->op.get()); ++i) outputs.push_back(target(output(stage->op, i)));
  auto mark = [&](const char* key, PrimExpr value) {
    for (const Tensor& tensor : outputs)
      body = make(AttrStmt{.node = tensor, .attr_key = key, .value = value, .body = body});
  };
  if (stage->double_buffer) mark(attr::kDoubleBufferScope, 1);
  body = sequence({body, consumer});
  if (stage->rolling_buffer) mark(attr::kRollingBufferScope, bool_imm(true));
  return realize(stage, body);
}

/// An extent that depends on loops around it may be negative where nothing is computed; memory is not.
Range NestBuilder::never_negative(const Range& range) {
  bool varies = uses_var(range->extent, [&](const VarNode* var) { return intervals_.count(var) != 0; });
  if (!varies) return range;
  loops::Interval reach = loops::eval_interval(range->extent, intervals_, analyzer_);
  PrimExpr one = make_const(range->extent.dtype(), 1);
  if (reach.min.defined() && analyzer_.can_prove(reach.min >= one)) return range;
  return make_range(range->min, max(range->extent, one));
}

Stmt NestBuilder::realize(const Stage& stage, Stmt body) {
  if (scan_parts_.count(stage->op.get())) return body;
  String scope = stage->scope;
  if (scope.empty()) {
    StorageRank rank = paths_.storage(stage.get());
    scope = rank == StorageRank::Shared ? "shared" : rank == StorageRank::Local ? "local" : "";
  }
  for (int i = num_outputs(stage->op.get()); i-- > 0;) {  // output 0 is outermost
    Tensor tensor = output(stage->op, i);
    Array<Range> region;
    Array<IterVar> axis;
    if (auto* compute = stage->op.as<ComputeOp>()) axis = compute->axis;
    if (auto* intrin = stage->op.as<TensorComputeOp>()) axis = intrin->axis;
    for (const IterVar& iv : axis) region.push_back(bounds_[iv]);
    if (auto* scan = stage->op.as<ScanOp>()) {
      Range steps = bounds_[scan->scan_axis];
      region.push_back(make_range(make_zero(steps->extent.dtype()), analyzer_.simplify(steps->min + steps->extent)));
      size_t first = 0;
      for (int before = 0; before < i; ++before) first += scan->update[static_cast<size_t>(before)]->shape.size() - 1;
      for (size_t k = 1; k < tensor->shape.size(); ++k) region.push_back(bounds_[scan->spatial_axis_[first + k - 1]]);
    } else if (axis.empty()) {
      for (const PrimExpr& extent : tensor->shape) region.push_back(make_range(make_zero(extent.dtype()), extent));
    }
    Tensor known = target(tensor);
    ProducerRealize node;
    node.producer = known;
    for (const Range& range : region) node.bounds.push_back(never_negative(range));
    node.condition = bool_imm(true);
    node.body = body;
    node.storage_scope = scope;
    body = make(std::move(node));
    for (size_t k = 0; k < axis.size(); ++k) {
      auto* attr = attr_of(stage.get(), axis[k]);
      if (!attr || attr->dim_align_factor == 0) continue;
      PrimExpr how = make_call(DataType::Handle(), "tir.tvm_tuple",
                               {static_cast<int>(k), attr->dim_align_factor, attr->dim_align_offset});
      body = make(AttrStmt{.node = known, .attr_key = attr::kBufferDimAlign, .value = how, .body = body});
    }
  }
  return body;
}

Stmt NestBuilder::provide(const Stage& stage) {
  if (stage->op.as<ComputeOp>()) return provide_compute(*this, stage);
  if (stage->op.as<ScanOp>()) return provide_scan(*this, stage);
  if (stage->op.as<ExternOp>()) return provide_extern(*this, stage);
  if (stage->op.as<HybridOp>()) return provide_hybrid(*this, stage);
  if (stage->op.as<TensorComputeOp>()) return provide_tensor_compute(*this, stage);
  ICHECK(false) << "no nest for " << stage->op->type_key();
  return nullptr;
}

Tensor NestBuilder::target(const Tensor& tensor) const {
  Tensor at = tensor;
  while (const Tensor* next = targets_.find(at.get())) {
    if (same_tensor(next->get(), at.get())) break;
    at = *next;
  }
  return at;
}

ObjectRef NestBuilder::seen_from(const Nest& nest, const ObjectRef& node) {
  Rewriter rewriter;
  rewriter.on([&](const VarNode* var) -> PrimExpr {
    PrimExpr value = nest.roots.get_or_null(Var(var));
    return value ? value : PrimExpr(var);
  });
  auto redirect = [&](const DataProducer& producer) -> DataProducer {
    Tensor tensor = downcast_or_null<Tensor>(producer);
    return tensor ? DataProducer(target(tensor)) : producer;
  };
  rewriter.on([&](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
    return with(self.children(load), &ProducerLoad::producer, redirect(load->producer));
  });
  rewriter.on([&](Rewriter& self, const ProducerStore* store) -> Stmt {
    return with(self.children(store), &ProducerStore::producer, redirect(store->producer));
  });
  return rewriter(node);
}

NestBuilder::Nest NestBuilder::make_nest(const Stage& stage, Part part, const Nest* outer, size_t shared,
                                         const AxisSet& skip) {
  Nest nest{stage, part, {}, {}, {}};
  for (size_t i = 0; i < stage->leaf_iter_vars.size(); ++i) {
    IterVar leaf = stage->leaf_iter_vars[i];
    if (outer && i < shared) {
      nest.values[leaf.get()] = outer->values.at(leaf.get());
      continue;
    }
    if (skip.count(leaf.get())) continue;
    Range range = bounds_[leaf];
    IterVar thread = thread_of(stage.get(), leaf, bounds_, analyzer_);
    bool is_trivial = is_one(range->extent) && !keep_trivial_loops_;
    if (is_trivial || (thread && is_private_axis(stage.get(), leaf))) {
      nest.values[leaf.get()] = range->min;
      continue;
    }
    Var var = leaf->var;
    if (thread) var = thread->var;
    else if (part == Part::Init) var = make_var(leaf->var->name + ".init", leaf->var->dtype);
    if (!var.same_as(leaf->var) && !thread) {
      analyzer_.bind(var, range, true);
      intervals_[var.get()] = loops::Interval::of(range);
    }
    nest.loop_vars[leaf.get()] = var;
    nest.values[leaf.get()] = cast(leaf->var->dtype, var);
  }
  relations(stage).pass_up_indices(bounds_, &nest.values, skip.empty() ? Axes::All : Axes::Known);
  for (const IterVar& root : root_iter_vars(stage->op.get())) {  // spatial axes first: reduce axes may depend on them
    auto it = nest.values.find(root.get());
    if (it != nest.values.end()) nest.roots.set(root->var, analyzer_.simplify(over_loops(nest, it->second)));
  }
  return nest;
}

NestBuilder::Reduced NestBuilder::reduced(const Stage& stage, const Array<IterVar>& axis,
                                          const Array<IterVar>& reduce_axis) {
  constexpr int kSpatial = 1, kReduce = 2;
  AxisMap<int> kinds;
  for (const IterVar& iv : axis) kinds[iv.get()] = kSpatial;
  for (const IterVar& iv : reduce_axis) kinds[iv.get()] = kReduce;
  relations(stage).pass_down_flags(&kinds);
  Reduced out;
  for (const auto& [iv, kind] : kinds) {
    if (kind & kReduce) out.any.insert(iv);
    if (kind == kReduce) out.only.insert(iv);
  }
  return out;
}

std::vector<PrimExpr> NestBuilder::nest_guards(const Nest& nest, bool skip_domain, const AxisSet& skip) {
  std::vector<PrimExpr> out;
  for (const PrimExpr& guard :
       relations(nest.stage).guards(bounds_, nest.values, skip_domain, skip, intervals_, analyzer_))
    out.push_back(likely(in_nest(nest, guard)));
  return out;
}

Stmt NestBuilder::loops_around(const Nest& nest, size_t begin, size_t end, const std::function<Stmt()>& inner,
                               const AxisSet& skip) {
  if (begin == end) return inner();
  IterVar leaf = nest.stage->leaf_iter_vars[begin];
  if (skip.count(leaf.get())) return loops_around(nest, begin + 1, end, inner, skip);
  IterVar thread = thread_of(nest.stage.get(), leaf, bounds_, analyzer_);
  bool is_thread_new = thread && active_threads_.insert(thread.get()).second;
  Stmt body = loops_around(nest, begin + 1, end, inner, skip);
  if (nest.part == Part::Main) body = pipelines(attached(nest.stage.get(), leaf), body);
  body = one_loop(nest, leaf, body, is_thread_new);
  if (is_thread_new) active_threads_.erase(thread.get());
  return body;
}

PrimExpr NestBuilder::over_loops(const Nest& nest, const PrimExpr& e) {
  Map<Var, PrimExpr> values;
  for (const IterVar& root : root_iter_vars(nest.stage->op.get())) {
    if (!nest.roots.count(root->var) || !uses_var(e, root->var)) continue;
    PrimExpr value = nest.roots[root->var], last = loops::Interval::of(bounds_[root]).max;
    bool is_inside = analyzer_.can_prove(value <= last);
    if (!is_inside) {
      loops::Interval reach = loops::eval_interval(value, intervals_, analyzer_);
      is_inside = reach.max.defined() && analyzer_.can_prove(reach.max <= last);
    }
    values.set(root->var, is_inside ? value : min(value, last));
  }
  return values.empty() ? e : analyzer_.simplify(substitute(e, values));
}

Stmt NestBuilder::one_loop(const Nest& nest, const IterVar& leaf, Stmt body, bool is_thread_new) {
  const StageNode* stage = nest.stage.get();
  auto* attr = attr_of(stage, leaf);
  Range range = bounds_[leaf];
  IterVar thread = thread_of(stage, leaf, bounds_, analyzer_);
  if (thread) {
    if (!is_thread_new) return body;
    bool is_virtual = is_virtual_thread(thread->thread_tag);
    Range launch = bounds_.get_or_null(thread);
    PrimExpr extent = in_nest(nest, launch ? launch->extent : range->extent);
    return make(AttrStmt{.node = thread,
                         .attr_key = is_virtual ? attr::kVirtualThread : attr::kThreadExtent,
                         .value = extent,
                         .body = body});
  }
  if (attr)
    for (size_t i = attr->prefetch_data.size(); i-- > 0;)
      body = make(AttrStmt{.node = target(attr->prefetch_data[i]),
                           .attr_key = attr::kPrefetchScope,
                           .value = attr->prefetch_offset[i],
                           .body = body});
  if (nest.loop_vars.count(leaf.get())) {
    LoopKind kind = LoopKind::Serial;
    if (attr && attr->iter_type == IterType::Unrolled) kind = LoopKind::Unrolled;
    if (attr && attr->iter_type == IterType::Vectorized) kind = LoopKind::Vectorized;
    if (attr && attr->iter_type == IterType::Parallelized) kind = LoopKind::Parallel;
    For loop;
    loop.loop_var = nest.loop_vars.at(leaf.get());
    loop.min = make_zero(leaf->var->dtype);
    loop.extent = over_loops(nest, range->extent);
    loop.kind = kind;
    loop.body = body;
    body = make(std::move(loop));
  }
  if (attr)
    for (size_t i = attr->pragma_keys.size(); i-- > 0;) {
      std::string key = attr::kPragmaPrefix + attr->pragma_keys[i].as<StringImm>()->value.str();
      body = make(AttrStmt{.node = leaf, .attr_key = key, .value = attr->pragma_values[i], .body = body});
    }
  return body;
}

Stmt schedule_ops(const Schedule& sch, const Bounds& bounds, bool keep_trivial_loops) {
  return NestBuilder(sch, bounds, keep_trivial_loops)();
}

namespace {
Globals nest_globals{{"schedule.ScheduleOps", schedule_ops}};
}  // namespace

}  // namespace tessera::te
