// Real functions that reach code generation: instructions where there is one, else the C library, lane by lane.
// (exp, log, tanh and their like have become polynomials before, see codegen/intrin_rules; angles.cc has sin, cos and tan,
// power.cc the pow of float64, exponent.cc products with powers of two.)

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

using llvm::Intrinsic::ID;

const std::unordered_map<std::string_view, ID>& instructions() {
  static const std::unordered_map<std::string_view, ID> table = {
      {"sqrt", llvm::Intrinsic::sqrt},   {"fabs", llvm::Intrinsic::fabs},
      {"floor", llvm::Intrinsic::floor}, {"ceil", llvm::Intrinsic::ceil},
      {"trunc", llvm::Intrinsic::trunc}, {"nearbyint", llvm::Intrinsic::nearbyint},
      {"round", llvm::Intrinsic::round}, {"copysign", llvm::Intrinsic::copysign},
      {"fma", llvm::Intrinsic::fma},
  };
  return table;
}

const std::unordered_set<std::string_view>& library_functions() {
  static const std::unordered_set<std::string_view> names = {
      "exp",  "exp2", "exp10", "log",  "log2",  "log10", "log1p", "erf", "sin",  "cos",   "tan",       "sinh",  "cosh",
      "tanh", "asin", "acos",  "atan", "asinh", "acosh", "atanh", "pow", "fmod", "atan2", "nextafter", "hypot",
  };
  return names;
}

}  // namespace

/// The call's value, or null when the operator is no real function.
llvm::Value* CodeGen::math(const Call* op) {
  std::string_view name = op->op.as<OpNode>()->name;
  name.remove_prefix(std::min(name.size(), name.rfind('.') + 1));
  auto instruction = instructions().find(name);
  bool is_known = instruction != instructions().end() || library_functions().count(name) || name == "sigmoid" ||
                  name == "rsqrt" || name == "ldexp" || name == "times_power_of_two";
  if (!is_known) return nullptr;

  DataType dtype = op->dtype;
  if (dtype.is_integral() && name == "fabs") {
    Value* value = emit(op->args[0]);
    return dtype.is_uint() ? value : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, builder_.getFalse());
  }
  if (dtype.is_integral() && op->args.size() == 1 && instruction != instructions().end() && name != "sqrt")
    return cast(emit(op->args[0]), op->args[0].dtype(), dtype);  // an integer is round already
  if (!dtype.is_floating()) throw Error(TypeError) << name << " of " << dtype << "; it takes floats: " << PrimExpr(op);

  // Half-precision types compute in float32.
  bool is_narrow = dtype.bits == 16;
  DataType work = is_narrow ? DataType::Float(32, dtype.lanes) : dtype;
  Values args;
  std::vector<DataType> types;
  for (const PrimExpr& arg : op->args) {
    DataType type = arg.dtype().is_floating() ? work : arg.dtype();
    args.push_back(cast(emit(arg), arg.dtype(), type));
    types.push_back(type);
  }
  Value* out = nullptr;
  llvm::Constant* one = llvm::ConstantFP::get(value_type(work), 1.0);
  if (instruction != instructions().end()) {
    out = builder_.CreateIntrinsic(instruction->second, {value_type(work)}, args);
  } else if (name == "rsqrt") {
    out = builder_.CreateFDiv(one, builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, args[0]));
  } else if (name == "sigmoid") {
    Value* decay = scalar_math_call("exp", work, {builder_.CreateFNeg(args[0])}, types);
    out = builder_.CreateFDiv(one, builder_.CreateFAdd(one, decay));
  } else if (name == "sin" || name == "cos" || name == "tan") {
    out = trigonometric(args[0], work, name == "sin" ? Angle::Sine : name == "cos" ? Angle::Cosine : Angle::Tangent);
  } else if (name == "pow" && work.bits == 64) {
    out = power(args[0], args[1], work);
  } else if (name == "times_power_of_two") {
    out = times_power_of_two(args[0], args[1], work);
  } else if (name == "ldexp") {
    DataType exponent = DataType::Int(32, work.lanes);
    args[1] = cast(args[1], types[1], exponent);
    out = scalar_math_call("ldexp", work, args, {work, exponent});
  } else {
    out = scalar_math_call(std::string(name), work, args, types);
  }
  return cast(out, work, dtype);
}

/// Calls the C library's function `name` (its float form where needed) on each lane.
llvm::Value* CodeGen::scalar_math_call(const std::string& name, DataType dtype, const Values& args,
                                       const std::vector<DataType>& types) {
  if (dtype.bits == 16) {
    DataType wide = DataType::Float(32, dtype.lanes);
    Values converted;
    std::vector<DataType> converted_types;
    for (size_t i = 0; i < args.size(); ++i) {
      DataType type = types[i].is_floating() ? wide : types[i];
      converted.push_back(cast(args[i], types[i], type));
      converted_types.push_back(type);
    }
    return cast(scalar_math_call(name, wide, converted, converted_types), wide, dtype);
  }
  std::vector<llvm::Type*> scalars;
  for (size_t i = 0; i < args.size(); ++i) scalars.push_back(value_type(types[i].element()));
  auto* type = llvm::FunctionType::get(value_type(dtype.element()), scalars, false);
  std::string symbol = dtype.bits == 32 ? name + "f" : name;
  llvm::FunctionCallee callee = module_->getOrInsertFunction(symbol, type);
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();  // nobody looks at errno
    function->setWillReturn();
  }
  if (dtype.lanes == 1) return builder_.CreateCall(callee, args);
  Value* out = llvm::PoisonValue::get(value_type(dtype));
  for (uint64_t lane = 0; lane < dtype.lanes; ++lane) {
    Values lane_args;
    for (Value* arg : args) lane_args.push_back(builder_.CreateExtractElement(arg, lane));
    out = builder_.CreateInsertElement(out, builder_.CreateCall(callee, lane_args), lane);
  }
  return out;
}

}  // namespace tessera::codegen
