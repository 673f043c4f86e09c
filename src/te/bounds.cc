#include "te/bounds.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"

namespace tessera::te {
namespace {

using loops::Box;
using loops::Interval;

bool is_inlined(const StageNode* stage) {
  return stage->attach_type == AttachType::Inline || stage->attach_type == AttachType::InlinedAlready;
}

std::string_view thread_tag(const StageNode* stage, const IterVar& iv) {
  IterVar thread = bound_thread(stage, iv);
  return thread ? std::string_view(thread->thread_tag) : std::string_view(iv->thread_tag);
}

Interval whole_dimension(const PrimExpr& extent) { return Interval::of(make_range(make_zero(extent.dtype()), extent)); }

}  // namespace

AttachPaths::AttachPaths(const Schedule& sch) {
  for (const Stage& stage : sch->stages) {
    std::vector<Loop>& path = paths_[stage.get()];
    std::unordered_set<const StageNode*> seen;
    for (Stage at = stage; at;) {
      if (!seen.insert(at.get()).second)
        throw Error(RuntimeError) << "Find loop between compute_at relations: stage " << stage_name(stage.get())
                                  << " is attached inside itself";
      Stage spec = attach_spec(at);
      if (spec->attach_type != AttachType::Scope && spec->attach_type != AttachType::ScanUpdate) break;
      bool is_inside = spec->attach_type == AttachType::ScanUpdate;
      at = spec->attach_stage;
      for (size_t i = at->leaf_iter_vars.size(); i-- > 0;) {
        IterVar iv = at->leaf_iter_vars[i];
        is_inside = is_inside || iv.same_as(spec->attach_ivar);
        if (is_inside) path.push_back({iv, at});
      }
      if (!is_inside)
        throw Error(RuntimeError) << "Invalid Schedule: cannot find axis " << spec->attach_ivar->var->name
                                  << " that stage " << stage_name(stage.get()) << " is attached to among the loops of "
                                  << stage_name(at.get());
    }
  }
}

StorageRank AttachPaths::storage(const StageNode* stage) const {
  if (!stage->scope.empty()) return storage_rank(stage->scope);
  int rank = -1;
  for (const Loop& loop : around(stage)) {
    std::string_view tag = thread_tag(loop.stage.get(), loop.iv);
    if (!tag.empty() && tag != "pipeline") rank = std::max(rank, thread_level(tag).rank);
  }
  return default_storage(rank);
}

bool is_private_axis(const StageNode* stage, const IterVar& leaf) {
  IterVar thread = bound_thread(stage, leaf);
  return thread && leaf->iter_type == IterType::DataPar && !stage->scope.empty() &&
         !spans_threads(storage_rank(stage->scope), thread->thread_tag);
}

IterVar thread_of(const StageNode* stage, const IterVar& leaf, const Bounds& bounds, arith::Analyzer& analyzer) {
  IterVar thread = bound_thread(stage, leaf);
  if (!is_private_axis(stage, leaf)) return thread || leaf->iter_type != IterType::ThreadIndex ? thread : leaf;
  PrimExpr others = 1, elements = 1;
  for (const IterVar& other : stage->leaf_iter_vars)
    if (!is_private_axis(stage, other)) others = others * bounds[other]->extent;
  for (const IterVar& root : root_iter_vars(stage->op.get())) elements = elements * bounds[root]->extent;
  return analyzer.can_prove(others >= elements) ? thread : IterVar();
}

namespace {

class BoundsOf {
 public:
  explicit BoundsOf(const Schedule& sch) : sch_(sch), paths_(sch) {
    for (const Stage& stage : sch->stages) {
      if (is_inlined(stage.get())) continue;
      for (const Tensor& tensor : input_tensors(stage->op.get())) {
        auto& consumers = consumers_[tensor->op.get()];
        if (consumers.empty() || !consumers.back().same_as(stage)) consumers.push_back(stage);
      }
    }
  }

  Bounds operator()() {
    for (size_t i = sch_->stages.size(); i-- > 0;) {
      Stage stage = sch_->stages[i];
      if (is_inlined(stage.get()) || stage->op.as<PlaceholderOp>()) continue;
      infer_roots(stage);
      relations_[stage].pass_down_domains(&bounds_, analyzer_);
      for (const IterVar& thread : stage->env_threads) set(thread, thread->dom);
      note_threads(stage);
    }
    Bounds out;
    for (const auto& [iv, range] : bounds_)
      out.set(iv, make_range(analyzer_.simplify(range->min), analyzer_.simplify(range->extent)));
    return out;
  }

 private:
  void set(const IterVar& iv, const Range& range) {
    bounds_.set(iv, range);
    analyzer_.bind(iv->var, range, true);
  }

  void infer_roots(const Stage& stage) {
    if (stage->is_output) {
      if (attach_spec(stage)->attach_type != AttachType::GroupRoot)
        throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                                  << ": Output must be attached at root; it is attached to "
                                  << stage_name(attach_spec(stage)->attach_stage.get());
      for (const IterVar& iv : root_iter_vars(stage->op.get())) set(iv, iv->dom);
      return;
    }
    std::vector<Box> boxes(static_cast<size_t>(num_outputs(stage->op.get())));
    for (const Stage& consumer : consumers_[stage->op.get()]) widen_by_consumer(stage, consumer, &boxes);
    gather(stage->op, boxes);
  }

  /// Loops of the consumer, and around it, as the stage sees them: points where fixed, whole ranges where relaxed.
  void widen_by_consumer(const Stage& stage, const Stage& consumer, std::vector<Box>* boxes) {
    Stage spec = attach_spec(stage);
    bool is_attached = spec->attach_type == AttachType::Scope || spec->attach_type == AttachType::ScanUpdate;
    bool is_inside = false;  // inside the loop that the stage is attached to, seen from within
    StorageRank storage = paths_.storage(stage.get());
    auto is_relaxed = [&](const StageNode* of, const IterVar& iv) {
      std::string_view tag = thread_tag(of, iv);
      if (!tag.empty() && !thread_of(of, iv, bounds_, analyzer_)) return !is_inside;
      if (tag.empty() || tag == "pipeline") return !is_inside;
      return spans_threads(storage, tag);
    };
    AxisMap<Interval> intervals;
    for (size_t i = consumer->leaf_iter_vars.size(); i-- > 0;) {
      IterVar iv = consumer->leaf_iter_vars[i];
      is_inside = is_inside || (is_attached && spec->attach_stage.same_as(consumer) && iv.same_as(spec->attach_ivar));
      Range range = bounds_[iv];
      if (is_one(range->extent)) {
        intervals[iv.get()] = Interval::point(range->min);
      } else if (is_relaxed(consumer.get(), iv)) {
        intervals[iv.get()] = Interval::of(range);
      } else {
        IterVar thread = thread_of(consumer.get(), iv, bounds_, analyzer_);
        bool is_first = thread && is_private_axis(consumer.get(), iv);
        PrimExpr value = cast(iv->var->dtype, thread ? thread->var : iv->var);
        intervals[iv.get()] = Interval::point(is_first ? range->min : value);
      }
    }
    loops::VarIntervals relaxed;
    const StageNode* last = nullptr;
    for (const AttachPaths::Loop& loop : paths_.around(consumer.get())) {
      if (std::exchange(last, loop.stage.get()) != loop.stage.get()) add_root_values(loop.stage, &relaxed);
      is_inside = is_inside || (is_attached && loop.iv.same_as(spec->attach_ivar));
      if (!is_relaxed(loop.stage.get(), loop.iv)) continue;
      relaxed[loop.iv->var.get()] = Interval::of(bounds_[loop.iv]);
      if (IterVar thread = bound_thread(loop.stage.get(), loop.iv))
        relaxed[thread->var.get()] = Interval::of(bounds_[loop.iv]);
    }
    if (is_attached && !is_inside)
      throw Error(RuntimeError) << "Invalid Schedule, cannot find the producer " << stage_name(stage.get())
                                << " along the loop nest specified by compute_at of consumer "
                                << stage_name(consumer.get()) << ": " << stage_name(stage.get()) << " is attached at "
                                << spec->attach_ivar->var->name << " of " << stage_name(spec->attach_stage.get());
    relations_[consumer].pass_up_intervals(bounds_, &intervals, analyzer_);

    loops::VarIntervals roots;
    for (const IterVar& iv : root_iter_vars(consumer->op.get())) {
      auto it = intervals.find(iv.get());
      Range range = it == intervals.end() ? bounds_[iv] : loops::cover(it->second, iv->dom, analyzer_);
      Interval interval = Interval::of(range);
      if (!relaxed.empty()) {
        Interval low = loops::eval_interval(interval.min, relaxed, analyzer_);
        Interval high = interval.is_point() ? low : loops::eval_interval(interval.max, relaxed, analyzer_);
        if (!low.is_point() || !high.is_point() || !interval.is_point()) interval = {low.min, high.max};
      }
      roots[iv->var.get()] = interval;
    }
    add_reads(stage->op, consumer->op, roots, boxes);
  }

  /// Where a reduce axis depends on a spatial one, ranges of loops mention axes of the operation: these are known by
  /// the loops they come from.
  void add_root_values(const Stage& stage, loops::VarIntervals* known) {
    auto* compute = stage->op.as<ComputeOp>();
    if (!compute || compute->reduce_axis.empty()) return;
    auto is_axis = [&](const VarNode* var) {
      for (const IterVar& iv : compute->axis)
        if (iv->var.get() == var) return true;
      return false;
    };
    bool is_dependent = false;
    for (const IterVar& iv : compute->reduce_axis)
      is_dependent = is_dependent || uses_var(iv->dom->min, is_axis) || uses_var(iv->dom->extent, is_axis);
    if (!is_dependent) return;
    AxisMap<PrimExpr> values;
    for (const IterVar& leaf : stage->leaf_iter_vars) {
      IterVar thread = bound_thread(stage.get(), leaf);
      Range range = bounds_[leaf];
      values[leaf.get()] =
          is_one(range->extent) ? range->min : cast(leaf->var->dtype, thread ? thread->var : leaf->var);
    }
    relations_[stage].pass_up_indices(bounds_, &values);
    for (const IterVar& iv : compute->axis) (*known)[iv->var.get()] = Interval::point(values.at(iv.get()));
  }

  /// Adds to `boxes` what `consumer` reads of the outputs of `op` while its axes run through `roots`.
  void add_reads(const Operation& op, const Operation& consumer, const loops::VarIntervals& roots,
                 std::vector<Box>* boxes) {
    auto add = [&](const Tensor& tensor, const Box& box) {
      if (tensor->op.same_as(op)) widen(&(*boxes)[static_cast<size_t>(tensor->value_index)], box, analyzer_);
    };
    auto add_whole = [&](const Tensor& tensor) {
      Box box;
      for (const PrimExpr& extent : tensor->shape) box.push_back(whole_dimension(extent));
      add(tensor, box);
    };
    auto add_loads = [&](const ObjectRef& e) {
      walk(e, [&](const ProducerLoad* load) {
        Tensor tensor = downcast<Tensor>(load->producer);
        if (!tensor->op.same_as(op)) return;
        Box box;
        for (size_t i = 0; i < load->indices.size(); ++i)
          box.push_back(index_interval(load->indices[i], tensor->shape[i], roots));
        add(tensor, box);
      });
    };
    if (auto* compute = consumer.as<ComputeOp>()) {
      for (const PrimExpr& body : compute->body) add_loads(body);
      for (const IterVar& iv : compute->reduce_axis) {
        add_loads(iv->dom->min);
        add_loads(iv->dom->extent);
      }
    } else if (auto* scan = consumer.as<ScanOp>()) {
      size_t next = 0;
      for (size_t i = 0; i < scan->update.size(); ++i) {
        Box first{whole_dimension(scan->init[i]->shape[0])}, later{roots.at(scan->scan_axis->var.get())};
        for (size_t k = 1; k < scan->update[i]->shape.size(); ++k) {
          const Interval& spatial = roots.at(scan->spatial_axis_[next++]->var.get());
          first.push_back(spatial);
          later.push_back(spatial);
        }
        add(scan->init[i], first);
        add(scan->update[i], later);
      }
    } else if (auto* intrin = consumer.as<TensorComputeOp>()) {
      for (size_t i = 0; i < intrin->inputs.size(); ++i) {
        auto region = downcast<Array<Range>>(intrin->input_regions[i]);
        Box box;
        for (const Range& range : region) {
          Interval low = loops::eval_interval(range->min, roots, analyzer_);
          PrimExpr last = analyzer_.simplify(range->min + range->extent - 1);  // an end that the start does not move
          Interval high = loops::eval_interval(last, roots, analyzer_);
          box.push_back({low.min, high.max});
        }
        add(intrin->inputs[i], box);
      }
      for (const PrimExpr& scalar : intrin->scalar_inputs) add_loads(scalar);
    } else {
      for (const Tensor& tensor : input_tensors(consumer.get())) add_whole(tensor);
    }
  }

  /// The interval of an index; the whole dimension where that is known to be smaller, or nothing is known.
  Interval index_interval(const PrimExpr& index, const PrimExpr& extent, const loops::VarIntervals& roots) {
    Interval found = loops::eval_interval(index, roots, analyzer_);
    Interval whole = whole_dimension(extent);
    if (!found.is_bounded()) return whole;
    PrimExpr zero = make_zero(found.min.dtype());
    if (!found.is_point() && analyzer_.can_prove(found.min <= zero) && analyzer_.can_prove(found.max >= extent - 1))
      return whole;
    return found;
  }

  void gather(const Operation& op, const std::vector<Box>& boxes) {
    auto hull_of = [&](size_t dimension) {
      Interval out;
      bool is_first = true;
      for (const Box& box : boxes) {
        if (box.empty()) continue;
        out = is_first ? box[dimension] : loops::hull(out, box[dimension], analyzer_);
        is_first = false;
      }
      return out;
    };
    auto gather_axes = [&](const Array<IterVar>& axis, const Array<IterVar>& reduce_axis) {
      for (size_t i = 0; i < axis.size(); ++i) set(axis[i], loops::cover(hull_of(i), axis[i]->dom, analyzer_));
      for (const IterVar& iv : reduce_axis) set(iv, iv->dom);
    };
    if (auto* compute = op.as<ComputeOp>()) {
      gather_axes(compute->axis, compute->reduce_axis);
    } else if (auto* intrin = op.as<TensorComputeOp>()) {
      gather_axes(intrin->axis, intrin->reduce_axis);
    } else if (auto* scan = op.as<ScanOp>()) {
      Range steps = scan->scan_axis->dom;
      Range asked = loops::cover(hull_of(0), steps, analyzer_);
      set(scan->scan_axis, make_range(steps->min, analyzer_.simplify(asked->min + asked->extent - steps->min)));
      for (const IterVar& iv : scan->spatial_axis_) set(iv, iv->dom);
    } else {
      for (const IterVar& iv : root_iter_vars(op.get())) set(iv, iv->dom);
    }
  }

  /// One thread axis is one launch dimension: leaves bound to it agree on its extent, or fit the one it states.
  void note_threads(const Stage& stage) {
    for (const IterVar& leaf : stage->leaf_iter_vars) {
      IterVar thread = bound_thread(stage.get(), leaf);
      if (!thread) continue;
      PrimExpr extent = bounds_[leaf]->extent;
      Range launch = thread->dom ? thread->dom : bounds_.get_or_null(thread);
      if (!launch) {
        launch = make_range(make_zero(thread->var->dtype), cast(thread->var->dtype, extent));
        thread_owner_[thread.get()] = stage_name(stage.get()) + "." + leaf->var->name.str();
      }
      PrimExpr launched = cast(launch->extent.dtype(), extent);  // a thread counts in 32 bits, whatever the axis does
      bool fits = analyzer_.can_prove(equal(launch->extent, launched)) ||
                  (thread->dom && analyzer_.can_prove(launched <= launch->extent));
      if (!fits)
        throw Error(RuntimeError) << "thread axis " << thread->var->name << " has extent " << launch->extent << " "
                                  << (thread->dom ? std::string("by its own range")
                                                  : "from " + thread_owner_[thread.get()])
                                  << ", but axis " << leaf->var->name << " of stage " << stage_name(stage.get())
                                  << " bound to it has extent " << extent << "; split both alike";
      set(thread, launch);
    }
  }

  Schedule sch_;
  AttachPaths paths_;
  RelationsOfStages relations_;
  arith::Analyzer analyzer_;
  Bounds bounds_;
  std::unordered_map<const OperationNode*, std::vector<Stage>> consumers_;
  std::unordered_map<const IterVarNode*, std::string> thread_owner_;
};

}  // namespace

Bounds infer_bounds(const Schedule& sch) { return BoundsOf(sch)(); }

namespace {
Globals bounds_globals{{"schedule.InferBound", infer_bounds}};
}  // namespace

}  // namespace tessera::te
