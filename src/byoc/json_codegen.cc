#include "byoc/json_codegen.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/json.h"
#include "base/stack.h"
#include "ir/prim/ops.h"
#include "relay/walk.h"

namespace tessera::byoc {
namespace {

using relay::Call;
using relay::checked_type;
using relay::Expr;
using relay::FunctionNode;
using Texts = Array<String>;
using List = Array<ObjectRef>;
using Dict = Map<String, ObjectRef>;

struct ValueId {
  int64_t node, index;
};
using ValueIds = std::vector<ValueId>;

ObjectRef number(int64_t value) { return int_imm(DataType::Int(64), value); }
ObjectRef nested(const List& items) {
  List out;
  out.push_back(items);
  return out;
}

/// One number or text; false for what is neither.
bool add_text(const ObjectRef& value, Texts* out) {
  if (auto* text = value.as<StringNode>()) return out->push_back(String(text)), true;
  if (auto* integer = value.as<IntImm>()) return out->push_back(String(std::to_string(integer->value))), true;
  if (auto* real = value.as<FloatImm>()) return out->push_back(String(fmt::format("{}", real->value))), true;
  return false;
}

/// A field of attributes as texts; false where it has none, as None.
bool field_texts(const Field& field, const Object* attrs, Texts* out) {
  switch (field.kind) {
    case FieldKind::Bool: return out->push_back(String(field.at<bool>(attrs) ? "1" : "0")), true;
    case FieldKind::Int32: return out->push_back(String(std::to_string(field.at<int32_t>(attrs)))), true;
    case FieldKind::Int64: return out->push_back(String(std::to_string(field.at<int64_t>(attrs)))), true;
    case FieldKind::Double: return out->push_back(String(fmt::format("{}", field.at<double>(attrs)))), true;
    case FieldKind::DType: return out->push_back(String(to_text(field.at<DataType>(attrs)))), true;
    case FieldKind::Ref: break;
  }
  const auto& value = field.at<ObjectRef>(attrs);
  if (!value) return false;
  if (auto* list = value.as<ArrayNode>()) {
    for (const ObjectRef& item : list->items)
      if (!add_text(item, out)) return false;
    return true;
  }
  return add_text(value, out);
}

void add_attrs(const Call* call, Dict* out) {
  if (!call->attrs) return;
  for (const Field& field : call->attrs->type()->fields()) {
    Texts texts;
    if (!field_texts(field, call->attrs.get(), &texts)) continue;
    List items;
    for (const String& text : texts) items.push_back(text);
    out->set(String(field.name), nested(items));
  }
}

class Serializer {
 public:
  Serializer(std::string symbol, CompositeAttrs more) : more_(more) { code_.symbol = std::move(symbol); }

  JsonCode run(const relay::Function& function) {
    for (const relay::Var& param : function->params) {
      ValueIds fields;
      std::vector<TensorType> types = tensors_of(checked_type(param));
      for (size_t i = 0; i < types.size(); ++i) {
        std::string name(param->name_hint());
        fields.push_back(add_argument("input", types.size() == 1 ? name : name + "_" + std::to_string(i), types[i]));
      }
      done_[param.get()] = fields;
    }
    List heads;
    for (ValueId id : (*this)(function->body)) heads.push_back(triple(id));
    List rows{number(0)};
    for (int64_t row : rows_) rows.push_back(number(row));
    Dict root{{"nodes", nodes_}, {"arg_nodes", arguments_}, {"heads", heads}, {"node_row_ptr", rows}};
    code_.json = to_json(root);
    return std::move(code_);
  }

 private:
  static std::vector<TensorType> tensors_of(const Type& type) {
    std::vector<TensorType> out;
    if (auto* tuple = type.as<TupleType>()) {
      for (const Type& field : tuple->fields_)
        for (const TensorType& tensor : tensors_of(field)) out.push_back(tensor);
      return out;
    }
    if (!type.as<TensorTypeNode>())
      throw Error(TypeError) << "an external function has a value of type " << to_text(type);
    return {downcast<TensorType>(type)};
  }

  static ObjectRef triple(ValueId id) { return List{number(id.node), number(id.index), number(0)}; }

  static Dict type_attrs(const std::vector<TensorType>& types) {
    List shapes, dtypes;
    for (const TensorType& type : types) {
      List shape;
      for (const PrimExpr& extent : type->shape) {
        if (!as_int(extent))
          throw Error(ValueError) << "a graph for an external runtime needs fixed shapes, not " << to_text(type);
        shape.push_back(number(*as_int(extent)));
      }
      shapes.push_back(shape);
      dtypes.push_back(String(to_text(type->dtype)));
    }
    return {{"shape", nested(shapes)}, {"dtype", nested(dtypes)}};
  }

  ValueId add_node(Dict node, size_t outputs) {
    nodes_.push_back(node);
    rows_.push_back((rows_.empty() ? 0 : rows_.back()) + static_cast<int64_t>(outputs));
    return {static_cast<int64_t>(nodes_.size()) - 1, 0};
  }

  ValueId add_argument(const char* op, const std::string& name, const TensorType& type) {
    arguments_.push_back(number(static_cast<int64_t>(nodes_.size())));
    return add_node({{"op", String(op)}, {"name", String(name)}, {"attrs", type_attrs({type})}}, 1);
  }

  ValueIds operator()(const Expr& expr) {
    if (auto it = done_.find(expr.get()); it != done_.end()) return it->second;
    ValueIds out = on_enough_stack([&] { return visit(expr); });
    return done_[expr.get()] = out;
  }

  ValueIds visit(const Expr& expr) {
    if (auto* constant = expr.as<relay::Constant>()) {
      String name(code_.symbol + "_const_" + std::to_string(code_.const_names.size()));
      code_.const_names.push_back(name);
      code_.constants.set(name, constant->data);
      return {add_argument("const", name.str(), relay::tensor_type(expr))};
    }
    if (auto* tuple = expr.as<relay::Tuple>()) return all(tuple->fields_);
    if (auto* get = expr.as<relay::TupleGetItem>()) {
      ValueIds fields = (*this)(get->tuple);
      size_t first = 0;
      auto* type = checked_type(get->tuple).as<TupleType>();
      for (int i = 0; i < get->index; ++i) first += tensors_of(type->fields_[i]).size();
      const size_t count = tensors_of(type->fields_[get->index]).size();
      return {fields.begin() + static_cast<long>(first), fields.begin() + static_cast<long>(first + count)};
    }
    if (auto* call = expr.as<Call>()) return kernel(call);
    throw Error(TypeError) << "a graph for an external runtime cannot hold a " << expr->type_key();
  }

  ValueIds all(const Array<Expr>& exprs) {
    ValueIds out;
    for (const Expr& expr : exprs)
      for (ValueId id : (*this)(expr)) out.push_back(id);
    return out;
  }

  ValueIds kernel(const Call* call) {
    Dict attrs;
    std::string name;
    if (auto* op = call->op.as<OpNode>()) {
      name = op->name.str();
      add_attrs(call, &attrs);
    } else {
      name = composite(call->op.as<FunctionNode>(), &attrs);
    }
    ValueIds in = all(call->args);
    List inputs;
    for (ValueId id : in) inputs.push_back(triple(id));
    std::vector<TensorType> types = tensors_of(checked_type(Expr(call)));
    for (const auto& [key, value] : type_attrs(types)) attrs.set(key, value);
    attrs.set("num_inputs", String(std::to_string(in.size())));
    attrs.set("num_outputs", String(std::to_string(types.size())));
    ValueId first = add_node({{"op", String("kernel")}, {"name", String(name)}, {"inputs", inputs}, {"attrs", attrs}},
                             types.size());
    ValueIds out;
    for (size_t i = 0; i < types.size(); ++i) out.push_back({first.node, static_cast<int64_t>(i)});
    return out;
  }

  /// The name of a composite function; its attributes are those of the operators in it, the first having precedence.
  std::string composite(const FunctionNode* function, Dict* attrs) {
    String name = function ? downcast_or_null<String>(function->attrs.get_attr(relay::attr::kComposite)) : nullptr;
    if (!name) throw Error(TypeError) << "a graph for an external runtime calls operators and composite functions only";
    relay::post_order(function->body, [&](const Expr& expr) {
      auto* call = expr.as<Call>();
      if (!call || !call->op.as<OpNode>()) return;
      Dict own;
      add_attrs(call, &own);
      for (const auto& [key, value] : own)
        if (!attrs->count(key)) attrs->set(key, value);
    });
    if (more_)
      for (const auto& [key, texts] : more_(function)) {
        List items;
        for (const String& text : texts) items.push_back(text);
        attrs->set(key, nested(items));
      }
    return name.str();
  }

  CompositeAttrs more_;
  JsonCode code_;
  List nodes_, arguments_;
  std::vector<int64_t> rows_;  // values of the nodes so far
  std::unordered_map<const Object*, ValueIds> done_;
};

}  // namespace

JsonCode json_of(const relay::Function& function, CompositeAttrs more) {
  String symbol = downcast_or_null<String>(function->attrs.get_attr(tessera::attr::kGlobalSymbol));
  if (!symbol) throw Error(ValueError) << "an external function needs the attribute global_symbol";
  return Serializer(symbol.str(), more).run(function);
}

}  // namespace tessera::byoc
