#include "te/create_prim_func.h"

#include <algorithm>
#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/analysis/block_access.h"
#include "tir/attrs.h"
#include "tir/loops/reduction.h"

namespace tessera::te {
namespace {

class Creator {
 public:
  explicit Creator(const Array<Tensor>& args) {
    for (const Tensor& tensor : args) {
      if (!tensor) throw Error(ValueError) << "create_prim_func: an argument is missing (None)";
      if (buffers_.find(tensor.get()))
        throw Error(ValueError) << "create_prim_func: tensor " << tensor_name(tensor.get()) << " is given twice";
      Buffer buffer = decl_buffer(tensor->shape, tensor->dtype, tensor_name(tensor.get()), "global");
      buffers_[tensor] = buffer;
      Var param = make_var("var_" + tensor_name(tensor.get()), DataType::Handle());
      params_.push_back(param);
      buffer_map_.set(param, buffer);
      outputs_.push_back(tensor->op);
    }
  }

  PrimFunc operator()() {
    std::vector<Stmt> stmts;
    Array<Operation> operations = post_order_operations(outputs_);
    for (const Operation& op : operations)
      if (!op.as<PlaceholderOp>() && !op.as<ComputeOp>() && !op.as<ExternOp>())
        throw Error(TypeError) << "Unsupported Operation: " << op->type_key() << ". " << op->name
                               << " is neither a compute nor an extern operation, which alone are written as blocks";
    for (const Operation& op : operations) {
      if (op.as<PlaceholderOp>()) {
        check_given(output(op, 0));
      } else if (auto* compute = op.as<ComputeOp>()) {
        stmts.push_back(compute_nest(op, compute));
      } else {
        stmts.push_back(extern_block(op, op.as<ExternOp>()));
      }
    }
    PrimFunc function = make_prim_func(params_, root_of(sequence(stmts)), buffer_map_);
    function = with_attr(function, attr::kGlobalSymbol, String("main"));
    function = with_attr(function, attr::kNoAlias, bool_imm(true));
    if (!layout_free_.empty()) function = with_attr(function, "layout_free_buffers", layout_free_);
    return function;
  }

 private:
  void check_given(const Tensor& tensor) {
    if (!buffers_.find(tensor.get()))
      throw Error(ValueError) << "create_prim_func: the placeholder " << tensor_name(tensor.get())
                              << " is read but not among the arguments";
  }

  /// A single block without axes is the root itself.
  Stmt root_of(const Stmt& body) {
    auto* realize = body.as<BlockRealize>();
    if (realize && realize->block->iter_vars.empty() && allocated_.empty()) return body;
    BlockNode root;
    root.name_hint = "root";
    root.body = body;
    root.alloc_buffers = allocated_;
    return make(BlockRealize{.predicate = bool_imm(true), .block = make(std::move(root))});
  }

  Buffer output_buffer(const Operation& op, int i) {
    Tensor tensor = output(op, i);
    if (Buffer* known = buffers_.find(tensor.get())) return *known;
    Buffer buffer = decl_buffer(tensor->shape, tensor->dtype, tensor_name(tensor.get()), "global");
    buffers_[tensor] = buffer;
    allocated_.push_back(buffer);
    return buffer;
  }

  std::string unique_name(const String& wanted) {
    std::string base = wanted.str();
    std::replace(base.begin(), base.end(), '.', '_');
    std::string name = base;
    for (int i = 1; !names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    return name;
  }

  template <class R>
  R over_buffers(const R& node, const Map<Var, PrimExpr>& axes) {
    return rewrite(
        node,
        [&](const VarNode* var) -> PrimExpr {
          PrimExpr value = axes.get_or_null(Var(var));
          return value ? value : PrimExpr(var);
        },
        [&](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
          auto inner = self.children(load);
          Buffer* buffer = buffers_.find(downcast<Tensor>(load->producer).get());
          ICHECK(buffer) << "operations come after those they read";
          return make_load(*buffer, inner->indices);
        });
  }

  /// The loops of a compute and its block in them: one for all values of a reduction, else one for each value.
  Stmt compute_nest(const Operation& op, const ComputeOp* compute) {
    std::vector<Buffer> outputs;
    for (size_t i = 0; i < compute->body.size(); ++i) outputs.push_back(output_buffer(op, static_cast<int>(i)));
    std::vector<Var> loops;
    std::vector<Stmt> blocks;
    if (compute->body[0].as<Reduce>()) {
      blocks.push_back(compute_block(op, compute, outputs, 0, op->name, &loops));
    } else {
      for (size_t i = 0; i < outputs.size(); ++i)
        blocks.push_back(compute_block(op, compute, {outputs[i]}, i, tensor_name(output(op, i).get()), &loops));
    }
    Stmt stmt = sequence(blocks);
    Array<IterVar> all = compute->axis;
    for (const IterVar& iv : compute->reduce_axis) all.push_back(iv);
    Map<Var, PrimExpr> loop_of;
    for (size_t i = 0; i < loops.size(); ++i) loop_of.set(all[i]->var, loops[i]);
    for (size_t i = loops.size(); i-- > 0;) {
      For loop;
      loop.loop_var = loops[i];
      loop.min = substitute(all[i]->dom->min, loop_of);
      loop.extent = substitute(all[i]->dom->extent, loop_of);
      loop.body = stmt;
      stmt = make(std::move(loop));
    }
    return stmt;
  }

  /// `loops` are made by the first block of a compute and shared by the others.
  Stmt compute_block(const Operation& op, const ComputeOp* compute, const std::vector<Buffer>& outputs, size_t first,
                     const String& name, std::vector<Var>* loops) {
    BlockNode block;
    block.name_hint = unique_name(name);
    Map<Var, PrimExpr> axes;
    Array<PrimExpr> indices, iter_values;
    auto add_axis = [&](const IterVar& iv, IterType type) {
      DataType dtype = iv->dom->extent.dtype();
      Var var = make_var(iv->var->name, dtype);
      Range domain = make_range(substitute(iv->dom->min, axes), substitute(iv->dom->extent, axes));
      size_t depth = iter_values.size();
      if (depth == loops->size()) loops->push_back(make_var("i" + std::to_string(depth), dtype));
      block.iter_vars.push_back(make_iter_var(domain, var, type));
      axes.set(iv->var, cast(iv->var->dtype, var));
      iter_values.push_back((*loops)[depth]);
      if (type == IterType::DataPar) indices.push_back(var);
    };
    for (const IterVar& iv : compute->axis) add_axis(iv, IterType::DataPar);
    bool is_empty = false;  // a reduction over nothing is its start, which no loop would reach
    for (const IterVar& iv : compute->reduce_axis) is_empty = is_empty || is_zero(iv->dom->extent);
    if (!is_empty)
      for (const IterVar& iv : compute->reduce_axis) add_axis(iv, IterType::CommReduce);
    if (iter_values.empty()) {
      block.iter_vars.push_back(make_iter_var(make_range(0, 1), make_var("vi"), IterType::DataPar));
      iter_values.push_back(0);
    }
    auto* reduce = compute->body[0].as<Reduce>();
    if (reduce && is_empty) fill_start(&block, reduce, outputs, indices, axes);
    else if (reduce) fill_reduction(&block, reduce, outputs, indices, axes);
    else fill_plain(&block, compute->body[first], outputs[0], indices, axes);
    for (const auto& [key, value] : op->attrs) {
      if (key == "layout_free_placeholders") note_layout_free(value);
      else block.annotations.set(key, value);
    }
    BlockAccess access = block_access(make(BlockNode(block)).get(), [&](const Var& pointer) {
      for (const auto& [tensor, buffer] : buffers_)
        if (buffer->data.same_as(pointer)) return buffer;
      return Buffer();
    });
    block.reads = access.reads;
    block.writes = access.writes;
    return make(BlockRealize{.iter_values = iter_values, .predicate = bool_imm(true), .block = make(std::move(block))});
  }

  void fill_plain(BlockNode* block, const PrimExpr& body, const Buffer& out, const Array<PrimExpr>& indices,
                  const Map<Var, PrimExpr>& axes) {
    PrimExpr value = analyzer_.simplify(over_buffers(body, axes));
    block->body = make(BufferStore{.buffer = out, .value = value, .indices = indices});
  }

  void fill_start(BlockNode* block, const Reduce* reduce, const std::vector<Buffer>& outputs,
                  const Array<PrimExpr>& indices, const Map<Var, PrimExpr>& axes) {
    std::vector<Stmt> stores;
    Array<PrimExpr> start = loops::reduction_start(reduce);
    for (size_t i = 0; i < outputs.size(); ++i)
      stores.push_back(
          make(BufferStore{.buffer = outputs[i], .value = over_buffers(start[i], axes), .indices = indices}));
    block->body = sequence(stores);
  }

  void fill_reduction(BlockNode* block, const Reduce* reduce, const std::vector<Buffer>& outputs,
                      const Array<PrimExpr>& indices, const Map<Var, PrimExpr>& axes) {
    Array<PrimExpr> current, start = loops::reduction_start(reduce);
    std::vector<Stmt> inits, stores;
    auto store = [&](size_t i, PrimExpr value) -> Stmt {
      return make(BufferStore{.buffer = outputs[i], .value = std::move(value), .indices = indices});
    };
    for (size_t i = 0; i < outputs.size(); ++i) {
      current.push_back(make_load(outputs[i], indices));
      inits.push_back(store(i, over_buffers(start[i], axes)));
    }
    block->init = sequence(inits);
    Reduce placed(*reduce);
    placed.source = over_buffers(reduce->source, axes);
    Array<PrimExpr> values = loops::reduction_step(&placed, current);
    if (outputs.size() == 1) {
      block->body = store(0, values[0]);
    } else {
      std::vector<Var> held;
      for (size_t i = 0; i < outputs.size(); ++i) {
        held.push_back(make_var("v_" + outputs[i]->name.str(), outputs[i]->dtype));
        stores.push_back(store(i, held[i]));
      }
      block->body = sequence(stores);
      for (size_t i = held.size(); i-- > 0;)
        block->body = make(LetStmt{.var = held[i], .value = values[i], .body = block->body});
    }
    if (!is_one(reduce->condition))
      block->body = make(IfThenElse{.condition = over_buffers(reduce->condition, axes), .then_case = block->body});
  }

  Stmt extern_block(const Operation& op, const ExternOp* extern_op) {
    std::unordered_map<const BufferNode*, Buffer> real;
    Map<Var, PrimExpr> pointers;
    BlockNode block;
    block.name_hint = unique_name(op->name);
    auto stand_in = [&](const Buffer& view, const Buffer& buffer, Array<BufferRegion>* regions) {
      real[view.get()] = buffer;
      pointers.set(view->data, buffer->data);
      Array<Range> whole;
      for (const PrimExpr& extent : buffer->shape) whole.push_back(make_range(make_zero(extent.dtype()), extent));
      regions->push_back(make(BufferRegionNode{.buffer = buffer, .region = whole}));
    };
    for (size_t i = 0; i < extern_op->inputs.size(); ++i)
      stand_in(extern_op->input_placeholders[i], *buffers_.find(extern_op->inputs[i].get()), &block.reads);
    for (size_t i = 0; i < extern_op->output_placeholders.size(); ++i)
      stand_in(extern_op->output_placeholders[i], output_buffer(op, static_cast<int>(i)), &block.writes);
    auto buffer_for = [&](const Buffer& view) {
      auto it = real.find(view.get());
      if (it != real.end()) return it->second;
      PrimExpr pointer = pointers.get_or_null(view->data);  // another view of the same memory
      if (!pointer) return view;
      return real[view.get()] = with(view, &BufferNode::data, downcast<Var>(pointer));
    };
    block.body = rewrite(
        extern_op->body,
        [&](const VarNode* var) -> PrimExpr {
          PrimExpr pointer = pointers.get_or_null(Var(var));
          return pointer ? pointer : PrimExpr(var);
        },
        [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
          return with(self.children(load), &BufferLoad::buffer, buffer_for(load->buffer));
        },
        [&](Rewriter& self, const BufferStore* store) -> Stmt {
          return with(self.children(store), &BufferStore::buffer, buffer_for(store->buffer));
        },
        [&](Rewriter& self, const BufferRegionNode* region) -> BufferRegion {
          return with(self.children(region), &BufferRegionNode::buffer, buffer_for(region->buffer));
        });
    return make(BlockRealize{.predicate = bool_imm(true), .block = make(std::move(block))});
  }

  void note_layout_free(const ObjectRef& tensors) {
    for (const Tensor& tensor : downcast<Array<Tensor>>(tensors))
      for (size_t i = 0; i < params_.size(); ++i)
        if (Buffer* buffer = buffers_.find(tensor.get()); buffer && buffer_map_[params_[i]].same_as(*buffer))
          layout_free_.push_back(static_cast<int>(i));
  }

  TensorMap<Buffer> buffers_;
  Array<Var> params_;
  Map<Var, Buffer> buffer_map_;
  Array<Operation> outputs_;
  Array<Buffer> allocated_;
  Array<PrimExpr> layout_free_;
  std::unordered_set<std::string> names_;
  arith::Analyzer analyzer_;
};

}  // namespace

PrimFunc create_prim_func(const Array<Tensor>& args) { return Creator(args)(); }

namespace {
Globals create_prim_func_globals{{"te.CreatePrimFunc", create_prim_func}};
}  // namespace

}  // namespace tessera::te
