// Tensors, placeholders and what can be asked of any operation.

#include "te/tensor.h"

#include <unordered_set>

#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "te/tensor_compute.h"

namespace tessera::te {

Tensor placeholder(Array<PrimExpr> shape, DataType dtype, String name) {
  PlaceholderOp node;
  node.name = std::move(name);
  node.shape = std::move(shape);
  node.dtype = dtype;
  return output(make(std::move(node)), 0);
}

IterVar reduce_axis(Range domain, String name) {
  if (!domain) throw Error(ValueError) << "reduce axis " << name << " needs a range (begin, end)";
  return make_iter_var(domain, make_var(name, domain->extent.dtype()), IterType::CommReduce);
}

IterVar thread_axis(Range domain, String tag) {
  DataType dtype = domain ? domain->extent.dtype() : DataType::Int(32);
  return make_iter_var(domain, make_var(tag, dtype), IterType::ThreadIndex, tag);
}

PrimExpr load(const Tensor& tensor, Array<PrimExpr> indices) {
  if (indices.size() != tensor->shape.size())
    throw Error(ValueError) << "tensor " << tensor_name(tensor.get()) << " has " << tensor->shape.size()
                            << " dimensions, but is read with " << indices.size() << " indices";
  ProducerLoad node;
  node.dtype = tensor->dtype;
  node.producer = tensor;
  node.indices = std::move(indices);
  return make(std::move(node));
}

int num_outputs(const OperationNode* op) {
  if (auto* compute = cast_or_null<ComputeOp>(op)) return static_cast<int>(compute->body.size());
  if (auto* scan = cast_or_null<ScanOp>(op)) return static_cast<int>(scan->update.size());
  if (auto* extern_op = cast_or_null<ExternOp>(op)) return static_cast<int>(extern_op->output_placeholders.size());
  if (auto* hybrid = cast_or_null<HybridOp>(op)) return static_cast<int>(hybrid->outputs.size());
  if (auto* intrin = cast_or_null<TensorComputeOp>(op)) return tensor_compute_outputs(intrin);
  return 1;
}

Tensor output(const Operation& op, int index) {
  if (index < 0 || index >= num_outputs(op.get()))
    throw Error(IndexError) << op->name << " has " << num_outputs(op.get()) << " outputs; there is no output " << index;
  TensorNode node;
  node.op = op;
  node.value_index = index;
  auto take_shape = [&](const Array<IterVar>& axis) {
    for (const IterVar& iv : axis) node.shape.push_back(iv->dom->extent);
  };
  if (auto* given = op.as<PlaceholderOp>()) {
    node.shape = given->shape;
    node.dtype = given->dtype;
  } else if (auto* compute = op.as<ComputeOp>()) {
    take_shape(compute->axis);
    node.dtype = compute->body[index].dtype();
  } else if (auto* scan = op.as<ScanOp>()) {
    node.shape = scan->state_placeholder[index]->shape;
    node.dtype = scan->update[index]->dtype;
  } else if (auto* extern_op = op.as<ExternOp>()) {
    node.shape = extern_op->output_placeholders[index]->shape;
    node.dtype = extern_op->output_placeholders[index]->dtype;
  } else if (auto* hybrid = op.as<HybridOp>()) {
    node.shape = hybrid->outputs[index]->shape;
    node.dtype = hybrid->outputs[index]->dtype;
  } else if (auto* intrin = op.as<TensorComputeOp>()) {
    take_shape(intrin->axis);
    node.dtype = tensor_compute_dtype(intrin, index);
  } else {
    ICHECK(false) << "operation of unknown kind " << op->type_key();
  }
  return make(std::move(node));
}

Array<IterVar> root_iter_vars(const OperationNode* op) {
  auto concat = [](const Array<IterVar>& a, const Array<IterVar>& b) {
    std::vector<IterVar> all = a.vec();
    for (const IterVar& iv : b) all.push_back(iv);
    return Array<IterVar>(all);
  };
  if (auto* compute = cast_or_null<ComputeOp>(op)) return concat(compute->axis, compute->reduce_axis);
  if (auto* scan = cast_or_null<ScanOp>(op)) return concat({scan->scan_axis}, scan->spatial_axis_);
  if (auto* hybrid = cast_or_null<HybridOp>(op)) return hybrid->axis;
  if (auto* intrin = cast_or_null<TensorComputeOp>(op)) return concat(intrin->axis, intrin->reduce_axis);
  return {};
}

Array<Tensor> input_tensors(const OperationNode* op) {
  TensorMap<bool> seen;
  std::vector<Tensor> out;
  auto add = [&](const Tensor& tensor) {
    if (!std::exchange(seen[tensor], true)) out.push_back(tensor);
  };
  auto add_loads = [&](const PrimExpr& e) {
    if (!e.defined()) return;
    walk(e, [&](const ProducerLoad* load) {
      if (Tensor tensor = downcast_or_null<Tensor>(load->producer)) add(tensor);
    });
  };
  if (auto* compute = cast_or_null<ComputeOp>(op)) {
    for (const PrimExpr& body : compute->body) add_loads(body);
    for (const IterVar& iv : compute->reduce_axis) {
      add_loads(iv->dom->min);
      add_loads(iv->dom->extent);
    }
  } else if (auto* scan = cast_or_null<ScanOp>(op)) {
    for (const Tensor& tensor : scan->init) add(tensor);
    for (const Tensor& tensor : scan->update) add(tensor);
  } else if (auto* extern_op = cast_or_null<ExternOp>(op)) {
    for (const Tensor& tensor : extern_op->inputs) add(tensor);
  } else if (auto* hybrid = cast_or_null<HybridOp>(op)) {
    for (const Tensor& tensor : hybrid->inputs) add(tensor);
  } else if (auto* intrin = cast_or_null<TensorComputeOp>(op)) {
    for (const Tensor& tensor : intrin->inputs) add(tensor);
    for (const PrimExpr& scalar : intrin->scalar_inputs) add_loads(scalar);
  }
  return out;
}

std::string tensor_name(const TensorNode* tensor) {
  std::string name = tensor->op->name.str();
  if (num_outputs(tensor->op.get()) > 1) name += ".v" + std::to_string(tensor->value_index);
  return name;
}

Array<Operation> post_order_operations(const Array<Operation>& outputs) {
  std::vector<Operation> order;
  std::unordered_set<const Object*> seen;
  struct Frame {
    Operation op;
    Array<Tensor> inputs;
    size_t next = 0;
  };
  std::vector<Frame> stack;  // graphs may be thousands of operations deep
  auto enter = [&](const Operation& op) {
    if (seen.insert(op.get()).second) stack.push_back({op, input_tensors(op.get())});
  };
  for (const Operation& root : outputs) {
    enter(root);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.inputs.size()) {
        enter(top.inputs[top.next++]->op);
      } else {
        order.push_back(top.op);
        stack.pop_back();
      }
    }
  }
  return order;
}

namespace {

PrimExpr element_of_scalar(const Object* object) {
  auto* tensor = static_cast<const TensorNode*>(object);
  if (!tensor->shape.empty())
    throw Error(TypeError) << "tensor " << tensor_name(tensor) << " has " << tensor->shape.size()
                           << " dimensions; only a tensor without dimensions can stand for a value. Index it: "
                           << tensor->op->name << "[i, ...]";
  return load(Tensor(tensor), {});
}
[[maybe_unused]] const bool tensor_converts =
    (register_prim_expr_conversion(TensorNode::info, element_of_scalar), true);

std::string tensor_text(Tensor tensor) {
  std::string out = "Tensor(shape=[";
  for (size_t i = 0; i < tensor->shape.size(); ++i) out += (i ? ", " : "") + to_text(tensor->shape[i]);
  return out + "], op.name=" + tensor->op->name.str() + ")";
}

Globals tensor_globals{
    {"te.Placeholder",
     [](Array<PrimExpr> shape, DataType dtype, String name) { return placeholder(shape, dtype, name); }},
    {"te.TensorEqual", [](Tensor a, Tensor b) { return same_tensor(a.get(), b.get()); }},
    {"te.TensorHash",
     [](Tensor tensor) {
       return static_cast<int64_t>(std::hash<const void*>()(tensor->op.get()) >> 4) * 31 + tensor->value_index;
     }},
    {"te.TensorText", tensor_text},
    {"te.OpGetOutput", [](Operation op, int index) { return output(op, index); }},
    {"te.OpNumOutputs", [](Operation op) { return num_outputs(op.get()); }},
    {"te.OpInputTensors", [](Operation op) { return input_tensors(op.get()); }},
    {"te.Tensor",
     [](Array<PrimExpr> shape, DataType dtype, Operation op, int value_index) {
       TensorNode node;
       node.shape = shape;
       node.dtype = dtype;
       node.op = op;
       node.value_index = value_index;
       return Tensor(make(std::move(node)));
     }},
    {"tir.ProducerLoad",
     [](DataProducer producer, Array<PrimExpr> indices, Span span) {
       Tensor tensor = downcast_or_null<Tensor>(producer);
       if (!tensor)
         throw Error(TypeError) << "only a te.Tensor can be loaded from, not "
                                << (producer ? producer->type_key() : "None");
       PrimExpr element = load(tensor, indices);
       if (span) const_cast<PrimExprNode*>(element.get())->span = span;
       return element;
     }},
};

}  // namespace
}  // namespace tessera::te
