// The text form of expressions, types, buffers and containers.

#include "ir/prim/infix.h"
#include "ir/prim/ops.h"
#include "ir/repr.h"
#include "tir/print.h"
#include "tir/print/text.h"

namespace tessera {
namespace {

/// NAME(a, b)
template <class T>
auto text_named(const char* name) {
  return [name](TextPrinter& p, const T* e) { p << name << "(" << e->a << ", " << e->b << ")"; };
}

/// 1i64, 2u8, 3f32
void text_suffix(TextPrinter& p, DataType dtype) {
  if (dtype.is_int()) p << "i";
  if (dtype.is_uint()) p << "u";
  if (dtype.is_float()) p << "f";
  p << static_cast<int32_t>(dtype.bits);
}

void text_int(TextPrinter& p, const IntImm* imm) {
  if (imm->dtype.is_bool()) return void(p << (imm->value ? "True" : "False"));
  p << imm->value;
  if (imm->dtype != DataType::Int(32)) text_suffix(p, imm->dtype);
}

void text_var(TextPrinter& p, const VarNode* var) {
  bool is_new = !p.knows(var);
  p << p.name_of(var);
  if (!is_new) return;
  p << ": ";
  if (var->type_annotation) {
    p << var->type_annotation;
  } else {
    p << var->dtype;
  }
}

void text_buffer(TextPrinter& p, const BufferNode* buffer) {
  bool is_new = !p.knows(buffer);
  p << p.name_of(buffer);
  if (!is_new) return;
  p << ": ";
  p.declare(buffer);
}

void text_call(TextPrinter& p, const Call* call) {
  if (auto* op = call->op.as<OpNode>()) {
    p << "@" << op->name.str();
  } else {
    p << call->op;
  }
  (p << "(").list(call->args) << ", dtype=" << call->dtype << ")";
}

InfixRows<TextRows, TextPrinter> operators(" / ");

TextRows text_values{
    text_int,
    text_var,
    text_call,
    [](TextPrinter& p, const FloatImm* imm) {
      p << short_number(imm->value);
      text_suffix(p, imm->dtype);
    },
    [](TextPrinter& p, const StringImm* imm) { p << quoted(imm->value); },
    [](TextPrinter& p, const AnyDim*) { p << "?"; },
    [](TextPrinter& p, const Cast* e) { p << "cast(" << e->dtype << ", " << e->value << ")"; },
    text_named<FloorDiv>("floordiv"),
    text_named<FloorMod>("floormod"),
    text_named<Min>("min"),
    text_named<Max>("max"),
    [](TextPrinter& p, const Not* e) { p << "!" << e->a; },
    [](TextPrinter& p, const Select* e) {
      p << "select(" << e->condition << ", " << e->true_value << ", " << e->false_value << ")";
    },
    [](TextPrinter& p, const Ramp* e) { p << "ramp(" << e->base << ", " << e->stride << ", " << e->lanes << ")"; },
    [](TextPrinter& p, const Broadcast* e) { p << "broadcast(" << e->value << ", " << e->lanes << ")"; },
    [](TextPrinter& p, const Shuffle* e) { p << "shuffle(" << e->vectors << ", " << e->indices << ")"; },
    [](TextPrinter& p, const Let* e) { p << "let " << e->var << " = " << e->value << " in " << e->body; },
    [](TextPrinter& p, const BufferLoad* e) { p << e->buffer << e->indices; },
    [](TextPrinter& p, const ProducerLoad* e) { p << producer_name(e->producer.get()) << e->indices; },
    [](TextPrinter& p, const Reduce* e) {
      p.text += "reduce(";
      p.metadata(e->combiner.get());
      p << ", " << e->source << ", " << e->axis << ", " << e->value_index << ", " << e->init << ")";
    },
};

TextRows text_parts{
    text_buffer,
    [](TextPrinter& p, const IterVarNode* iter) {
      p << "IterVar(" << iter->var << ", ";
      if (iter->dom) {
        p << "[" << iter->dom << "]";
      } else {
        p << "(nullptr)";
      }
      p << ", " << quoted(iter_type_name(iter->iter_type)) << ", " << quoted(iter->thread_tag) << ")";
    },
    [](TextPrinter& p, const RangeNode* range) { p << range->min << ":" << range->min + range->extent; },
    [](TextPrinter& p, const BufferRegionNode* region) { p.region(region->buffer.get(), region->region); },
    [](TextPrinter& p, const GlobalVarNode* var) { p << "@" << var->name_hint.str(); },
    [](TextPrinter& p, const PrimType* type) { p << type->dtype; },
    [](TextPrinter& p, const PointerType* type) {
      p << "Pointer(";
      if (!type->storage_scope.empty()) p << type->storage_scope.str() << " ";
      p << type->element_type << ")";
    },
    [](TextPrinter& p, const TupleType* type) {
      (p << "(").list(type->fields_);
      p << (type->fields_.size() == 1 ? ",)" : ")");
    },
    [](TextPrinter& p, const StringNode* s) { p << quoted(s->text); },
    [](TextPrinter& p, const ArrayNode* array) { (p << "[").list(array->items) << "]"; },
    [](TextPrinter& p, const MapNode* map) {
      p << "{";
      bool first = true;
      for (const auto& [key, value] : map->entries) {
        if (!first) p << ", ";
        first = false;
        p << key << ": " << value;
      }
      p << "}";
    },
};

}  // namespace

void TextPrinter::declare(const BufferNode* buffer) {
  *this << "Buffer(" << buffer->data << ", " << buffer->dtype << ", " << buffer->shape << ", " << buffer->strides;
  if (!is_zero(buffer->elem_offset)) *this << ", elem_offset=" << buffer->elem_offset;
  if (std::string scope = buffer->scope(); scope != "global") *this << ", scope=" << quoted(scope);
  if (buffer->data_alignment != 64) *this << ", align=" << buffer->data_alignment;
  if (buffer->offset_factor != 1) *this << ", offset_factor=" << buffer->offset_factor;
  if (buffer->buffer_type != BufferType::Default) *this << ", type=\"auto\"";
  *this << ")";
}

void TextPrinter::region(const BufferNode* buffer, const Array<Range>& ranges) {
  print(buffer);
  *this << "[";
  bool first = true;
  for (const Range& range : ranges) {
    if (!first) *this << ", ";
    first = false;
    if (is_one(range->extent)) {
      *this << range->min;
    } else {
      *this << range;
    }
  }
  *this << "]";
}

}  // namespace tessera
