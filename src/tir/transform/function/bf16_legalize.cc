// bfloat16 is computed with in float32 and kept in memory as 16-bit words.
//
//   Promote:          a + b                     =>   cast(bf16, cast(f32, a) + cast(f32, b))
//   CastElimination:  cast(f32, cast(bf16, x))  =>   x          (more exact than rounding in between)
//   TypeLowering:     buffers of bf16           =>   buffers of uint16; casts become shifts, rounding to nearest even

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/target/target.h"
#include "tir/transform/passes.h"
#include "tir/transform/simplify/retype.h"

namespace tessera {
namespace {

DataType float32_like(DataType dtype) { return DataType::Float(32, dtype.lanes); }

PrimExpr to_float32(const PrimExpr& e) { return e.dtype().is_bfloat() ? make_cast(float32_like(e.dtype()), e) : e; }

// ---- promotion -------------------------------------------------------------------------------------------

template <class T>
void promote_binary(Rewriter* rewriter) {
  rewriter->on([](Rewriter& self, const T* op) -> PrimExpr {
    PrimExpr a = self(op->a), b = self(op->b);
    if (!a.dtype().is_bfloat() && a.same_as(op->a) && b.same_as(op->b)) return PrimExpr(op);
    PrimExpr out = make_binary<T>(to_float32(a), to_float32(b));
    return op->dtype.is_bfloat() ? make_cast(op->dtype, out) : out;
  });
}

// ---- casts ------------------------------------------------------------------------------------------------

// ---- storage ----------------------------------------------------------------------------------------------

class TypeLowering {
 public:
  /// `by_vectors`: bits may be looked at a vector at a time. `rounds`: the code generator knows how its target rounds.
  TypeLowering(bool by_vectors, bool rounds)
      : rounds_(rounds),
        view_(by_vectors ? Op::get("tir.reinterpret_lanes") : builtin::reinterpret()),
        retype_([](DataType dtype) { return words(dtype); }) {
    retype_.rewriter.on([this](const Cast* op) -> PrimExpr { return on_cast(op); });
    retype_.rewriter.on([this](const FloatImm* op) -> PrimExpr {
      return op->dtype.is_bfloat() ? from_float32(float_imm(DataType::Float(32), op->value)) : PrimExpr(op);
    });
  }

  PrimFunc operator()(const PrimFunc& function) { return retype_(function); }

 private:
  static DataType words(DataType dtype) { return dtype.is_bfloat() ? DataType::UInt(16, dtype.lanes) : dtype; }

  PrimExpr on_cast(const Cast* op) {
    PrimExpr value = retype_.rewriter(op->value);
    bool from = op->value.dtype().is_bfloat(), to = op->dtype.is_bfloat();
    if (from && to) return value;
    if (from) {
      DataType bits = DataType::UInt(32, op->dtype.lanes);
      PrimExpr shifted = make_call(bits, builtin::shift_left(), {make_cast(bits, value), make_const(bits, 16)});
      return cast(op->dtype, make_call(float32_like(op->dtype), view_, {shifted}));
    }
    if (to) return from_float32(cast(float32_like(op->dtype), value));
    return value.same_as(op->value) ? PrimExpr(op) : make_cast(op->dtype, value);
  }

  /// The upper half of the float's bits, rounded to nearest even; a NaN stays one.
  PrimExpr from_float32(const PrimExpr& value) const {
    int lanes = value.dtype().lanes;
    if (rounds_) return make_call(DataType::UInt(16, lanes), "tir.rounded_to_bfloat", {value});
    DataType bits = DataType::UInt(32, lanes), half = DataType::UInt(16, lanes);
    auto shifted = [&](const PrimExpr& e) {
      return make_call(bits, builtin::shift_right(), {e, make_const(bits, 16)});
    };
    PrimExpr word = make_call(bits, view_, {value});
    PrimExpr odd = make_call(bits, builtin::bitwise_and(), {shifted(word), make_const(bits, 1)});
    PrimExpr rounded =
        make_cast(half, shifted(make_binary<Add>(word, make_binary<Add>(odd, make_const(bits, 0x7FFF)))));
    PrimExpr is_nan = make_binary<NE>(value, value);
    return make_select(is_nan, make_const(half, 0x7FC0), rounded);
  }

  bool rounds_;
  Op view_;
  Retype retype_;
};

bool is_for(const PrimFunc& function, const char* kind) {
  auto target = downcast_or_null<Target>(function->attrs.get_attr(attr::kTarget));
  return target && target->kind->name == kind;
}

/// Kernels for this machine or x86, through LLVM; vectors of armv7 would flush what is very small. CUDA has functions for lanes.
bool has_vectors_for(const PrimFunc& function) {
  if (is_for(function, "cuda")) return true;
  if (!is_for(function, "llvm")) return false;
  auto target = downcast<Target>(function->attrs.get_attr(attr::kTarget));
  const std::string triple = target.option("mtriple").value_or("");
  return triple.empty() || triple.starts_with("x86_64");
}

bool uses_bfloat(const PrimFunc& function) {
  bool found = false;
  for (const auto& [param, buffer] : function->buffer_map) found = found || buffer->dtype.is_bfloat();
  walk(
      function->body, [&](const PrimExprNode* e) { found = found || e->dtype.is_bfloat(); },
      [&](const BufferStore* op) { found = found || op->buffer->dtype.is_bfloat(); });
  return found;
}

}  // namespace

Stmt bf16_promote(const Stmt& body) {
  Rewriter rewriter;
  promote_binary<Add>(&rewriter), promote_binary<Sub>(&rewriter), promote_binary<Mul>(&rewriter);
  promote_binary<Div>(&rewriter), promote_binary<Min>(&rewriter), promote_binary<Max>(&rewriter);
  promote_binary<LT>(&rewriter), promote_binary<LE>(&rewriter), promote_binary<GT>(&rewriter);
  promote_binary<GE>(&rewriter), promote_binary<EQ>(&rewriter), promote_binary<NE>(&rewriter);
  rewriter.on([](Rewriter& self, const Call* op) -> PrimExpr {
    Ref<Call> out = self.children(op);
    bool is_math = op->dtype.is_bfloat() && builtin::effect_of(op) == CallEffect::Pure &&
                   !builtin::is(op, builtin::if_then_else()) && !builtin::is(op, builtin::reinterpret());
    if (!is_math) return out;
    Array<PrimExpr> args;
    for (const PrimExpr& arg : out->args) args.push_back(to_float32(arg));
    return make_cast(op->dtype, make_call(float32_like(op->dtype), op->op, args));
  });
  return rewriter(body);
}

Stmt bf16_cast_elimination(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const Cast* op) -> PrimExpr {
    PrimExpr value = self(op->value);
    auto* inner = value.as<Cast>();
    bool round_trip = op->dtype.is_float() && op->dtype.bits == 32 && inner && inner->dtype.is_bfloat() &&
                      inner->value.dtype() == op->dtype;
    if (round_trip) return inner->value;
    return value.same_as(op->value) ? PrimExpr(op) : make_cast(op->dtype, value);
  });
}

PrimFunc bf16_type_lowering(const PrimFunc& function) {
  if (!uses_bfloat(function)) return function;
  const bool rounds = is_for(function, "cuda") || is_for(function, "llvm");
  return TypeLowering(has_vectors_for(function), rounds)(function);
}

PrimFunc bf16_legalize(const PrimFunc& function) {
  if (!uses_bfloat(function)) return function;
  return bf16_type_lowering(with_body(function, bf16_cast_elimination(bf16_promote(function->body))));
}

}  // namespace tessera
