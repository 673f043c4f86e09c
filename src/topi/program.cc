#include "topi/program.h"

#include "ir/prim/ops.h"

namespace tessera::topi {

Array<te::Tensor> program(const String& name, const Array<te::Tensor>& inputs, const std::vector<Result>& results,
                          const std::function<Stmt(const Buffers& in, const Buffers& out)>& body) {
  Buffers in, out;
  for (const te::Tensor& input : inputs)
    in.push_back(decl_buffer(input->shape, input->dtype, te::tensor_name(input.get())));
  for (const Result& result : results) out.push_back(decl_buffer(result.shape, result.dtype, name));
  te::Operation op = te::extern_op(name, name, {}, inputs, Array<Buffer>(in), Array<Buffer>(out), body(in, out));
  Array<te::Tensor> tensors;
  for (size_t i = 0; i < results.size(); ++i) tensors.push_back(te::output(op, static_cast<int>(i)));
  return tensors;
}

Stmt store(const Buffer& buffer, PrimExpr value, Indices indices) {
  return make(BufferStore{.buffer = buffer, .value = cast(buffer->dtype, std::move(value)), .indices = indices});
}

Stmt when(PrimExpr condition, Stmt then_case, Stmt else_case) {
  IfThenElse node;
  node.condition = std::move(condition);
  node.then_case = std::move(then_case);
  node.else_case = std::move(else_case);
  return make(std::move(node));
}

Stmt loop(const PrimExpr& extent, const std::function<Stmt(const PrimExpr&)>& body, LoopKind kind) {
  For node;
  node.loop_var = make_var("i", extent.dtype());
  node.min = make_zero(extent.dtype());
  node.extent = extent;
  node.kind = kind;
  node.body = body(node.loop_var);
  return make(std::move(node));
}

Stmt loops(const Indices& shape, const std::function<Stmt(const Indices&)>& body, bool is_independent) {
  std::vector<Var> vars;
  for (size_t i = 0; i < shape.size(); ++i) vars.push_back(make_var("i" + std::to_string(i), shape[i].dtype()));
  Stmt stmt = body(Indices(vars.begin(), vars.end()));
  size_t outermost = 0;
  while (outermost < shape.size() && is_one(shape[outermost])) ++outermost;
  for (size_t i = shape.size(); i-- > 0;) {
    For node;
    node.loop_var = vars[i];
    node.min = make_zero(shape[i].dtype());
    node.extent = shape[i];
    node.kind = is_independent && i == outermost ? LoopKind::Parallel : LoopKind::Serial;
    node.body = stmt;
    stmt = make(std::move(node));
  }
  return stmt;
}

Stmt loop_while(PrimExpr condition, Stmt body) {
  return make(While{.condition = std::move(condition), .body = std::move(body)});
}

namespace {

Stmt allocated(DataType dtype, const PrimExpr& extent, const char* scope,
               const std::function<Stmt(const Buffer&)>& body) {
  Buffer memory = decl_buffer({extent}, dtype, "memory", scope);
  Allocate node;
  node.buffer_var = memory->data;
  node.dtype = dtype;
  node.extents = {extent};
  node.condition = bool_imm(true);
  node.body = body(memory);
  return make(std::move(node));
}

}  // namespace

Stmt with_memory(DataType dtype, int extent, const std::function<Stmt(const Buffer&)>& body) {
  return allocated(dtype, PrimExpr(extent), "local", body);
}

Stmt with_scratch(DataType dtype, const PrimExpr& extent, const std::function<Stmt(const Buffer&)>& body) {
  return allocated(dtype, extent, "global", body);
}

PackedArgument::PackedArgument(const Buffer& buffer) {
  PrimExpr shape = make_call(DataType::Handle(), "tir.tvm_stack_make_shape", buffer->shape);
  PrimExpr strides = buffer->strides.empty()
                         ? PrimExpr(0)
                         : make_call(DataType::Handle(), "tir.tvm_stack_make_shape", buffer->strides);
  value = make_call(DataType::Handle(), "tir.tvm_stack_make_array",
                    {buffer->data, shape, strides, PrimExpr(static_cast<int>(buffer->shape.size())),
                     make_zero(buffer->dtype), buffer->elem_offset});
}

Stmt call_function(const char* name, const std::vector<PackedArgument>& args) {
  Array<PrimExpr> values{string_imm(name)};
  for (const PackedArgument& arg : args) values.push_back(arg.value);
  return evaluate(make_call(DataType::Int(32), "tir.tvm_call_packed", values));
}

PrimExpr Cell::operator()() const { return make_load(memory_, {PrimExpr(index_)}); }
Stmt Cell::set(const PrimExpr& value) const { return store(memory_, value, {PrimExpr(index_)}); }
Stmt Cell::add(int amount) const { return set((*this)() + make_const(memory_->dtype, amount)); }

}  // namespace tessera::topi
