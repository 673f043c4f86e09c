#include "te/tensorize.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "runtime/registry.h"
#include "tir/attrs.h"

namespace tessera::te {

int tensor_compute_outputs(const TensorComputeOp* op) {
  return static_cast<int>(op->intrin->buffers.size()) - static_cast<int>(op->inputs.size());
}

DataType tensor_compute_dtype(const TensorComputeOp* op, int index) {
  return op->intrin->buffers[op->inputs.size() + static_cast<size_t>(index)]->dtype;
}

namespace {

using loops::Interval;
using Nest = NestBuilder::Nest;
using Region = Array<Range>;

/// Inside `body`, `view` is the rectangle `region` of `tensor`.
Stmt bind_view(const Buffer& view, const Tensor& tensor, const Region& region, Stmt body) {
  Array<PrimExpr> flat;
  for (const Range& range : region) {
    flat.push_back(range->min);
    flat.push_back(range->extent);
  }
  return make(AttrStmt{.node = Array<ObjectRef>{view, tensor},
                       .attr_key = attr::kBufferBindScope,
                       .value = make_call(DataType::Handle(), "tir.tvm_tuple", flat),
                       .body = std::move(body)});
}

/// What one run of the instruction covers of each axis, in terms of the loops outside it, and of each input.
struct Covered {
  AxisMap<Range> axes;
  TensorMap<Region> inputs;
};

Covered covered(const Bounds& bounds, const Relations& relations, arith::Analyzer& analyzer, const Stage& stage,
                size_t first) {
  auto* op = stage->op.as<ComputeOp>();
  AxisMap<Interval> intervals;
  for (size_t i = 0; i < stage->leaf_iter_vars.size(); ++i) {
    IterVar leaf = stage->leaf_iter_vars[i], thread = thread_of(stage.get(), leaf, bounds, analyzer);
    Range range = bounds[leaf];
    if (i >= first) intervals[leaf.get()] = Interval::of(range);
    else if (is_one(range->extent) || (thread && is_private_axis(stage.get(), leaf)))
      intervals[leaf.get()] = Interval::point(range->min);
    else intervals[leaf.get()] = Interval::point(cast(leaf->var->dtype, thread ? thread->var : leaf->var));
  }
  relations.pass_up_intervals(bounds, &intervals, analyzer);
  Covered out;
  loops::VarIntervals roots;
  for (const IterVar& iv : root_iter_vars(op)) {
    out.axes[iv.get()] = loops::cover(intervals.at(iv.get()), bounds[iv], analyzer);
    roots[iv->var.get()] = Interval::of(out.axes[iv.get()]);
  }
  TensorMap<loops::Box> boxes;
  for (const PrimExpr& body : op->body)
    walk(body, [&](const ProducerLoad* load) {
      Tensor tensor = downcast<Tensor>(load->producer);
      loops::Box here;
      for (const PrimExpr& index : load->indices) here.push_back(loops::eval_interval(index, roots, analyzer));
      loops::widen(&boxes[tensor], here, analyzer);
    });
  for (const auto& [tensor, box] : boxes) {
    Region region;
    for (size_t i = 0; i < box.size(); ++i) {
      PrimExpr extent = tensor->shape[i];
      region.push_back(loops::cover(box[i], make_range(make_zero(extent.dtype()), extent), analyzer));
    }
    out.inputs[tensor] = region;
  }
  return out;
}

/// The body as the instruction would have written it: its axes and inputs in place of the stage's.
class Matcher {
 public:
  Matcher(const Stage& stage, const ComputeOp* op, const TensorIntrinNode* intrin, const Covered& covered,
          arith::Analyzer& analyzer)
      : stage_(stage), op_(op), intrin_(intrin), covered_(covered), analyzer_(analyzer) {}

  /// The stage's bodies beside the declared ones. Throws where they differ in axes, inputs or outputs.
  struct Bodies {
    PrimExpr got, want;
  };
  std::vector<Bodies> bodies() {
    auto* declared = intrin_->op.as<ComputeOp>();
    if (!declared)
      throw Error(RuntimeError) << "tensor intrinsic " << intrin_->name << " must be declared by a compute";
    match_axes(op_->axis, declared->axis);
    match_axes(op_->reduce_axis, declared->reduce_axis);
    match_inputs();
    if (op_->body.size() != declared->body.size()) fail("number of outputs");
    std::vector<Bodies> out;
    for (size_t i = 0; i < op_->body.size(); ++i)
      out.push_back({normal(placed(op_->body[i], declared->reduce_axis)), normal(declared->body[i])});
    return out;
  }

  void check() {
    for (const auto& [got, want] : bodies())
      if (!structural_equal(got, want))
        throw Error(RuntimeError) << "Failed to match the compute with TensorIntrin " << intrin_->name
                                  << "'s declaration  provided= " << got << ", intrin=  " << want
                                  << ", running this stage: " << stage_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(RuntimeError) << "stage " << stage_name(stage_.get()) << ": Tensorize " << intrin_->name
                              << " does not fit: " << what << " differs";
  }

  /// The instruction's axes stand for the last axes of the stage; those before must be single points.
  void match_axes(const Array<IterVar>& axes, const Array<IterVar>& declared) {
    if (axes.size() < declared.size()) fail("number of axes");
    size_t lead = axes.size() - declared.size();
    for (size_t i = 0; i < axes.size(); ++i) {
      Range range = covered_.axes.at(axes[i].get());
      if (i < lead) {
        if (!is_one(range->extent))
          fail("axis " + axes[i]->var->name.str() + ", which the instruction lacks, has an extent that");
        values_.set(axes[i]->var, range->min);
        continue;
      }
      Range own = declared[i - lead]->dom;
      if (!analyzer_.can_prove(equal(range->extent, own->extent)))
        fail("the extent of axis " + axes[i]->var->name.str() + " (" + to_text(range->extent) + ", declared " +
             to_text(own->extent) + ")");
      values_.set(axes[i]->var, range->min + (declared[i - lead]->var - own->min));
      analyzer_.bind(declared[i - lead]->var, own, true);
    }
  }

  void match_inputs() {
    Array<Tensor> read = input_tensors(op_);
    if (read.size() != intrin_->inputs.size()) fail("number of inputs");
    for (size_t i = 0; i < read.size(); ++i) {
      if (read[i]->shape.size() < intrin_->inputs[i]->shape.size()) fail("rank of input " + tensor_name(read[i].get()));
      stand_in_[read[i]] = intrin_->inputs[i];
    }
  }

  PrimExpr placed(const PrimExpr& body, const Array<IterVar>& reduce_axis) {
    PrimExpr out = rewrite(
        body,
        [&](const VarNode* var) -> PrimExpr {
          PrimExpr value = values_.get_or_null(Var(var));
          return value ? value : PrimExpr(var);
        },
        [&](Rewriter& self, const ProducerLoad* read) -> PrimExpr {
          auto inner = self.children(read);
          Tensor tensor = downcast<Tensor>(read->producer), input = *stand_in_.find(tensor.get());
          const Region& region = *covered_.inputs.find(tensor.get());
          size_t lead = tensor->shape.size() - input->shape.size();
          Array<PrimExpr> indices;
          for (size_t i = lead; i < region.size(); ++i)
            indices.push_back(analyzer_.simplify(inner->indices[i] - region[i]->min));
          return load(input, indices);
        });
    auto* reduce = out.as<Reduce>();
    return reduce ? PrimExpr(with(reduce, &Reduce::axis, reduce_axis)) : out;
  }

  PrimExpr normal(const PrimExpr& e) {
    return rewrite(e, [&](Rewriter& self, const ProducerLoad* read) -> PrimExpr {
      auto inner = self.children(read);
      Array<PrimExpr> indices;
      for (const PrimExpr& index : inner->indices) indices.push_back(analyzer_.simplify(index));
      return with(inner, &ProducerLoad::indices, indices);
    });
  }

  const Stage& stage_;
  const ComputeOp* op_;
  const TensorIntrinNode* intrin_;
  const Covered& covered_;
  arith::Analyzer& analyzer_;
  Map<Var, PrimExpr> values_;
  TensorMap<Tensor> stand_in_;
};

Stmt bind_outputs(NestBuilder& builder, const Stage& stage, const Array<IterVar>& axis, const AxisMap<Range>& ranges,
                  const TensorIntrinNode* intrin, size_t inputs, Stmt body) {
  Region region;
  for (const IterVar& iv : axis) region.push_back(ranges.at(iv.get()));
  for (size_t i = intrin->buffers.size(); i-- > inputs;)
    body = bind_view(intrin->buffers[i], builder.target(output(stage->op, static_cast<int>(i - inputs))), region, body);
  return body;
}

/// The guards of the loops around the instruction, which it runs under. One of a loop that it replaces is an error.
std::vector<PrimExpr> guards_outside(NestBuilder& builder, const Nest& nest, const TensorIntrinNode* intrin,
                                     size_t first) {
  std::unordered_set<const VarNode*> replaced;
  for (size_t i = first; i < nest.stage->leaf_iter_vars.size(); ++i) {
    auto it = nest.loop_vars.find(nest.stage->leaf_iter_vars[i].get());
    if (it != nest.loop_vars.end()) replaced.insert(it->second.get());
  }
  std::vector<PrimExpr> out = builder.nest_guards(nest, false, {});
  for (const PrimExpr& guard : out)
    if (uses_var(guard, [&](const VarNode* var) { return replaced.count(var) > 0; }))
      throw Error(RuntimeError) << "stage " << stage_name(nest.stage.get()) << ": Tensorize failed, split condition "
                                << guard << " relies on var defined inside tensorize scope of " << intrin->name;
  return out;
}

/// Runs the instruction inside the first `first` loops: alone where it reduces everything itself, else after an init
/// nest, or with its plain body in the first round where it has no init of its own.
Stmt around(NestBuilder& builder, const Stage& stage, const TensorIntrinNode* intrin, size_t first,
            const Array<IterVar>& axis, const Array<IterVar>& reduce_axis, const std::function<Stmt(Stmt)>& bind_in,
            const std::function<Stmt(Stmt)>& bind_out) {
  const auto [reduced, reduce_only] = builder.reduced(stage, axis, reduce_axis);
  auto is_reduce = [&, &reduced = reduced](size_t i) { return reduced.count(stage->leaf_iter_vars[i].get()) != 0; };
  size_t begin = 0;
  while (begin < first && !is_reduce(begin)) ++begin;
  Nest main = builder.make_nest(stage);
  std::vector<PrimExpr> guards = guards_outside(builder, main, intrin, first);
  auto run = [&](const Stmt& part) { return if_all(guards, builder.in_nest(main, bind_in(bind_out(part)))); };
  if (begin == first) return builder.loops_around(main, 0, first, [&] { return run(intrin->body); });
  if (!intrin->reduce_update)
    throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                              << ": the reduction is split, but tensor intrinsic " << intrin->name
                              << " has no reduce_update";
  return builder.loops_around(main, 0, begin, [&] {
    if (!intrin->reduce_init)
      return builder.loops_around(main, begin, first, [&] {
        PrimExpr is_first = bool_imm(true);
        for (size_t i = begin; i < first; ++i)
          if (is_reduce(i)) {
            PrimExpr at_start = equal(main.values.at(stage->leaf_iter_vars[i].get()), 0);
            is_first = is_one(is_first) ? at_start : logical_and(is_first, at_start);
          }
        Stmt out = make(IfThenElse{
            .condition = likely(is_first), .then_case = run(intrin->body), .else_case = run(intrin->reduce_update)});
        return out;
      });
    Nest init = builder.make_nest(stage, NestBuilder::Part::Init, &main, begin, reduce_only);
    Map<Var, PrimExpr> fresh;  // the regions mention the main loops
    for (const auto& [iv, var] : init.loop_vars) fresh.set(iv->var, var);
    Stmt start = builder.loops_around(
        init, begin, first,
        [&] {
          Stmt body = substitute(builder.in_nest(init, bind_out(intrin->reduce_init)), fresh);
          return if_all(builder.nest_guards(init, false, reduce_only), body);
        },
        reduce_only);
    Stmt steps = builder.loops_around(main, begin, first, [&] { return run(intrin->reduce_update); });
    return sequence({start, steps});
  });
}

}  // namespace

Stmt provide_tensorized(NestBuilder& builder, const Stage& stage, const IterVar& leaf) {
  auto* op = stage->op.as<ComputeOp>();
  const TensorIntrinNode* intrin = attr_of(stage.get(), leaf)->tensor_intrin.get();
  size_t first = leaf_position(stage.get(), leaf);
  Covered parts = covered(builder.bounds(), builder.relations(stage), builder.analyzer(), stage, first);
  Matcher(stage, op, intrin, parts, builder.analyzer()).check();
  Array<Tensor> read = input_tensors(op);
  auto bind_in = [&](Stmt body) {
    for (size_t i = read.size(); i-- > 0;)
      body = bind_view(intrin->buffers[i], builder.target(read[i]), *parts.inputs.find(read[i].get()), body);
    return body;
  };
  auto bind_out = [&](Stmt body) {
    return bind_outputs(builder, stage, op->axis, parts.axes, intrin, read.size(), body);
  };
  return around(builder, stage, intrin, first, op->axis, op->reduce_axis, bind_in, bind_out);
}

Stmt provide_tensor_compute(NestBuilder& builder, const Stage& stage) {
  auto* op = stage->op.as<TensorComputeOp>();
  const TensorIntrinNode* intrin = op->intrin.get();
  AxisMap<Range> ranges;
  for (size_t i = 0; i < op->axis.size(); ++i) {
    const IterVar& iv = op->axis[i];
    bool is_loop = static_cast<int>(i) < op->schedulable_ndim;
    ranges[iv.get()] = is_loop ? make_range(iv->var, make_const(iv->var->dtype, 1)) : builder.bounds()[iv];
  }
  auto bind_in = [&](Stmt body) {
    for (size_t i = op->inputs.size(); i-- > 0;)
      body = bind_view(intrin->buffers[i], builder.target(op->inputs[i]), downcast<Region>(op->input_regions[i]), body);
    Map<Var, PrimExpr> scalars;
    for (size_t i = 0; i < intrin->scalar_params.size(); ++i)
      scalars.set(intrin->scalar_params[i], op->scalar_inputs[i]);
    return scalars.empty() ? body : substitute(body, scalars);
  };
  auto bind_out = [&](Stmt body) {
    return bind_outputs(builder, stage, op->axis, ranges, intrin, op->inputs.size(), body);
  };
  return around(builder, stage, intrin, stage->leaf_iter_vars.size(), op->axis, op->reduce_axis, bind_in, bind_out);
}

namespace {

const ComputeOp* compute_of(const Stage& stage) {
  if (auto* op = stage->op.as<ComputeOp>()) return op;
  throw Error(TypeError) << "stage " << stage_name(stage.get()) << " is not a compute";
}

/// What one run of a stage's instruction covers of axes and of inputs.
Array<ObjectRef> tensorized_region(const Stage& stage, const Bounds& bounds) {
  compute_of(stage);
  arith::Analyzer analyzer;
  size_t first = 0;
  for (; first < stage->leaf_iter_vars.size(); ++first) {
    const IterVar& leaf = stage->leaf_iter_vars[first];
    auto attr = attr_of(stage.get(), leaf);
    if (attr && attr->tensor_intrin) break;
    analyzer.bind(leaf->var, bounds[leaf], true);
  }
  Covered parts = covered(bounds, Relations(stage.get()), analyzer, stage, first);
  Bounds axes;
  for (const auto& [axis, range] : parts.axes) axes.set(IterVar(axis), range);
  Map<Tensor, Region> inputs;
  for (const auto& [tensor, region] : parts.inputs) inputs.set(tensor, region);
  return {axes, inputs};
}

/// The stage's bodies over such regions, as the instruction would have written them.
Array<PrimExpr> tensorized_bodies(const Stage& stage, const Bounds& axes, const Map<Tensor, Region>& inputs,
                                  const TensorIntrin& intrin) {
  Covered parts;
  for (const auto& [axis, range] : axes) parts.axes[axis.get()] = range;
  for (const auto& [tensor, region] : inputs) parts.inputs[tensor] = region;
  arith::Analyzer analyzer;
  Array<PrimExpr> out;
  for (const auto& body : Matcher(stage, compute_of(stage), intrin.get(), parts, analyzer).bodies())
    out.push_back(body.got);
  return out;
}

Globals tensorize_globals{
    {"test.op.InferTensorizeRegion", tensorized_region},
    {"test.op.MatchTensorizeBody", tensorized_bodies},
    {"te.TensorIntrin",
     [](String name, Operation op, Array<Tensor> inputs, Array<Buffer> buffers, Array<Var> scalar_params, Stmt body,
        Stmt reduce_init, Stmt reduce_update) {
       TensorIntrinNode node;
       node.name = name;
       node.op = op;
       node.inputs = inputs;
       node.buffers = buffers;
       node.scalar_params = scalar_params;
       node.body = body;
       node.reduce_init = reduce_init;
       node.reduce_update = reduce_update;
       return TensorIntrin(make(std::move(node)));
     }},
    {"te.TensorIntrinCall",
     [](TensorIntrin intrin, Array<Tensor> tensors, Array<Array<Range>> regions, Array<IterVar> reduce_axis,
        Array<PrimExpr> scalar_inputs) {
       TensorIntrinCallNode node;
       node.intrin = intrin;
       node.tensors = tensors;
       for (const Array<Range>& region : regions) node.regions.push_back(region);
       node.reduce_axis = reduce_axis;
       node.scalar_inputs = scalar_inputs;
       return TensorIntrinCall(make(std::move(node)));
     }},
    {"te.TensorComputeOp",
     [](String name, String tag, Array<IterVar> axis, Array<IterVar> reduce_axis, int schedulable_ndim,
        TensorIntrin intrin, Array<Tensor> inputs, Array<Array<Range>> regions, Array<PrimExpr> scalar_inputs) {
       TensorComputeOp node;
       node.name = name;
       node.tag = tag;
       node.axis = axis;
       node.reduce_axis = reduce_axis;
       node.schedulable_ndim = schedulable_ndim;
       node.intrin = intrin;
       node.inputs = inputs;
       for (const Array<Range>& region : regions) node.input_regions.push_back(region);
       node.scalar_inputs = scalar_inputs;
       return Operation(make(std::move(node)));
     }},
};

}  // namespace
}  // namespace tessera::te
