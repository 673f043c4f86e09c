#include "tir/interpret.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "ir/prim/match.h"
#include "ir/prim/ops.h"
#include "runtime/index_error.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"
#include "tir/attrs.h"

namespace tessera {
namespace {

/// A scalar; integers and booleans are in `i`, floats in `f`.
struct Scalar {
  int64_t i = 0;
  double f = 0;
};

/// The memory of one buffer: a rectangle of elements at `base` + strides, and which of them hold something.
struct Memory {
  DataType dtype;
  std::vector<int64_t> min, extent, stride;
  char* base = nullptr;
  std::vector<char> own;
  std::vector<bool> written;  // empty for arguments
};

class Interpreter {
 public:
  void call(const PrimFunc& function, std::span<const Any> arguments) {
    if (arguments.size() != function->params.size())
      throw Error(TypeError) << "the function takes " << function->params.size() << " arguments, not "
                             << arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
      Var param = function->params[i];
      Buffer buffer = function->buffer_map.get_or_null(param);
      if (!buffer)
        vars_[param.get()] =
            param->dtype.is_floating() ? Scalar{0, arguments[i].to<double>()} : Scalar{arguments[i].to<int64_t>(), 0};
      else bind(buffer, arguments[i].to<NDArray>());
    }
    run(function->body);
  }

 private:
  // ---- arguments ----

  void bind_size(const PrimExpr& e, int64_t value, const Buffer& buffer) {
    if (auto* var = e.as<VarNode>(); var && !vars_.count(var)) {
      vars_[var] = {value, 0};
    } else if (int64_t expected = integer(e); expected != value) {
      throw Error(ValueError) << "buffer " << buffer->name << ": expected " << e << " = " << expected << ", got "
                              << value;
    }
  }

  void bind(const Buffer& buffer, const NDArray& array) {
    if (array.dtype() != buffer->dtype || array.shape().size() != buffer->shape.size())
      throw Error(TypeError) << "buffer " << buffer->name << " does not fit " << describe(array.tensor());
    Memory& memory = memories_[buffer.get()];
    memory.dtype = buffer->dtype;
    memory.base = static_cast<char*>(data_of(array.tensor()));
    memory.extent.assign(array.shape().begin(), array.shape().end());
    memory.min.assign(memory.extent.size(), 0);
    set_strides(&memory);
    if (array.tensor()->strides)
      memory.stride.assign(array.tensor()->strides, array.tensor()->strides + memory.extent.size());
    for (size_t i = 0; i < memory.extent.size(); ++i) {
      bind_size(buffer->shape[i], memory.extent[i], buffer);
      if (!buffer->strides.empty()) bind_size(buffer->strides[i], memory.stride[i], buffer);
    }
  }

  static void set_strides(Memory* memory) {
    memory->stride.assign(memory->extent.size(), 1);
    for (size_t i = memory->extent.size(); i-- > 1;) memory->stride[i - 1] = memory->stride[i] * memory->extent[i];
  }

  Memory fresh(DataType dtype, const std::vector<std::pair<int64_t, int64_t>>& box) {
    Memory memory;
    memory.dtype = dtype;
    int64_t count = 1;
    for (auto [min, extent] : box) {
      memory.min.push_back(min);
      memory.extent.push_back(extent);
      count *= std::max<int64_t>(extent, 0);
    }
    set_strides(&memory);
    memory.own.resize(static_cast<size_t>(count * dtype.bytes()));
    memory.written.resize(static_cast<size_t>(count));
    return memory;
  }

  // ---- statements ----

  void run(const Stmt& stmt) {
    if (auto* seq = stmt.as<SeqStmt>()) {
      for (const Stmt& part : seq->seq) run(part);
    } else if (auto* loop = stmt.as<For>()) {
      run_loop(loop->loop_var, integer(loop->min), integer(loop->extent), loop->body);
      if (loop->thread_binding) vars_.erase(loop->thread_binding->var.get());
    } else if (auto* branch = stmt.as<IfThenElse>()) {
      if (integer(branch->condition)) run(branch->then_case);
      else if (branch->else_case) run(branch->else_case);
    } else if (auto* store = stmt.as<BufferStore>()) {
      Scalar value = eval(store->value);
      write(store->buffer, store->indices, value);
    } else if (auto* let = stmt.as<LetStmt>()) {
      vars_[let->var.get()] = eval(let->value);
      run(let->body);
    } else if (auto* realize = stmt.as<BufferRealize>()) {
      std::vector<std::pair<int64_t, int64_t>> box;
      for (const Range& range : realize->bounds) box.emplace_back(integer(range->min), integer(range->extent));
      memories_[realize->buffer.get()] = fresh(realize->buffer->dtype, box);
      run(realize->body);
      memories_.erase(realize->buffer.get());
    } else if (auto* allocate = stmt.as<Allocate>()) {
      std::vector<std::pair<int64_t, int64_t>> box;
      for (const PrimExpr& extent : allocate->extents) box.emplace_back(0, integer(extent));
      by_pointer_[allocate->buffer_var.get()] = fresh(allocate->dtype, box);
      run(allocate->body);
      by_pointer_.erase(allocate->buffer_var.get());
    } else if (auto* mark = stmt.as<AttrStmt>()) {
      auto* thread = mark->node.as<IterVarNode>();
      bool is_thread = mark->attr_key == attr::kThreadExtent || mark->attr_key == attr::kVirtualThread;
      if (thread && is_thread) run_loop(thread->var, 0, integer(mark->value), mark->body);
      else run(mark->body);
    } else if (auto* realized = stmt.as<BlockRealize>()) {
      run_block(realized);
    } else if (auto* check = stmt.as<AssertStmt>()) {
      if (!integer(check->condition)) throw Error(RuntimeError) << "assertion failed: " << check->condition;
      run(check->body);
    } else if (auto* declare = stmt.as<DeclBuffer>()) {
      run(declare->body);
    } else if (auto* repeat = stmt.as<While>()) {
      while (integer(repeat->condition)) run(repeat->body);
    } else if (auto* value = stmt.as<Evaluate>()) {
      eval(value->value);
    } else if (!stmt.as<Prefetch>()) {
      throw Error(NotImplementedError) << "cannot interpret a statement of type " << stmt->type_key();
    }
  }

  void run_loop(const Var& var, int64_t min, int64_t extent, const Stmt& body) {
    for (int64_t i = 0; i < extent; ++i) {
      vars_[var.get()] = {min + i, 0};
      run(body);
    }
    vars_.erase(var.get());
  }

  void run_block(const BlockRealize* realize) {
    const Block& block = realize->block;
    bool is_first = true;
    std::vector<Scalar> values;
    for (const PrimExpr& e : realize->iter_values) values.push_back(eval(e));
    if (!integer(realize->predicate)) return;
    for (size_t i = 0; i < values.size(); ++i) {
      IterVar iv = block->iter_vars[i];
      int64_t min = integer(iv->dom->min), extent = integer(iv->dom->extent);
      if (values[i].i < min || values[i].i >= min + extent)
        throw Error(IndexError) << "block " << block->name_hint << ": " << iv->var->name << " is " << values[i].i
                                << ", outside its domain";
      vars_[iv->var.get()] = values[i];
      if (iv->iter_type == IterType::CommReduce && values[i].i != min) is_first = false;
    }
    for (const Buffer& buffer : block->alloc_buffers) {
      std::vector<std::pair<int64_t, int64_t>> box;
      for (const PrimExpr& extent : buffer->shape) box.emplace_back(0, integer(extent));
      memories_[buffer.get()] = fresh(buffer->dtype, box);
    }
    if (block->init && is_first) run(block->init);
    run(block->body);
  }

  // ---- memory ----

  char* element(const Buffer& buffer, const Array<PrimExpr>& indices, size_t* flat, Memory** where) {
    auto it = memories_.find(buffer.get());
    if (it != memories_.end()) {
      *where = &it->second;
    } else {
      auto pointer = by_pointer_.find(buffer->data.get());
      if (pointer == by_pointer_.end())
        throw Error(RuntimeError) << "buffer " << buffer->name << " is used where it does not exist";
      *where = &pointer->second;
    }
    Memory& memory = **where;
    int64_t offset = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      int64_t at = integer(indices[i]) - memory.min[i];
      if (at < 0 || at >= memory.extent[i])
        throw Error(IndexError) << "index " << indices[i] << " = " << at + memory.min[i] << " of dimension " << i
                                << " of " << buffer->name << " is outside [" << memory.min[i] << ", "
                                << memory.min[i] + memory.extent[i] << ")";
      offset += at * memory.stride[i];
    }
    *flat = static_cast<size_t>(offset);
    return (memory.base ? memory.base : memory.own.data()) + offset * memory.dtype.bytes();
  }

  void write(const Buffer& buffer, const Array<PrimExpr>& indices, Scalar value) {
    size_t flat = 0;
    Memory* memory = nullptr;
    char* at = element(buffer, indices, &flat, &memory);
    if (!memory->written.empty()) memory->written[flat] = true;
    DataType dtype = memory->dtype;
    if (dtype == DataType::Float(32)) {
      float narrow = static_cast<float>(value.f);
      memcpy(at, &narrow, 4);
    } else if (dtype == DataType::Float(64)) {
      memcpy(at, &value.f, 8);
    } else if (dtype.is_integral()) {
      memcpy(at, &value.i, static_cast<size_t>(dtype.bytes()));  // little-endian: the low bytes
    } else {
      throw Error(NotImplementedError) << "cannot interpret memory of type " << dtype;
    }
  }

  Scalar read(const Buffer& buffer, const Array<PrimExpr>& indices) {
    size_t flat = 0;
    Memory* memory = nullptr;
    const char* at = element(buffer, indices, &flat, &memory);
    if (!memory->written.empty() && !memory->written[flat])
      throw Error(RuntimeError) << "an element of " << buffer->name << " is read before it is written";
    Scalar out;
    DataType dtype = memory->dtype;
    if (dtype == DataType::Float(32)) {
      float narrow = 0;
      memcpy(&narrow, at, 4);
      out.f = narrow;
    } else if (dtype == DataType::Float(64)) {
      memcpy(&out.f, at, 8);
    } else if (dtype.is_integral()) {
      memcpy(&out.i, at, static_cast<size_t>(dtype.bytes()));
      out.i = wrapped(dtype, out.i);
    } else {
      throw Error(NotImplementedError) << "cannot interpret memory of type " << dtype;
    }
    return out;
  }

  // ---- expressions ----

  static int64_t wrapped(DataType dtype, int64_t value) {
    if (dtype.is_bool()) return value & 1;
    if (dtype.bits >= 64) return value;
    int shift = 64 - dtype.bits;
    auto high = static_cast<uint64_t>(value) << shift;
    return dtype.is_int() ? static_cast<int64_t>(high) >> shift : static_cast<int64_t>(high >> shift);
  }
  static Scalar made(DataType dtype, int64_t value) { return {wrapped(dtype, value), 0}; }
  static Scalar made(DataType dtype, double value) {
    return {0, dtype == DataType::Float(32) ? static_cast<double>(static_cast<float>(value)) : value};
  }

  int64_t integer(const PrimExpr& e) { return eval(e).i; }

  Scalar eval(const PrimExpr& e) {
    if (!e.dtype().is_scalar() && !e.dtype().is_handle() && !e.dtype().is_void())
      throw Error(NotImplementedError) << "cannot interpret the vector expression " << e;
    if (auto* var = e.as<VarNode>()) {
      auto it = vars_.find(var);
      if (it == vars_.end()) throw Error(RuntimeError) << "variable " << var->name << " has no value here";
      return it->second;
    }
    if (auto* imm = e.as<IntImm>()) return {imm->value, 0};
    if (auto* imm = e.as<FloatImm>()) return made(imm->dtype, imm->value);
    if (auto* load = e.as<BufferLoad>()) return read(load->buffer, load->indices);
    if (auto* binary = e.as<BinaryNode>()) return eval_binary(e, binary);
    if (auto* call = e.as<Call>()) return eval_call(call);
    if (auto* choice = e.as<Select>())
      return eval(integer(choice->condition) ? choice->true_value : choice->false_value);
    if (auto* as = e.as<Cast>()) return eval_cast(as);
    if (auto* negation = e.as<Not>()) return {integer(negation->a) ? 0 : 1, 0};
    if (auto* let = e.as<Let>()) {
      vars_[let->var.get()] = eval(let->value);
      return eval(let->body);
    }
    throw Error(NotImplementedError) << "cannot interpret an expression of type " << e->type_key();
  }

  Scalar eval_cast(const Cast* as) {
    Scalar value = eval(as->value);
    bool from_float = as->value.dtype().is_floating();
    if (as->dtype.is_floating()) return made(as->dtype, from_float ? value.f : static_cast<double>(value.i));
    if (as->dtype.is_bool()) return {from_float ? value.f != 0 : value.i != 0, 0};
    return made(as->dtype, from_float ? static_cast<int64_t>(truncated_bits(value.f, as->dtype)) : value.i);
  }

  Scalar eval_binary(const PrimExpr& e, const BinaryNode* op) {
    if (e.as<And>()) return {integer(op->a) && integer(op->b), 0};
    if (e.as<Or>()) return {integer(op->a) || integer(op->b), 0};
    Scalar a = eval(op->a), b = eval(op->b);
    bool is_float = op->a.dtype().is_floating();
    auto compare = [&](auto f) { return Scalar{is_float ? f(a.f, b.f) : f(a.i, b.i), 0}; };
    if (e.as<LT>()) return compare(std::less<>());
    if (e.as<LE>()) return compare(std::less_equal<>());
    if (e.as<GT>()) return compare(std::greater<>());
    if (e.as<GE>()) return compare(std::greater_equal<>());
    if (e.as<EQ>()) return compare(std::equal_to<>());
    if (e.as<NE>()) return compare(std::not_equal_to<>());
    return is_float ? made(e.dtype(), float_result(e, a.f, b.f)) : made(e.dtype(), integer_result(e, a.i, b.i));
  }

  static double float_result(const PrimExpr& e, double a, double b) {
    if (e.as<Add>()) return a + b;
    if (e.as<Sub>()) return a - b;
    if (e.as<Mul>()) return a * b;
    if (e.as<Div>()) return a / b;
    if (e.as<Min>()) return a < b || std::isnan(a) ? a : b;
    if (e.as<Max>()) return a > b || std::isnan(a) ? a : b;
    if (e.as<FloorDiv>()) return std::floor(a / b);
    if (e.as<FloorMod>()) return a - std::floor(a / b) * b;
    throw Error(NotImplementedError) << "cannot interpret " << e;
  }

  static int64_t integer_result(const PrimExpr& e, int64_t a, int64_t b) {
    auto unsign = [](int64_t x) { return static_cast<uint64_t>(x); };
    if (e.as<Add>()) return static_cast<int64_t>(unsign(a) + unsign(b));
    if (e.as<Sub>()) return static_cast<int64_t>(unsign(a) - unsign(b));
    if (e.as<Mul>()) return static_cast<int64_t>(unsign(a) * unsign(b));
    if (e.as<Min>()) return std::min(a, b);
    if (e.as<Max>()) return std::max(a, b);
    if (b == 0) throw Error(RuntimeError) << "division by zero in " << e;
    if (b == -1) return e.as<Div>() || e.as<FloorDiv>() ? static_cast<int64_t>(0 - unsign(a)) : 0;
    if (e.as<Div>()) return a / b;
    if (e.as<Mod>()) return a % b;
    int64_t rest = a % b;
    bool is_below = rest != 0 && (rest < 0) != (b < 0);
    if (e.as<FloorDiv>()) return a / b - (is_below ? 1 : 0);
    if (e.as<FloorMod>()) return is_below ? rest + b : rest;
    throw Error(NotImplementedError) << "cannot interpret " << e;
  }

  Scalar eval_call(const Call* call) {
    auto* op = call->op.as<OpNode>();
    std::string_view name = op ? std::string_view(op->name) : std::string_view();
    if (name == "tir.if_then_else") return eval(integer(call->args[0]) ? call->args[1] : call->args[2]);
    if (name == "tir.likely" || name == "tir.assume") return eval(call->args[0]);
    if (name == "tir.checked_index") {
      int64_t index = integer(call->args[0]), extent = integer(call->args[1]), at = index < 0 ? index + extent : index;
      if (at < 0 || at >= extent) throw index_error(call->args[2].as<StringImm>()->value.str(), index, extent);
      return made(call->dtype, at);
    }
    using Function = double (*)(double);
    static const std::unordered_map<std::string_view, Function> functions{
        {"tir.exp", std::exp},
        {"tir.log", std::log},
        {"tir.sqrt", std::sqrt},
        {"tir.tanh", std::tanh},
        {"tir.sin", std::sin},
        {"tir.cos", std::cos},
        {"tir.floor", std::floor},
        {"tir.ceil", std::ceil},
        {"tir.trunc", std::trunc},
        {"tir.round", std::round},
        {"tir.fabs", std::fabs},
        {"tir.erf", std::erf},
        {"tir.nearbyint", std::nearbyint},
        {"tir.sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
        {"tir.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    };
    if (auto it = functions.find(name); it != functions.end())
      return made(call->dtype, it->second(eval(call->args[0]).f));
    if (name == "tir.pow") return made(call->dtype, std::pow(eval(call->args[0]).f, eval(call->args[1]).f));
    if (name == "tir.bitwise_and") return made(call->dtype, integer(call->args[0]) & integer(call->args[1]));
    if (name == "tir.bitwise_or") return made(call->dtype, integer(call->args[0]) | integer(call->args[1]));
    if (name == "tir.bitwise_xor") return made(call->dtype, integer(call->args[0]) ^ integer(call->args[1]));
    if (name == "tir.shift_left") return made(call->dtype, integer(call->args[0]) << integer(call->args[1]));
    if (name == "tir.shift_right") return made(call->dtype, integer(call->args[0]) >> integer(call->args[1]));
    throw Error(NotImplementedError) << "cannot interpret the call " << PrimExpr(call);
  }

  std::unordered_map<const VarNode*, Scalar> vars_;
  std::unordered_map<const BufferNode*, Memory> memories_;
  std::unordered_map<const VarNode*, Memory> by_pointer_;
};

Globals interpret_globals{{"tir.Interpret", [](Args args, Any*) {
                             std::vector<Any> rest;
                             for (int i = 1; i < args.size(); ++i) rest.emplace_back(args[i]);
                             interpret(args[0].to<PrimFunc>(), rest);
                           }}};

}  // namespace

void interpret(const PrimFunc& function, std::span<const Any> arguments) { Interpreter().call(function, arguments); }

}  // namespace tessera
