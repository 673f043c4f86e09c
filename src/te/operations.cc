// Making operations of each kind, and replacing what they read.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"
#include "runtime/registry.h"
#include "te/tensor.h"
#include "te/tensor_compute.h"

namespace tessera::te {
namespace {

bool same_items(const auto& a, const auto& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!a[i].same_as(b[i])) return false;
  return true;
}

bool is_one_reduction(const Reduce* a, const Reduce* b) {
  return a->combiner.same_as(b->combiner) && same_items(a->source, b->source) && same_items(a->axis, b->axis) &&
         same_items(a->init, b->init) && expr_equal(a->condition, b->condition);
}

void check_no_reduction_inside(const String& name, const PrimExpr& e, bool is_top) {
  pre_order(e, [&](const Object* node) {
    if (node->is_a(Reduce::info) && !(is_top && node == e.get()))
      throw Error(RuntimeError) << "in compute " << name
                                << ": Reductions are only allowed at the top level of compute. "
                                << "Please create another tensor for further composition.";
    return true;
  });
}

}  // namespace

const Reduce* as_reduction(const OperationNode* op) {
  auto* compute = cast_or_null<ComputeOp>(op);
  return compute ? compute->body[0].as<Reduce>() : nullptr;
}

Operation compute_op(String name, String tag, Map<String, ObjectRef> attrs, Array<IterVar> axis, Array<PrimExpr> body) {
  if (body.empty()) throw Error(ValueError) << "compute " << name << " has no body";
  ComputeOp node;
  const Reduce* first = body[0].as<Reduce>();
  for (const PrimExpr& e : body) {
    check_no_reduction_inside(name, e, true);
    auto* reduce = e.as<Reduce>();
    if ((reduce != nullptr) != (first != nullptr) || (reduce && !is_one_reduction(reduce, first)))
      throw Error(RuntimeError) << "compute " << name
                                << ": when one output reduces, all outputs must be components of the same reduction";
  }
  for (const IterVar& iv : axis)
    if (!iv->dom) throw Error(ValueError) << "compute " << name << ": axis " << iv->var->name << " has no range";
  if (first) node.reduce_axis = first->axis;
  node.name = std::move(name);
  node.tag = tag ? tag : String("");
  if (attrs) node.attrs = std::move(attrs);
  node.axis = std::move(axis);
  node.body = std::move(body);
  return make(std::move(node));
}

Array<Tensor> compute_many(Array<PrimExpr> shape, const std::function<Array<PrimExpr>(const Array<PrimExpr>&)>& body,
                           String name, String tag) {
  Array<IterVar> axis;
  Array<PrimExpr> indices;
  for (size_t i = 0; i < shape.size(); ++i) {
    Var var = make_var("ax" + std::to_string(i), shape[i].dtype());
    axis.push_back(make_iter_var(make_range(make_zero(shape[i].dtype()), shape[i]), var, IterType::DataPar));
    indices.push_back(var);
  }
  Operation op = compute_op(name, tag, {}, axis, body(indices));
  Array<Tensor> out;
  for (int i = 0; i < num_outputs(op.get()); ++i) out.push_back(output(op, i));
  return out;
}

Tensor compute(Array<PrimExpr> shape, const std::function<PrimExpr(const Array<PrimExpr>&)>& body, String name,
               String tag) {
  auto one = [&](const Array<PrimExpr>& indices) { return Array<PrimExpr>{body(indices)}; };
  return compute_many(shape, one, name, tag)[0];
}

Operation scan_op(String name, String tag, Map<String, ObjectRef> attrs, IterVar axis, Array<Tensor> init,
                  Array<Tensor> update, Array<Tensor> state_placeholder, Array<Tensor> inputs) {
  if (init.size() != update.size() || init.size() != state_placeholder.size())
    throw Error(ValueError) << "scan " << name << " needs as many init, update and state tensors: there are "
                            << init.size() << ", " << update.size() << " and " << state_placeholder.size();
  ScanOp node;
  for (size_t i = 0; i < init.size(); ++i) {
    if (init[i]->dtype != state_placeholder[i]->dtype || init[i]->dtype != update[i]->dtype)
      throw Error(TypeError) << "scan " << name << ": init, update and state " << i << " have types " << init[i]->dtype
                             << ", " << update[i]->dtype << " and " << state_placeholder[i]->dtype;
    size_t ndim = state_placeholder[i]->shape.size();
    if (ndim == 0 || update[i]->shape.size() != ndim || init[i]->shape.size() != ndim)
      throw Error(ValueError) << "scan " << name << ": init, update and state " << i
                              << " must have the same number of dimensions, time first";
    for (size_t k = 1; k < ndim; ++k) {
      PrimExpr extent = update[i]->shape[k];
      Var var = make_var(name + ".out" + std::to_string(i) + ".i" + std::to_string(k), extent.dtype());
      node.spatial_axis_.push_back(make_iter_var(make_range(make_zero(extent.dtype()), extent), var, IterType::Opaque));
    }
  }
  node.name = std::move(name);
  node.tag = tag ? tag : String("");
  if (attrs) node.attrs = std::move(attrs);
  node.scan_axis = std::move(axis);
  node.init = std::move(init);
  node.update = std::move(update);
  node.state_placeholder = std::move(state_placeholder);
  if (inputs) node.inputs = std::move(inputs);
  return make(std::move(node));
}

Operation extern_op(String name, String tag, Map<String, ObjectRef> attrs, Array<Tensor> inputs,
                    Array<Buffer> input_placeholders, Array<Buffer> output_placeholders, Stmt body) {
  if (inputs.size() != input_placeholders.size())
    throw Error(ValueError) << "extern " << name << " has " << inputs.size() << " inputs but "
                            << input_placeholders.size() << " input buffers";
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]->dtype != input_placeholders[i]->dtype ||
        inputs[i]->shape.size() != input_placeholders[i]->shape.size())
      throw Error(TypeError) << "extern " << name << ": input buffer " << i << " does not fit tensor "
                             << tensor_name(inputs[i].get()) << " in type or number of dimensions";
  ExternOp node;
  node.name = std::move(name);
  node.tag = tag ? tag : String("");
  if (attrs) node.attrs = std::move(attrs);
  node.inputs = std::move(inputs);
  node.input_placeholders = std::move(input_placeholders);
  node.output_placeholders = std::move(output_placeholders);
  node.body = std::move(body);
  return make(std::move(node));
}

Operation with_body(const ComputeOp* op, Array<PrimExpr> body) {
  if (same_items(op->body, body)) return Operation(op);
  return compute_op(op->name, op->tag, op->attrs, op->axis, std::move(body));
}

namespace {

/// A rewriter of expressions and statements that redirects tensor reads and writes.
Rewriter tensor_rewriter(const ReplaceTensor& replace) {
  Rewriter rewriter;
  auto other = [replace](const DataProducer& producer) {
    Tensor tensor = downcast_or_null<Tensor>(producer);
    Tensor out = tensor ? replace(tensor) : nullptr;
    return out ? DataProducer(out) : producer;
  };
  rewriter.on([other](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
    auto inner = self.children(load);
    return with(inner, &ProducerLoad::producer, other(load->producer));
  });
  rewriter.on([other](Rewriter& self, const ProducerStore* store) -> Stmt {
    auto inner = self.children(store);
    return with(inner, &ProducerStore::producer, other(store->producer));
  });
  return rewriter;
}

/// Components of one reduction stay components of one reduction: the first is rewritten, the rest follow it.
Array<PrimExpr> rewrite_bodies(const Array<PrimExpr>& bodies, const std::function<PrimExpr(const PrimExpr&)>& change) {
  Array<PrimExpr> out;
  auto* first = bodies[0].as<Reduce>();
  if (!first) {
    for (const PrimExpr& body : bodies) out.push_back(change(body));
    return out;
  }
  PrimExpr changed = change(bodies[0]);
  if (changed.same_as(bodies[0])) return bodies;
  for (const PrimExpr& body : bodies) {
    Reduce node(*changed.as<Reduce>());
    node.value_index = body.as<Reduce>()->value_index;
    node.dtype = body.dtype();
    out.push_back(make(std::move(node)));
  }
  return out;
}

Array<Tensor> replaced(const Array<Tensor>& tensors, const ReplaceTensor& replace) {
  Array<Tensor> out;
  for (const Tensor& tensor : tensors) {
    Tensor other = replace(tensor);
    out.push_back(other ? other : tensor);
  }
  return same_items(out, tensors) ? tensors : out;
}

}  // namespace

Array<PrimExpr> rewrite_compute_bodies(const ComputeOp* op, const std::function<PrimExpr(const PrimExpr&)>& change) {
  return rewrite_bodies(op->body, change);
}

Operation replace_inputs(const Operation& op, const ReplaceTensor& replace) {
  if (auto* compute = op.as<ComputeOp>()) {
    Rewriter rewriter = tensor_rewriter(replace);
    return with_body(compute, rewrite_bodies(compute->body, [&](const PrimExpr& e) { return rewriter(e); }));
  }
  if (auto* scan = op.as<ScanOp>()) {
    ScanOp node(*scan);
    node.init = replaced(scan->init, replace);
    node.update = replaced(scan->update, replace);
    if (node.init.same_as(scan->init) && node.update.same_as(scan->update)) return op;
    return make(std::move(node));
  }
  if (auto* extern_op = op.as<ExternOp>())
    return with(extern_op, &ExternOp::inputs, replaced(extern_op->inputs, replace));
  if (auto* hybrid = op.as<HybridOp>()) {
    Array<Tensor> inputs = replaced(hybrid->inputs, replace);
    if (inputs.same_as(hybrid->inputs)) return op;
    HybridOp node(*hybrid);
    node.inputs = inputs;
    node.body = tensor_rewriter(replace)(hybrid->body);
    return make(std::move(node));
  }
  if (auto* intrin = op.as<TensorComputeOp>()) {
    TensorComputeOp node(*intrin);
    Rewriter rewriter = tensor_rewriter(replace);
    node.inputs = replaced(intrin->inputs, replace);
    Array<PrimExpr> scalars;
    for (const PrimExpr& scalar : intrin->scalar_inputs) scalars.push_back(rewriter(scalar));
    if (node.inputs.same_as(intrin->inputs) && same_items(scalars, intrin->scalar_inputs)) return op;
    node.scalar_inputs = scalars;
    return make(std::move(node));
  }
  return op;
}

namespace {

Globals operations_globals{
    {"te.ComputeOp", compute_op},
    {"te.ScanOp", scan_op},
    {"te.ExternOp", extern_op},
    {"te.HybridOp",
     [](String name, String tag, Map<String, ObjectRef> attrs, Array<Tensor> inputs, Array<Tensor> outputs, Stmt body) {
       HybridOp node;
       node.name = name;
       node.tag = tag ? tag : String("");
       if (attrs) node.attrs = attrs;
       node.inputs = inputs;
       node.outputs = outputs;
       pre_order(body, [&](const Object* part) {
         if (auto* loop = cast_or_null<For>(part))
           node.axis.push_back(make_iter_var(make_range(loop->min, loop->extent), loop->loop_var, IterType::DataPar));
         return true;
       });
       node.body = body;
       return Operation(make(std::move(node)));
     }},
};

}  // namespace
}  // namespace tessera::te
