// TVMScript of expressions, regions, attributes and types.

#include <cmath>
#include <cstdio>

#include "ir/prim/ops.h"
#include "ir/structural/map_order.h"
#include "ir/target/target.h"
#include "tir/print.h"
#include "tir/print/script.h"

namespace tessera {
namespace {

/// How loosely an expression binds, in the order of Python's operators; anything that is no operator is 0.
enum Level { kAtom = 0, kProduct = 1, kSum = 2, kCompare = 3, kNot = 4, kAnd = 5, kOr = 6 };

template <class T>
constexpr Level level_of() {
  if constexpr (std::is_same_v<T, Add> || std::is_same_v<T, Sub>) return kSum;
  else if constexpr (std::is_same_v<T, LT> || std::is_same_v<T, LE> || std::is_same_v<T, GT> || std::is_same_v<T, GE> ||
                     std::is_same_v<T, EQ> || std::is_same_v<T, NE>)
    return kCompare;
  else if constexpr (std::is_same_v<T, Not>) return kNot;
  else if constexpr (std::is_same_v<T, And>) return kAnd;
  else if constexpr (std::is_same_v<T, Or>) return kOr;
  else return kProduct;
}

const NodeTable<Level>& levels() {
  static const auto* table = [] {
    auto* out = new NodeTable<Level>;
    auto add = [&]<class... T>(std::tuple<T...>*) { (out->set(T::info, level_of<T>()), ...); };
    add(static_cast<std::tuple<Add, Sub, Mul, Div, FloorDiv, FloorMod, LT, LE, GT, GE, EQ, NE, Not, And, Or>*>(
        nullptr));
    return out;
  }();
  return *table;
}

Level level_of(const PrimExpr& e) {
  const Level* level = levels().find(e.get());
  return level ? *level : kAtom;
}

/// a OP b; operators of one level group from the left, except comparisons, which Python would chain.
template <class T>
auto infix(const char* op) {
  return [op](ScriptPrinter& p, const T* e) {
    p.operand(e->a, level_of<T>() == kCompare ? kCompare : level_of<T>() + 1);
    p << op;
    p.operand(e->b, level_of<T>());
  };
}
/// T.NAME(a, b)
template <class T>
auto script_named(const char* name) {
  return [name](ScriptPrinter& p, const T* e) { p.dialect(name) << "(" << e->a << ", " << e->b << ")"; };
}

void script_int(ScriptPrinter& p, const IntImm* imm) {
  if (imm->dtype == DataType::Int(32)) return void(p << imm->value);
  if (imm->dtype.is_bool()) return void(p << (imm->value ? "True" : "False"));
  p.dialect(imm->dtype.str()) << "(" << imm->value << ")";
}

void script_float(ScriptPrinter& p, const FloatImm* imm) {
  char digits[64];
  std::snprintf(digits, sizeof(digits), "%.17g", imm->value);
  p.dialect(imm->dtype.str()) << "(";
  if (imm->value == 0 && std::signbit(imm->value)) p << "-0.0";  // Python's -0 is 0
  else if (std::isfinite(imm->value)) p << digits;
  else p << quoted(digits);
  p << ")";
}

/// A[i, j], A[()], and A[i:i + 8] where the index is a vector of evenly spaced indices.
void script_indices(ScriptPrinter& p, const Buffer& buffer, const Array<PrimExpr>& indices) {
  p << buffer << "[";
  if (indices.empty()) p << "()";
  bool first = true;
  for (const PrimExpr& index : indices) {
    if (!first) p << ", ";
    first = false;
    auto* ramp = index.as<Ramp>();
    auto* stride = ramp ? ramp->stride.as<IntImm>() : nullptr;
    if (stride && stride->value != 0) {
      p << ramp->base << ":" << ramp->base + ramp->stride * ramp->lanes;
      if (!is_one(ramp->stride)) p << ":" << ramp->stride;
    } else {
      p << index;
    }
  }
  p << "]";
}

void script_call(ScriptPrinter& p, const Call* call) {
  if (auto* op = call->op.as<OpNode>()) {
    std::string_view name = op->name;
    if (name.substr(0, 4) == "tir.") p.dialect(name.substr(4));
    else p << name;
  } else if (auto* global = call->op.as<GlobalVarNode>()) {
    p << global->name_hint.str();
  } else {
    p << call->op;
  }
  (p << "(").list(call->args);
  p << (call->args.empty() ? "" : ", ") << "dtype=" << quoted(call->dtype.str()) << ")";
}

/// T.comm_reducer(lambda x, y: x + y, [T.float32(0)])
void script_reducer(ScriptPrinter& p, const CommReducerNode* reducer) {
  p.dialect("comm_reducer") << "(lambda ";
  bool first = true;
  for (const auto& side : {reducer->lhs, reducer->rhs}) {
    for (const Var& var : side) {
      p.define(var.get());
      if (!first) p << ", ";
      first = false;
      p << var;
    }
  }
  p << ": ";
  if (reducer->result.size() == 1) p << reducer->result[0];
  else (p << "(").list(reducer->result) << ")";
  p << ", " << reducer->identity_element << ")";
  for (const auto& side : {reducer->lhs, reducer->rhs})
    for (const Var& var : side) p.release(var.get());
}

void script_target(ScriptPrinter& p, const TargetNode* target) {
  Map<String, ObjectRef> config{{"kind", target->kind->name}, {"tag", target->tag}, {"keys", target->keys}};
  if (target->host) config.set("host", target->host);
  for (const auto& [name, value] : target->attrs) config.set(name, value);
  p.dialect("target") << "(";
  p.dictionary(config);
  p << ")";
}

ScriptRows script_expressions{
    script_int,
    script_float,
    script_call,
    script_reducer,
    [](ScriptPrinter& p, const VarNode* var) { p << p.name_of(var); },
    [](ScriptPrinter& p, const StringImm* imm) { p << quoted(imm->value); },
    [](ScriptPrinter& p, const AnyDim*) { p.dialect("Any") << "()"; },
    [](ScriptPrinter& p, const Cast* e) {
      p.dialect("cast") << "(" << e->value << ", " << quoted(e->dtype.str()) << ")";
    },
    infix<Add>(" + "),
    infix<Sub>(" - "),
    infix<Mul>(" * "),
    infix<Div>(" / "),
    infix<FloorDiv>(" // "),
    infix<FloorMod>(" % "),
    infix<EQ>(" == "),
    infix<NE>(" != "),
    infix<LT>(" < "),
    infix<LE>(" <= "),
    infix<GT>(" > "),
    infix<GE>(" >= "),
    infix<And>(" and "),
    infix<Or>(" or "),
    script_named<Mod>("truncmod"),
    script_named<Min>("min"),
    script_named<Max>("max"),
    [](ScriptPrinter& p, const Not* e) { p << "not(" << e->a << ")"; },
    [](ScriptPrinter& p, const Select* e) {
      p.dialect("Select") << "(" << e->condition << ", " << e->true_value << ", " << e->false_value << ")";
    },
    [](ScriptPrinter& p, const Ramp* e) {
      p.dialect("ramp") << "(" << e->base << ", " << e->stride << ", " << e->lanes << ")";
    },
    [](ScriptPrinter& p, const Broadcast* e) { p.dialect("broadcast") << "(" << e->value << ", " << e->lanes << ")"; },
    [](ScriptPrinter& p, const Shuffle* e) { p.dialect("shuffle") << "(" << e->vectors << ", " << e->indices << ")"; },
    [](ScriptPrinter& p, const Let* e) {
      p.dialect("let") << "(" << e->var << ", " << e->value << ", " << e->body << ")";
    },
    [](ScriptPrinter& p, const BufferLoad* e) { script_indices(p, e->buffer, e->indices); },
    [](ScriptPrinter& p, const BufferStore* s) {
      script_indices(p, s->buffer, s->indices);
      p << " = " << s->value;
    },
    [](ScriptPrinter& p, const ProducerLoad* e) { p << producer_name(e->producer.get()) << e->indices; },
};

ScriptRows script_parts{
    [](ScriptPrinter& p, const BufferNode* buffer) { p << p.name_of(buffer); },
    [](ScriptPrinter& p, const BufferRegionNode* region) { p.region(region->buffer.get(), region->region); },
    [](ScriptPrinter& p, const RangeNode* range) {
      p.dialect("Range") << "(" << range->min << ", " << range->min + range->extent << ")";
    },
    [](ScriptPrinter& p, const IterVarNode* iter) {
      p.dialect("iter_var") << "(" << iter->var << ", " << iter->dom << ", " << quoted(iter_type_name(iter->iter_type))
                            << ", " << quoted(iter->thread_tag) << ")";
    },
    [](ScriptPrinter& p, const StringNode* s) { p << quoted(s->text); },
    [](ScriptPrinter& p, const ArrayNode* array) {
      p << "[";
      for (size_t i = 0; i < array->items.size(); ++i) {
        if (i > 0) p << ", ";
        p.value(array->items[i]);
      }
      p << "]";
    },
    [](ScriptPrinter& p, const MapNode* map) { p.dictionary(Map<String, ObjectRef>(map)); },
    [](ScriptPrinter& p, const DictAttrsNode* attrs) { p.dictionary(attrs->dict); },
    script_target,
    [](ScriptPrinter& p, const GlobalVarNode* var) { p << var->name_hint.str(); },
    [](ScriptPrinter& p, const PrimType* type) { p.dialect(type->dtype.str()); },
    [](ScriptPrinter& p, const PointerType* type) {
      p.dialect("Ptr") << "[" << type->element_type;
      if (!type->storage_scope.empty() && !(type->storage_scope == "global")) p << ", " << quoted(type->storage_scope);
      p << "]";
    },
    [](ScriptPrinter& p, const TupleType* type) {
      if (type->fields_.empty()) return void(p << "None");
      (p.dialect("Tuple") << "[").list(type->fields_) << "]";
    },
};

}  // namespace

void ScriptPrinter::operand(const PrimExpr& e, int limit) {
  if (level_of(e) < limit) return void(*this << e);
  *this << "(" << e << ")";
}

void ScriptPrinter::region(const BufferNode* buffer, const Array<Range>& ranges) {
  *this << name_of(buffer) << "[";
  if (ranges.empty()) *this << "()";
  bool first = true;
  for (const Range& range : ranges) {
    if (!first) *this << ", ";
    first = false;
    *this << range->min;
    if (!is_one(range->extent)) *this << " : " << range->min + range->extent;
  }
  *this << "]";
}

void ScriptPrinter::dictionary(const Map<String, ObjectRef>& entries, std::string_view colon) {
  *this << "{";
  bool first = true;
  for (const auto& [key, value] : printing_order(entries.get())) {
    if (!first) *this << ", ";
    first = false;
    *this << key << colon;
    this->value(value);
  }
  *this << "}";
}

void ScriptPrinter::value(const ObjectRef& object) {
  if (auto* text = object.as<StringImm>()) dialect("StringImm") << "(" << quoted(text->value) << ")";
  else *this << object;
}

void ScriptPrinter::type(const VarNode* var) {
  if (var->type_annotation) *this << var->type_annotation;
  else dialect(var->dtype.str());
}

}  // namespace tessera
