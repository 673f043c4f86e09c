// The function as callers see it: (values, type codes, count, return slot) in, its own parameters checked and unpacked.
//
// Before anything is read through an argument its kind is checked, so that a wrong argument is an error message and
// never a crash: count, type code, null, number of dimensions, element type, then shape, strides, offset and device.
// A symbolic dimension is defined by the first tensor that carries it and checked on the others.

#include "base/dtypes.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/target/target.h"
#include "tessera/c_api.h"
#include "tir/analysis/var_use.h"
#include "tir/attrs.h"
#include "tir/transform/function/arg_binder.h"
#include "tir/transform/function/require_target.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

Stmt check(const PrimExpr& condition, const std::string& message) {
  return make(AssertStmt{.condition = condition, .message = string_imm(message), .body = make_nop()});
}
Stmt attr_of(ObjectRef node, const char* key, PrimExpr value, Stmt body) {
  return make(AttrStmt{.node = std::move(node), .attr_key = key, .value = std::move(value), .body = std::move(body)});
}

/// `tir.ret(x)` stores x in the return slot and ends the function with code 0.
Stmt rewrite_returns(const Stmt& body, const Var& ret_value, const Var& ret_tcode) {
  return rewrite(body, [=](Rewriter& self, const Evaluate* op) -> Stmt {
    auto* call = op->value.as<Call>();
    if (!builtin::is(call, builtin::ret())) return self.children(op);
    PrimExpr value = call->args[0];
    DataType dtype = value.dtype();
    int code = dtype.is_integral() ? kTesseraInt : dtype.is_floating() ? kTesseraFloat : kTesseraHandle;
    if (dtype.is_integral()) value = cast(DataType::Int(64), value);
    if (dtype.is_floating()) value = cast(DataType::Float(64), value);
    BufferNode tcode;
    tcode.data = ret_tcode;
    tcode.dtype = kInt32;
    tcode.shape = {1};
    tcode.elem_offset = 0;
    tcode.name = ret_tcode->name;
    return sequence({
        struct_set(ret_value, 0, StructField::ValueContent, value),
        make(BufferStore{.buffer = make(std::move(tcode)), .value = code, .indices = {0}}),
        evaluate(make_call(kInt32, builtin::ret(), {0})),
    });
  });
}

class PackedApi {
 public:
  PackedApi(const PrimFunc& function, std::string name, int device_type)
      : function_(function), name_(std::move(name)), device_type_(device_type), binder_(&defs_) {}

  PrimFunc make_function() {
    int count = static_cast<int>(function_->params.size());
    checks_.push_back(check(equal(num_args_, count), name_ + ": num_args should be " + std::to_string(count)));
    type_codes_ = codes_buffer(count);
    for (int i = 0; i < count; ++i) read_argument(i);
    for (const auto& [buffer, handle] : tensors_)
      binder_.bind_dltensor(buffer, device_type_, device_id_, handle, handle->name.str());
    return finish();
  }

 private:
  Buffer codes_buffer(int count) {
    BufferNode node;
    node.data = arg_type_ids_;
    node.dtype = kInt32;
    node.shape = {count};
    node.elem_offset = 0;
    node.name = arg_type_ids_->name;
    return make(std::move(node));
  }

  PrimExpr slot(DataType dtype, int i) { return struct_get(dtype, args_, i, StructField::ValueContent); }

  Buffer buffer_of(const Var& param) {
    Buffer given = function_->preflattened_buffer_map.get_or_null(param);
    return given ? given : function_->buffer_map.get_or_null(param);
  }

  void read_argument(int i) {
    Var param = function_->params[i];
    Buffer buffer = buffer_of(param);
    std::string name = "arg." + (buffer ? buffer->name.str() : param->name.str());
    Var code = make_var(name + ".code", kInt32);
    PrimExpr load_code = make_load(type_codes_, {i});
    std::string where = name_ + ": Expect arg[" + std::to_string(i) + "] to be ";
    if (buffer || param->dtype.is_handle()) {
      Var handle = make_var(name, DataType::Handle());
      inits_.push_back(let(handle, slot(DataType::Handle(), i)));
      inits_.push_back(let(code, load_code));
      if (!buffer && is_data_pointer(param)) {
        checks_.push_back(check(code_is(code, {kTesseraHandle, kTesseraNull}), where + "a pointer to data"));
      } else {
        PrimExpr is_pointer = code_is(code, {kTesseraHandle, kTesseraNDArray, kTesseraDLTensor, kTesseraNull});
        checks_.push_back(check(is_pointer, where + "pointer"));
      }
      if (buffer) {
        PrimExpr is_null = make_call(DataType::Bool(), builtin::isnullptr(), {handle});
        checks_.push_back(check(logical_not(is_null), where + "a tensor (" + buffer->name.str() + "), got None"));
        tensors_.push_back({buffer, handle});
      }
      defs_[param.get()] = param;
      if (!buffer || uses_var(function_->body, param)) pointers_.push_back(let(param, handle));
    } else if (param->dtype.is_integral()) {
      inits_.push_back(let(code, load_code));
      checks_.push_back(check(equal(code, kTesseraInt), where + "int"));
      binder_.bind(param, cast(param->dtype, slot(DataType::Int(64), i)), name, true);
    } else {
      inits_.push_back(let(code, load_code));
      checks_.push_back(check(code_is(code, {kTesseraInt, kTesseraFloat}), where + "float"));
      PrimExpr from_int = cast(DataType::Float(64), slot(DataType::Int(64), i));
      PrimExpr value = if_then_else(equal(code, kTesseraInt), from_int, slot(DataType::Float(64), i));
      binder_.bind(param, cast(param->dtype, value), name, true);
    }
  }

  /// A pointer to elements; given a tensor, the function would take the tensor's description for its data.
  static bool is_data_pointer(const Var& param) {
    auto* pointer = param->type_annotation.as<PointerType>();
    auto* element = pointer ? pointer->element_type.as<PrimType>() : nullptr;
    return element && !element->dtype.is_void() && !element->dtype.is_handle();
  }

  static PrimExpr code_is(const Var& code, std::initializer_list<int> codes) {
    PrimExpr out;
    for (int wanted : codes) out = out ? logical_or(out, equal(code, wanted)) : equal(code, wanted);
    return out;
  }

  PrimFunc finish() {
    Stmt body = rewrite_returns(function_->body, ret_value_, ret_tcode_);
    body = attr_of(int_imm(kInt32, 0), attr::kComputeScope, string_imm(name_ + "_compute_"), body);
    if (defs_.count(device_id_.get())) {
      if (!is_const_int(device_type_, kDLCPU)) body = sequence({set_device(), body});
      body = merge_nest(binder_.asserts(), body);
      body = attr_of(String("default"), attr::kDeviceType, device_type_, body);
      body = attr_of(String("default"), attr::kDeviceId, device_id_, body);
    } else {
      body = merge_nest(binder_.asserts(), body);
    }
    body = merge_nest(pointers_, body);
    body = merge_nest(binder_.inits(), body);
    body = merge_nest(inits_, merge_nest({checks_.begin() + 1, checks_.end()}, body));
    body = merge_nest({checks_[0]}, body);

    std::vector<Var> params{args_, arg_type_ids_, num_args_, ret_value_, ret_tcode_, resource_handle_};
    for (const Var& var : find_var_use(body, params).undefined)
      throw Error(ValueError) << name_ << ": variable " << var->name
                              << " is used but not defined by any argument; pass it, or a tensor that carries it";
    PrimFuncNode out(*function_.get());
    out.params = params;
    out.body = body;
    out.buffer_map = {};
    out.preflattened_buffer_map = {};
    out.ret_type = prim_type(kInt32);
    out.attrs = out.attrs.with(attr::kCallingConv, int_imm(kInt32, static_cast<int>(CallingConv::CPackedFunc)));
    return make(std::move(out));
  }

  Stmt set_device() {
    return evaluate(
        make_call(kInt32, builtin::tvm_call_packed(), {string_imm("__tvm_set_device"), device_type_, device_id_}));
  }

  PrimFunc function_;
  std::string name_;
  PrimExpr device_type_;
  Var args_ = make_var("args", DataType::Handle());
  Var arg_type_ids_ = make_var("arg_type_ids", pointer_type(kInt32));
  Var num_args_ = make_var("num_args", kInt32);
  Var ret_value_ = make_var("out_ret_value", pointer_type(DataType::Void()));
  Var ret_tcode_ = make_var("out_ret_tcode", pointer_type(kInt32));
  Var resource_handle_ = make_var("resource_handle", DataType::Handle());
  Var device_id_ = make_var("dev_id", kInt32);
  Buffer type_codes_;
  std::vector<std::pair<Buffer, Var>> tensors_;
  std::unordered_map<const VarNode*, PrimExpr> defs_;
  ArgBinder binder_;
  std::vector<Stmt> inits_, checks_, pointers_;
};

}  // namespace

PrimFunc make_packed_api(const PrimFunc& function, int /*num_unpacked_params*/) {
  String name = downcast_or_null<String>(function->attrs.get_attr(attr::kGlobalSymbol));
  if (!name || function->attrs.get_int(attr::kCallingConv, 0) != 0) return function;
  return PackedApi(function, name.str(), require_target(function, "MakePackedAPI")->kind->default_device_type)
      .make_function();
}

/// Parameters stay C parameters; tensors become their data pointers.
PrimFunc make_unpacked_api(const PrimFunc& function) {
  String name = downcast_or_null<String>(function->attrs.get_attr(attr::kGlobalSymbol));
  if (!name || function->attrs.get_int(attr::kCallingConv, 0) != 0) return function;
  int device_type = require_target(function, "MakeUnpackedAPI")->kind->default_device_type;
  PrimFuncNode out(*function.get());
  out.params = {};
  Map<Var, Buffer> buffers;
  for (const Var& param : function->params) {
    Buffer buffer = function->buffer_map.get_or_null(param);
    Var pointer = buffer ? buffer->data : param;
    out.params.push_back(pointer);
    if (buffer) buffers.set(pointer, buffer);
  }
  out.buffer_map = buffers;
  out.preflattened_buffer_map = {};
  out.ret_type = prim_type(kInt32);
  Stmt body = function->body;
  body = attr_of(String("default"), attr::kDeviceType, int_imm(kInt32, device_type), body);
  out.body = attr_of(String("default"), attr::kDeviceId, int_imm(kInt32, 0), body);
  return make(std::move(out));
}

}  // namespace tessera
