#pragma once
// Tensors and the operations that produce them: the graph a tensor program is written as.

#include <functional>
#include <unordered_map>
#include <vector>

#include "tir/stmt.h"

namespace tessera::te {

/// Produces one or more tensors. Two operations are the same only by identity.
struct OperationNode : Object {
  String name, tag;
  Map<String, ObjectRef> attrs;
  static constexpr NodeInfo info{"Operation", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("name", &OperationNode::name);
    f("tag", &OperationNode::tag);
    f("attrs", &OperationNode::attrs, Opaque);
  }
};
using Operation = Ref<OperationNode>;

/// Output `value_index` of `op`. Several objects may stand for one tensor: compare with `same_tensor`.
struct TensorNode : DataProducerNode {
  Array<PrimExpr> shape;
  DataType dtype;
  Operation op;
  int32_t value_index = 0;
  static constexpr NodeInfo info{"Tensor", &DataProducerNode::info, Role::Tree};
  static void fields(auto f) {
    f("shape", &TensorNode::shape);
    f("dtype", &TensorNode::dtype);
    f("op", &TensorNode::op);
    f("value_index", &TensorNode::value_index);
  }
};
using Tensor = Ref<TensorNode>;

inline bool same_tensor(const TensorNode* a, const TensorNode* b) {
  return a->op.same_as(b->op) && a->value_index == b->value_index;
}

/// Tensors by meaning, in the order they were added.
template <class V>
class TensorMap {
 public:
  V* find(const TensorNode* tensor) {
    auto it = index_.find({tensor->op.get(), tensor->value_index});
    return it == index_.end() ? nullptr : &entries_[it->second].second;
  }
  const V* find(const TensorNode* tensor) const { return const_cast<TensorMap*>(this)->find(tensor); }
  V& operator[](const Tensor& tensor) {
    auto [it, is_new] = index_.try_emplace({tensor->op.get(), tensor->value_index}, entries_.size());
    if (is_new) entries_.emplace_back(tensor, V());
    return entries_[it->second].second;
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }

 private:
  struct Hash {
    size_t operator()(const std::pair<const Object*, int>& key) const {
      return std::hash<const void*>()(key.first) * 31 + static_cast<size_t>(key.second);
    }
  };
  std::unordered_map<std::pair<const Object*, int>, size_t, Hash> index_;
  std::vector<std::pair<Tensor, V>> entries_;
};

/// A tensor given from outside.
struct PlaceholderOp : OperationNode {
  Array<PrimExpr> shape;
  DataType dtype;
  static constexpr NodeInfo info{"PlaceholderOp", &OperationNode::info, Role::Identity};
  static void fields(auto f) {
    f("shape", &PlaceholderOp::shape);
    f("dtype", &PlaceholderOp::dtype);
  }
};

/// One element of each output per point of `axis`. A body that reduces is a Reduce at the top, and then all bodies are
/// components of that one reduction over `reduce_axis`.
struct ComputeOp : OperationNode {
  Array<IterVar> axis, reduce_axis;
  Array<PrimExpr> body;
  static constexpr NodeInfo info{"ComputeOp", &OperationNode::info, Role::Identity};
  static void fields(auto f) {
    f("axis", &ComputeOp::axis);
    f("reduce_axis", &ComputeOp::reduce_axis);
    f("body", &ComputeOp::body);
  }
};

/// A sequential recurrence: rows of `init` begin the state, then `update` gives row t of it from earlier rows, which it
/// reads through `state_placeholder`. Output i is the whole state i.
struct ScanOp : OperationNode {
  IterVar scan_axis;
  Array<Tensor> init, update, state_placeholder, inputs;
  Array<IterVar> spatial_axis_;  // the other axes of all outputs, one after another
  static constexpr NodeInfo info{"ScanOp", &OperationNode::info, Role::Identity};
  static void fields(auto f) {
    f("scan_axis", &ScanOp::scan_axis);
    f("init", &ScanOp::init);
    f("update", &ScanOp::update);
    f("state_placeholder", &ScanOp::state_placeholder);
    f("inputs", &ScanOp::inputs);
    f("spatial_axis_", &ScanOp::spatial_axis_);
  }
};

/// A statement of the user's own, written over the placeholder buffers.
struct ExternOp : OperationNode {
  Array<Tensor> inputs;
  Array<Buffer> input_placeholders, output_placeholders;
  Stmt body;
  static constexpr NodeInfo info{"ExternOp", &OperationNode::info, Role::Identity};
  static void fields(auto f) {
    f("inputs", &ExternOp::inputs);
    f("input_placeholders", &ExternOp::input_placeholders);
    f("output_placeholders", &ExternOp::output_placeholders);
    f("body", &ExternOp::body);
  }
};

/// A statement over tensors that keeps its own loops; `axis` lists them.
struct HybridOp : OperationNode {
  Array<Tensor> inputs, outputs;
  Array<IterVar> axis;
  Stmt body;
  static constexpr NodeInfo info{"HybridOp", &OperationNode::info, Role::Identity};
  static void fields(auto f) {
    f("inputs", &HybridOp::inputs);
    f("outputs", &HybridOp::outputs);
    f("axis", &HybridOp::axis);
    f("body", &HybridOp::body);
  }
};

// ---- making ------------------------------------------------------------------------------------------------

Tensor placeholder(Array<PrimExpr> shape, DataType dtype = DataType::Float(32), String name = "placeholder");

/// The operation over `axis` with these bodies; checks where reductions stand and that they agree.
Operation compute_op(String name, String tag, Map<String, ObjectRef> attrs, Array<IterVar> axis, Array<PrimExpr> body);

/// One or several tensors of `shape` whose axes are named ax0, ax1, ...
Tensor compute(Array<PrimExpr> shape, const std::function<PrimExpr(const Array<PrimExpr>&)>& body,
               String name = "tensor", String tag = "");
Array<Tensor> compute_many(Array<PrimExpr> shape, const std::function<Array<PrimExpr>(const Array<PrimExpr>&)>& body,
                           String name = "tensor", String tag = "");

Operation scan_op(String name, String tag, Map<String, ObjectRef> attrs, IterVar axis, Array<Tensor> init,
                  Array<Tensor> update, Array<Tensor> state_placeholder, Array<Tensor> inputs);

Operation extern_op(String name, String tag, Map<String, ObjectRef> attrs, Array<Tensor> inputs,
                    Array<Buffer> input_placeholders, Array<Buffer> output_placeholders, Stmt body);

IterVar reduce_axis(Range domain, String name = "rv");
IterVar thread_axis(Range domain, String tag);

/// Element `indices` of `tensor`, one index per dimension.
PrimExpr load(const Tensor& tensor, Array<PrimExpr> indices);

// ---- asking ------------------------------------------------------------------------------------------------

int num_outputs(const OperationNode* op);
Tensor output(const Operation& op, int index);
/// The axes the operation is defined over, before any scheduling.
Array<IterVar> root_iter_vars(const OperationNode* op);
/// Tensors read, each once, in the order of first use.
Array<Tensor> input_tensors(const OperationNode* op);
const Reduce* as_reduction(const OperationNode* op);  // the body of a reducing ComputeOp, or null

/// A name for messages and buffers: the operation's, with ".v<i>" where it has several outputs.
std::string tensor_name(const TensorNode* tensor);

// ---- changing ----------------------------------------------------------------------------------------------

/// What to put in place of a tensor read; empty to leave it.
using ReplaceTensor = std::function<Tensor(const Tensor&)>;

/// The operation with other inputs; itself when nothing changes.
Operation replace_inputs(const Operation& op, const ReplaceTensor& replace);
/// A compute operation with other bodies, over the same axes.
Operation with_body(const ComputeOp* op, Array<PrimExpr> body);

/// The bodies after `change`; components of one reduction stay so.
Array<PrimExpr> rewrite_compute_bodies(const ComputeOp* op, const std::function<PrimExpr(const PrimExpr&)>& change);

/// Operations from inputs to outputs, each after those it reads.
Array<Operation> post_order_operations(const Array<Operation>& outputs);

}  // namespace tessera::te
