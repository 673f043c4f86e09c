// Operators that name memory (memory.*), that a virtual machine runs as they are (vm.*), and leftovers of annotations.

#include "relay/attrs/memory.h"
#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"
#include "relay/expr.h"
#include "runtime/function/element.h"
#include "topi/elementwise.h"
#include "topi/program.h"

namespace tessera::op {
namespace {

using relay::AllocStorageAttrs;
using relay::AllocTensorAttrs;
using relay::CallLoweredAttrs;
using relay::DebugAttrs;
using relay::MetaRefAttrs;
using relay::ReshapeTensorAttrs;
using relay::ShapeOfAttrs;
register_types<AllocStorageAttrs, AllocTensorAttrs, CallLoweredAttrs, relay::CastHintAttrs, DebugAttrs, MetaRefAttrs,
               ReshapeTensorAttrs>
    memory_types;

/// The type of memory: the name Storage, which stands for itself in every module.
Type storage_type() {
  static const Type type = [] {
    GlobalTypeVarNode name;
    name.name_hint = "Storage";
    TypeCall call;
    call.func = make(std::move(name));
    return Type(make(std::move(call)));
  }();
  return type;
}

bool has_known_types(const TypeQuery& query) {
  for (int i = 0; i < query.size(); ++i)
    if (!query.is_known(i)) return false;
  return true;
}

bool gives_nothing(TypeQuery& query) {
  if (!has_known_types(query)) return false;
  query.result(tuple_type({}));
  return true;
}

bool gives_input(TypeQuery& query) {
  if (!query.is_known(0)) return false;
  query.result(query.type(0));
  return true;
}

/// What the function gives for the arguments, which it must take.
bool call_lowered_type(TypeQuery& query) {
  if (!has_known_types(query)) return false;
  auto* function = query.type(0).as<FuncType>();
  auto* args = query.type(1).as<TupleType>();
  if (!function || !args) throw Error(TypeError) << "call_lowered takes a function and a tuple of its arguments";
  if (function->arg_types.size() != args->fields_.size())
    throw Error(TypeError) << "call_lowered: the function takes " << function->arg_types.size() << " arguments, "
                           << args->fields_.size() << " are given";
  query.result(function->ret_type);
  return true;
}

bool alloc_storage_type(TypeQuery& query) {
  if (!query.tensor(0) || !query.tensor(1)) return false;
  query.attrs_as<AllocStorageAttrs>();
  require_integers(query, 0, "size");
  require_integers(query, 1, "alignment");
  query.result(storage_type());
  return true;
}

bool alloc_tensor_type(TypeQuery& query) {
  if (!has_known_types(query)) return false;
  auto* attrs = query.attrs_as<AllocTensorAttrs>();
  Array<PrimExpr> shape;
  if (auto* constant = attrs->const_shape.as<relay::Constant>()) {
    NDArray numbers = constant->data.copy_to(cpu());
    for (int64_t i = 0; i < numbers.size(); ++i)
      shape.push_back(PrimExpr(static_cast<int>(
          read_int(numbers.dtype(), numbers.data<char>() + i * static_cast<int64_t>(numbers.dtype().bytes())))));
  } else if (attrs->assert_shape.defined()) {
    shape = attrs->assert_shape;
  } else {
    throw Error(TypeError) << "const_shape or assert_shape must say the shape of the tensor";
  }
  query.result(TensorType(shape, attrs->dtype));
  return true;
}

bool shape_of_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  query.result(TensorType({PrimExpr(rank_of(data))}, query.attrs_as<ShapeOfAttrs>()->dtype));
  return true;
}

bool reshape_tensor_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  query.result(TensorType(query.attrs_as<ReshapeTensorAttrs>()->newshape, data->dtype));
  return true;
}

/// The tensors themselves; the function is called with each of them first.
Tensors debug(const Attrs& attrs, const Tensors& in, const Type&) {
  std::string name = attrs.as<DebugAttrs>()->debug_func.str();
  Tensors out;
  for (const te::Tensor& tensor : in)
    out.push_back(topi::program(
        "debug", {tensor}, {{tensor->shape, tensor->dtype}}, [&](const topi::Buffers& from, const topi::Buffers& to) {
          Stmt copy = topi::loops(
              tensor->shape, [&](const Array<PrimExpr>& at) { return topi::store(to[0], make_load(from[0], at), at); });
          return sequence({topi::call_function(name.c_str(), {from[0]}), copy});
        })[0]);
  return out;
}

Tensors first_input(const Attrs&, const Tensors& in, const Type&) { return {topi::identity(in[0])}; }

}  // namespace

static void memory_records() {
  OpRecord("memory.alloc_storage")
      .doc("A piece of memory.")
      .attrs<AllocStorageAttrs>()
      .input("size", "its bytes")
      .input("alignment", "what its address is a multiple of")
      .support_level(10)
      .type("AllocStorage", alloc_storage_type)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .noncomputational();
  OpRecord("memory.alloc_tensor")
      .doc("A tensor in a piece of memory.")
      .attrs<AllocTensorAttrs>()
      .input("storage", "the memory", "Storage")
      .input("offset", "where the tensor begins")
      .input("shape", "its shape")
      .support_level(10)
      .type("AllocTensor", alloc_tensor_type)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .noncomputational();
  OpRecord("memory.kill")
      .doc("The value is not used any more.")
      .input("to_free", "the value", "Variable")
      .support_level(10)
      .type("Kill", gives_nothing)
      .fusion(Fusion::Opaque)
      .stateful(true)
      .noncomputational();
  OpRecord("vm.shape_of")
      .doc("The extents of a tensor at run time.")
      .attrs<ShapeOfAttrs>()
      .input("tensor", "the tensor")
      .support_level(10)
      .type("ShapeOf", shape_of_type)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .noncomputational();
  OpRecord("vm.invoke_tvm_op")
      .doc("Calls a compiled function, which writes its results into tensors that are given.")
      .input("op", "the function", "Function")
      .input("ins", "its inputs", "Tuple")
      .input("outs", "where its results go", "Tuple")
      .attrs<DictAttrsNode>()
      .support_level(10)
      .type("InvokeTVMOp", gives_nothing)
      .fusion(Fusion::Opaque)
      .stateful(true)
      .noncomputational();
  OpRecord("vm.reshape_tensor")
      .doc("The same memory under another shape.")
      .attrs<ReshapeTensorAttrs>()
      .input("data", "the tensor")
      .input("shape", "the shape")
      .support_level(10)
      .type("ReshapeTensor", reshape_tensor_type)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .noncomputational();
  OpRecord("debug")
      .doc("The input itself; a function is called with it when the program runs.")
      .attrs<DebugAttrs>()
      .input("program", "the input", "Tuple")
      .support_level(1)
      .type("Debug", gives_input)
      .fusion(Fusion::Opaque)
      .strategy_name("")
      .compute(debug);
  auto marker_record = [](const char* name) {
    return OpRecord(name)
        .doc("The input itself, marked for a pass.")
        .input("data", "the input")
        .support_level(10)
        .type("Identity", gives_input)
        .fusion(Fusion::Opaque)
        .compute(first_input)
        .stateful(false);
  };
  marker_record("annotation.cast_hint");
  marker_record("annotation.bitpack_start").strategy_name("");
  marker_record("annotation.bitpack_end").strategy_name("");
  OpRecord("annotation.with_funcid")
      .doc("The function itself, which partial evaluation knows by a number.")
      .input("func", "the function", "Function")
      .support_level(10)
      .type("Identity", gives_input)
      .noncomputational();
  OpRecord("call_lowered")
      .doc("Calls a function that was lowered, with arguments as a tuple.")
      .attrs<CallLoweredAttrs>()
      .input("func", "the function", "Function")
      .input("call_args", "its arguments", "Tuple")
      .support_level(10)
      .type("CallLowered", call_lowered_type)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .noncomputational();
  OpRecord("parser.MetaRef")
      .doc("An object beside a program's text, by its type and number, while the text is read.")
      .attrs<MetaRefAttrs>()
      .support_level(10)
      .stateful(false)
      .noncomputational();
}

[[gnu::init_priority(kFamilies)]] static const OpFamily memory_family{memory_records};

}  // namespace tessera::op
