#include "ir/repr.h"

#include <cstdio>

#include "base/stack.h"
#include "ir/module.h"
#include "ir/prim/expr.h"
#include "ir/prim/infix.h"
#include "ir/structural/object_path.h"
#include "ir/target/virtual_device.h"
#include "runtime/containers.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

NodeTable<ReprHandler>& rows() {
  static auto* table = new NodeTable<ReprHandler>;
  return *table;
}

void print_float(ReprPrinter& p, const FloatImm* imm) {
  p << short_number(imm->value);
  if (imm->dtype.bits == 32) p << "f";
  if (imm->dtype.bits == 16) p << "h";
}

void print_int(ReprPrinter& p, const IntImm* imm) {
  if (imm->dtype != DataType::Int(32)) p << "(" << imm->dtype.str() << ")";
  p << imm->value;
}

void print_call(ReprPrinter& p, const Call* call) {
  if (auto* op = call->op.as<OpNode>()) {
    p << op->name.str();
  } else {
    p << call->op;
  }
  (p << "(").list(call->args) << ")";
}

/// NAME(a, b)
template <class T>
auto named(const char* name) {
  return [name](ReprPrinter& p, const T* e) { p << name << "(" << e->a << ", " << e->b << ")"; };
}

InfixRows<ReprRows, ReprPrinter> operators("/");

ReprRows containers{
    [](ReprPrinter& p, const StringNode* s) { p << quoted(s->text); },
    [](ReprPrinter& p, const ArrayNode* a) { (p << "[").list(a->items) << "]"; },
    [](ReprPrinter& p, const MapNode* m) {
      p << "{";
      bool first = true;
      for (const auto& [key, value] : m->entries) {
        if (!first) p << ", ";
        first = false;
        p << key << ": " << value;
      }
      p << "}";
    },
    [](ReprPrinter& p, const ShapeTupleNode* shape) { (p << "[").list(shape->values) << "]"; },
    [](ReprPrinter& p, const DictAttrsNode* attrs) { p << attrs->dict; },
    [](ReprPrinter& p, const ObjectPathNode* path) { p << path_text(ObjectPath(path)); },
    [](ReprPrinter& p, const ObjectPathPairNode* pair) {
      p << "ObjectPathPair(" << pair->lhs_path << ", " << pair->rhs_path << ")";
    },
};

/// VirtualDevice(device_type=1, virtual_device_id=0), with what is said of it
void print_virtual_device(ReprPrinter& p, const VirtualDeviceNode* device) {
  p << "VirtualDevice(";
  const char* separator = "";
  auto part = [&](const char* name) -> ReprPrinter& {
    p << separator << name << "=";
    separator = ", ";
    return p;
  };
  if (is_open(device)) p << "?";
  if (device->device_type_int >= 0) part("device_type") << device->device_type_int;
  if (device->virtual_device_id >= 0) part("virtual_device_id") << device->virtual_device_id;
  if (device->target) part("target") << device->target;
  if (!device->memory_scope.str().empty()) part("memory_scope") << "'" << device->memory_scope.str() << "'";
  p << ")";
}

ReprRows common_texts{
    [](ReprPrinter& p, const PrimType* type) { p << type->dtype.str(); },
    [](ReprPrinter& p, const PointerType* type) {
      if (!type->storage_scope.empty()) p << type->storage_scope.str() << " ";
      p << type->element_type << "*";
    },
    [](ReprPrinter& p, const TupleType* type) { p << "TupleTypeNode(" << type->fields_ << ")"; },
    [](ReprPrinter& p, const FuncType* type) { p << "FuncType(" << type->arg_types << ", " << type->ret_type << ")"; },
    [](ReprPrinter& p, const GlobalVarNode* var) { p << "GlobalVar(" << var->name_hint.str() << ")"; },
    [](ReprPrinter& p, const OpNode* op) { p << "Op(" << op->name.str() << ")"; },
    [](ReprPrinter& p, const RangeNode* range) { p << "range(min=" << range->min << ", ext=" << range->extent << ")"; },
    [](ReprPrinter& p, const IRModuleNode* mod) { p << "IRModule(" << mod->functions << ")"; },
    [](ReprPrinter& p, const TargetKindNode* kind) { p << kind->name.str(); },
    [](ReprPrinter& p, const TargetNode* target) { p << Target(target).str(); },
    print_virtual_device,
    [](ReprPrinter& p, const SourceNameNode* source) { p << "SourceName(" << source->name.str() << ")"; },
    [](ReprPrinter& p, const SpanNode* span) {
      p << "Span(" << span->source_name << ", " << span->line << ", " << span->end_line << ", " << span->column << ", "
        << span->end_column << ")";
    },
};

ReprRows expressions{
    print_int,
    print_float,
    print_call,
    [](ReprPrinter& p, const StringImm* imm) { p << quoted(imm->value); },
    [](ReprPrinter& p, const VarNode* var) { p << var->name.str(); },
    [](ReprPrinter& p, const SizeVarNode* var) { p << "{" << var->name.str() << "|" << var->name.str() << ">=0}"; },
    [](ReprPrinter& p, const AnyDim*) { p << "?"; },
    [](ReprPrinter& p, const Cast* e) { p << e->dtype.str() << "(" << e->value << ")"; },
    named<FloorDiv>("floordiv"),
    named<FloorMod>("floormod"),
    named<Min>("min"),
    named<Max>("max"),
    [](ReprPrinter& p, const Not* e) { p << "!" << e->a; },
    [](ReprPrinter& p, const Select* e) {
      p << "select(" << e->condition << ", " << e->true_value << ", " << e->false_value << ")";
    },
    [](ReprPrinter& p, const Ramp* e) { p << "ramp(" << e->base << ", " << e->stride << ", " << e->lanes << ")"; },
    [](ReprPrinter& p, const Broadcast* e) { p << "x" << e->lanes << "(" << e->value << ")"; },
    [](ReprPrinter& p, const Shuffle* e) { (((p << "shuffle(").list(e->vectors)) << ", ").list(e->indices) << ")"; },
    [](ReprPrinter& p, const Let* e) { p << "(let " << e->var << " = " << e->value << " in " << e->body << ")"; },
};

std::string repr_for_messages(const Object* node) { return repr(node); }

struct UseForMessages {
  UseForMessages() { set_repr_function(repr_for_messages); }
} use_for_messages;

}  // namespace

void ReprPrinter::print(const Object* node) {
  if (!node) return void(text += "(nullptr)");
  const ReprHandler* row = rows().find(node);
  if (!row) return void(*this << node->type_key() << "(" << address_text(node) << ")");
  on_enough_stack([&] { (*row)(*this, node); });
}

ReprPrinter& ReprPrinter::operator<<(int64_t number) {
  text += std::to_string(number);
  return *this;
}

void set_repr(const NodeInfo& type, ReprHandler handler) { rows().set(type, std::move(handler)); }

std::string repr(const Object* node) {
  ReprPrinter printer;
  printer.print(node);
  return std::move(printer.text);
}

std::string address_text(const Object* node) {
  char address[32];
  std::snprintf(address, sizeof(address), "%p", static_cast<const void*>(node));
  return address;
}

std::string short_number(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%g", value);
  return buffer;
}

static Globals repr_globals{
    {"node.AsRepr", [](AnyView object) { return repr(box(object).get()); }},
};

}  // namespace tessera
