// Types and attributes.

#include <limits>

#include "ir/prim/expr.h"
#include "relay/parser/nesting.h"

namespace tessera::relay {

std::vector<TypeVar> Parser::type_params() {
  std::vector<TypeVar> out;
  if (!peek().is('[')) return out;
  sequence('[', ']', [&] {
    const Token& name = expect(Word::Identifier, "the name of a type");
    TypeVar var = make(TypeVarNode{.name_hint = String(name.text)});
    type_vars_[name.text].push_back(var);
    bound_type_vars_.push_back(name.text);
    out.push_back(var);
  });
  return out;
}

DataType Parser::dtype(const Token& token) {
  try {
    return DataType(token.text);
  } catch (const Error&) {
    fail(token, "`" + token.text + "` is not the type of an element");
  }
}

Array<PrimExpr> Parser::shape() {
  Array<PrimExpr> out;
  sequence('(', ')', [&] {
    const Token& first = next();
    if (first.is('?')) {
      AnyDim any;
      any.dtype = DataType::Int(32);
      out.push_back(make(std::move(any)));
    } else if (first.word == Word::Meta) {
      --at_;
      auto extent = downcast_or_null<PrimExpr>(metadata_object());
      if (!extent) fail(first, "this metadata is not an extent");
      next();
      out.push_back(extent);
    } else if (first.word == Word::Integer) {
      out.push_back(int_imm(first.dtype, first.integer));
    } else {
      fail(first, "expected an extent found " + name_of(first));
    }
  });
  return out;
}

Type Parser::type() {
  return nested([&]() -> Type {
    const Token& first = peek();
    if (first.is('(')) {
      TupleType tuple;
      sequence('(', ')', [&] { tuple.fields_.push_back(type()); });
      return make(std::move(tuple));
    }
    if (accept(Word::Fn)) {
      Scope scope(*this);
      FuncType function;
      function.type_params = Array<TypeVar>(type_params());
      sequence('(', ')', [&] { function.arg_types.push_back(type()); });
      expect('-');
      expect('>');
      function.ret_type = type();
      return make(std::move(function));
    }
    if (accept(Word::RefCreate)) {
      RefType ref;
      expect('(');
      ref.value = type();
      expect(')');
      return make(std::move(ref));
    }
    if (accept('_')) return make(IncompleteType());
    if (first.word == Word::Meta) {
      auto found = downcast_or_null<Type>(metadata_object());
      if (!found) fail(first, "this metadata is not a type");
      next();
      return found;
    }
    if (first.word != Word::Identifier) fail(first, "failed to parse type found " + name_of(first));
    return named_type();
  });
}

Type Parser::named_type() {
  const Token& first = next();
  if (first.text == "Tensor" && peek().is('[')) {
    next();
    Array<PrimExpr> extents = shape();
    expect(',');
    DataType element = dtype(expect(Word::Identifier, "the type of elements"));
    expect(']');
    return TensorType(extents, element);
  }
  auto var = type_vars_.find(first.text);
  bool is_var = var != type_vars_.end() && !var->second.empty();
  if (!is_var && !type_names_.count(first.text)) {
    for (const char* scalar : {"int", "uint", "float", "bool", "bfloat"})
      if (first.text.starts_with(scalar)) return TensorType::scalar(dtype(first));
  }
  Type head = is_var ? Type(var->second.back()) : Type(type_name(first));
  TypeCall call;
  call.func = head;
  if (peek().is('[')) sequence('[', ']', [&] { call.args.push_back(type()); });
  if (is_var && call.args.empty()) return head;
  return make(std::move(call));
}

/// True where `name = value` follows, the name with dots or without.
bool Parser::at_attribute() const {
  if (peek().word == Word::End) return false;
  auto is_name = [](const Token& token) { return !token.text.empty() && token.word >= Word::Let; };
  size_t i = 0;
  while (peek(i).word == Word::Identifier || is_name(peek(i))) {
    if (peek(i + 1).is('=')) return !peek(i + 2).is('=');
    if (!peek(i + 1).is('.')) return false;
    i += 2;
  }
  return false;
}

std::string Parser::dotted_name() {
  std::string name = next().text;
  while (peek().is('.') && !peek(1).text.empty() && peek(1).word != Word::Text) {
    next();
    name += "." + next().text;
  }
  return name;
}

Map<String, ObjectRef> Parser::attributes() {
  Map<String, ObjectRef> out;
  do {
    std::string key = dotted_name();
    expect('=');
    out.set(String(key), attribute_value());
  } while (peek().is(',') && [&] {
    next();
    bool more = at_attribute();
    if (!more) --at_;
    return more;
  }());
  return out;
}

ObjectRef Parser::attribute_value() {
  return nested([&]() -> ObjectRef {
    const Token& first = peek();
    switch (first.word) {
      case Word::Integer: next(); return int_imm(first.dtype, first.integer);
      case Word::Float: next(); return float_imm(first.dtype, first.number);
      case Word::Boolean: next(); return bool_imm(first.integer != 0);
      case Word::Text: next(); return String(first.text);
      case Word::Meta: {
        ObjectRef found = metadata_object();
        next();
        return found;
      }
      case Word::Identifier:
        if (first.text == "None" || first.text == "nullptr") {
          next();
          return nullptr;
        }
        break;
      case Word::Symbol:
        if (first.symbol == '?') {
          next();
          AnyDim any;
          any.dtype = DataType::Int(32);
          return make(std::move(any));
        }
        if (first.symbol == '[') {
          Array<ObjectRef> items;
          sequence('[', ']', [&] { items.push_back(attribute_value()); });
          return items;
        }
        if (first.symbol == '(') {
          next();
          ObjectRef inside = attribute_value();
          expect(')');
          return inside;
        }
        break;
      default: break;
    }
    return atom();
  });
}

/// Attributes of a type by name. Numbers and lists become what the fields want.
Attrs Parser::make_attrs(const std::string& type_key, const Map<String, ObjectRef>& values, const Token& at) {
  const TypeInfo* info = find_type(type_key);
  if (!info || !info->create) fail(at, "there are no attributes of type `" + type_key + "`");
  ObjectRef made(info->create());
  if (!made.as<AttrsNode>()) fail(at, "`" + type_key + "` is not a type of attributes");
  if (made.as<DictAttrsNode>()) return DictAttrs(values);
  for (const auto& [key, value] : values) {
    const Field* field = info->find(key);
    if (!field) {
      std::string names;
      for (const Field& known : info->fields()) names += (names.empty() ? "" : ", ") + std::string(known.name);
      throw Error(AttributeError) << type_key << " has no attribute \"" << key << "\"; it has "
                                  << (names.empty() ? "none" : names) << "\n"
                                  << underlined(span_of(at), mod_->source_map);
    }
    try {
      set_field(made.edit(), *field, Any::of_object(value.get()));
    } catch (const Error& error) {
      fail(at, "the attribute `" + to_text(key) + "`: " + error.message());
    }
  }
  return downcast<Attrs>(made);
}

}  // namespace tessera::relay
