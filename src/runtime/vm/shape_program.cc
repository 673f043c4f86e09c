#include "runtime/vm/shape_program.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/ndarray.h"

namespace tessera::vm {
namespace {

constexpr std::string_view kNames[kNumShapeOps] = {
    "const", "extent", "add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min",
    "max",   "eq",     "ne",  "lt",  "le",  "and",      "or",       "not",      "select"};

/// How many earlier steps an operation reads.
int arity(ShapeOp op) {
  switch (op) {
    case ShapeOp::Constant:
    case ShapeOp::Extent: return 0;
    case ShapeOp::Not: return 1;
    case ShapeOp::Select: return 3;
    default: return 2;
  }
}

/// Wraps around instead of being undefined; what comes of it is rejected where memory is asked for.
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

int64_t divide(ShapeOp op, int64_t a, int64_t b, const std::string& name) {
  if (b == 0) throw Error(ValueError) << "the shape of " << name << ": division by an extent of zero";
  if (b == -1) return op == ShapeOp::FloorDiv || op == ShapeOp::TruncDiv ? wrap(0 - static_cast<uint64_t>(a)) : 0;
  int64_t quotient = a / b, rest = a % b;
  bool rounds_down = rest != 0 && (rest < 0) != (b < 0);
  switch (op) {
    case ShapeOp::TruncDiv: return quotient;
    case ShapeOp::TruncMod: return rest;
    case ShapeOp::FloorDiv: return quotient - rounds_down;
    default: return rounds_down ? rest + b : rest;
  }
}

}  // namespace

std::string_view shape_op_name(ShapeOp op) { return kNames[static_cast<int>(op)]; }

std::string ShapeProgram::problem() const {
  for (size_t i = 0; i < steps.size(); ++i) {
    const ShapeStep& step = steps[i];
    if (static_cast<int>(step.op) >= kNumShapeOps) return "has an operation of no kind";
    if (step.op == ShapeOp::Extent && (step.a >= ranks.size() || step.b >= ranks[step.a]))
      return "reads an extent that is not there";
    int reads = arity(step.op);
    if ((reads > 0 && step.a >= i) || (reads > 1 && step.b >= i) || (reads > 2 && step.c >= i))
      return "reads a value that is not computed yet";
  }
  auto is_outside = [&](uint32_t step) { return step >= steps.size(); };
  if (std::any_of(result.begin(), result.end(), is_outside)) return "gives a value that is not computed";
  if (std::any_of(checks.begin(), checks.end(), [&](const ShapeCheck& check) { return is_outside(check.step); }))
    return "checks a value that is not computed";
  return "";
}

std::vector<int64_t> ShapeProgram::run(std::span<const DLTensor* const> args, std::vector<int64_t>& scratch) const {
  if (args.size() != ranks.size())
    throw Error(ValueError) << name << " takes " << ranks.size() << " tensors, " << args.size() << " are given";
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i]->ndim != static_cast<int>(ranks[i]))
      throw Error(ValueError) << name << ": argument " << i << " must have " << ranks[i] << " dimensions, but is "
                              << describe(args[i]);
  scratch.resize(steps.size());
  int64_t* value = scratch.data();
  for (size_t i = 0; i < steps.size(); ++i) {
    const ShapeStep& step = steps[i];
    auto a = [&] { return value[step.a]; };
    auto b = [&] { return value[step.b]; };
    auto ua = [&] { return static_cast<uint64_t>(value[step.a]); };
    auto ub = [&] { return static_cast<uint64_t>(value[step.b]); };
    switch (step.op) {
      case ShapeOp::Constant: value[i] = step.imm; break;
      case ShapeOp::Extent: value[i] = args[step.a]->shape[step.b]; break;
      case ShapeOp::Add: value[i] = wrap(ua() + ub()); break;
      case ShapeOp::Sub: value[i] = wrap(ua() - ub()); break;
      case ShapeOp::Mul: value[i] = wrap(ua() * ub()); break;
      case ShapeOp::FloorDiv:
      case ShapeOp::FloorMod:
      case ShapeOp::TruncDiv:
      case ShapeOp::TruncMod: value[i] = divide(step.op, a(), b(), name); break;
      case ShapeOp::Min: value[i] = std::min(a(), b()); break;
      case ShapeOp::Max: value[i] = std::max(a(), b()); break;
      case ShapeOp::EQ: value[i] = a() == b(); break;
      case ShapeOp::NE: value[i] = a() != b(); break;
      case ShapeOp::LT: value[i] = a() < b(); break;
      case ShapeOp::LE: value[i] = a() <= b(); break;
      case ShapeOp::And: value[i] = a() && b(); break;
      case ShapeOp::Or: value[i] = a() || b(); break;
      case ShapeOp::Not: value[i] = !a(); break;
      case ShapeOp::Select: value[i] = a() ? b() : value[step.c]; break;
    }
  }
  for (const ShapeCheck& check : checks) {
    if (value[check.step]) continue;
    Error error(ValueError);
    error << name << ": the shapes of the arguments do not fit together: " << check.message << " does not hold for";
    for (const DLTensor* arg : args) error << (arg == args[0] ? " " : ", ") << describe(arg);
    throw error;
  }
  std::vector<int64_t> out;
  for (uint32_t step : result) out.push_back(value[step]);
  return out;
}

}  // namespace tessera::vm
