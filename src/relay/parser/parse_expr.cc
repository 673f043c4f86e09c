// Expressions, patterns and functions.

#include <limits>

#include "relay/op_names.h"
#include "relay/parser/nesting.h"
#include "runtime/function/element.h"

namespace tessera::relay {
namespace {

struct Infix {
  std::string_view op;
  int precedence;
  int tokens;
};

template <class T>
Expr made(T node, const Span& span = nullptr) {
  node.span = span;
  return make(std::move(node));
}

Expr let_at(const Var& var, const Expr& value, const Expr& body, const Span& span) {
  Let let;
  let.var = var;
  let.value = value;
  let.body = body;
  return made(std::move(let), span);
}

/// The text of one span with what another tells.
Span told_at(const Span& where, const Span& told) {
  auto* text = where.as<TextSpan>();
  if (!text) return told;
  TextSpan span(*text);
  span.line = told->line;
  span.column = told->column;
  span.end_line = told->end_line;
  span.end_column = told->end_column;
  return make(std::move(span));
}

}  // namespace

void Parser::set_span(const Expr& expr, const Token& first, const Token& last) {
  // Names and shared expressions move to their last use in what is told; what is underlined stays where they were made.
  Span span = span_over(source_name_, first, last);
  if (expr->span && expr->span->source_name.same_as(source_name_)) {
    bool is_part = expr.as<VarNode>() || first.word == Word::GraphVar;
    if (is_part) span = told_at(expr->span, span);
  }
  expr.edit()->span = span;
}

Expr Parser::expr() {
  return nested([&] {
    return with_span([&]() -> Expr {
      std::vector<Expr> values;
      do {
        if (peek().is('{')) {
          values.push_back(with_span([&] { return block(); }));
        } else if (accept(Word::FreeVar)) {
          const Token& name = expect(Word::Local, "a local variable");
          Type annotation = accept(':') ? type() : Type();
          Var var = make_local(String(name.text), annotation);
          vars_[name.text].insert(vars_[name.text].begin(), var);  // known everywhere, behind all that is bound
        } else if (peek().word == Word::Let || (peek().word == Word::GraphVar && peek(1).is('='))) {
          values.push_back(bindings());
        } else if (peek().word == Word::Match || peek().word == Word::PartialMatch) {
          bool complete = next().word == Word::Match;
          values.push_back(with_span([&] { return match(complete); }));
        } else if (peek().word == Word::If) {
          values.push_back(with_span([&] { return if_else(); }));
        } else {
          values.push_back(infix());
        }
      } while (accept(';'));
      if (values.empty()) fail(peek(), "expected an expression found " + name_of(peek()));
      // a; b evaluates a for its effect
      Expr body = values.back();
      for (size_t i = values.size() - 1; i-- > 0;)
        body = let_at(make_local("", make(IncompleteType())), values[i], body, merged(values[i]->span, body->span));
      return body;
    });
  });
}

Expr Parser::block() {
  expect('{');
  Scope scope(*this);
  Expr body = expr();
  expect('}');
  return body;
}

/// A chain of `let %x = e;` and `%0 = e;` with the expression that ends it, in a loop. As the value of a let the chain
/// ends with its first expression: `let %a = let %b = e; add(%b, %b); multiply(%a, %a)` binds %b inside the value of %a.
Expr Parser::bindings(bool is_value) {
  Scope scope(*this);
  auto value_of = [&]() -> Expr {
    if (peek().word != Word::Let) return infix();
    return nested([&] { return with_span([&] { return bindings(true); }); });
  };
  struct Binding {
    Var var;
    Expr value;
    Span span;
  };
  std::vector<Binding> lets;
  for (;;) {
    const Token& first = peek();
    if (first.word == Word::GraphVar && peek(1).is('=')) {
      next(), next();
      Expr value = value_of();
      expect(';');
      graph_[first.integer] = value;
    } else if (accept(Word::Let)) {
      const Token& name = expect(Word::Local, "a local variable");
      if (accept('{')) {  // the virtual device of a variable
        attributes();
        expect('}');
      }
      Type annotation = accept(':') ? type() : Type();
      Var var = bind_var(name.text, annotation);
      expect('=');
      Expr value = value_of();
      expect(';');
      lets.push_back({var, value, span_of(first)});
    } else {
      break;
    }
  }
  Expr body = is_value ? infix() : expr();
  for (size_t i = lets.size(); i-- > 0;)
    body = let_at(lets[i].var, lets[i].value, body, merged(lets[i].span, body->span));
  return body;
}

/// a + b * c, by precedence, all operators to the left.
Expr Parser::infix() {
  auto find_operator = [&]() -> std::optional<Infix> {
    const Token &first = peek(), &second = peek(1);
    if (first.word != Word::Symbol) return {};
    bool equals = second.is('=');
    switch (first.symbol) {
      case '*': return Infix{ops::multiply, 12, 1};
      case '/': return Infix{ops::divide, 12, 1};
      case '+': return Infix{ops::add, 10, 1};
      case '-': return Infix{ops::subtract, 10, 1};
      case '<': return equals ? Infix{ops::less_equal, 8, 2} : Infix{ops::less, 8, 1};
      case '>': return equals ? Infix{ops::greater_equal, 8, 2} : Infix{ops::greater, 8, 1};
      case '=': return equals ? std::optional(Infix{ops::equal, 7, 2}) : std::nullopt;
      case '!': return equals ? std::optional(Infix{ops::not_equal, 7, 2}) : std::nullopt;
      default: return {};
    }
  };
  return with_span([&]() -> Expr {
    std::vector<Expr> values{with_span([&] { return call(); })};
    std::vector<std::pair<Infix, size_t>> pending;
    auto reduce = [&] {
      auto [op, at] = pending.back();
      pending.pop_back();
      Expr right = values.back();
      values.pop_back();
      Expr left = values.back();
      Op found = Op::find(op.op);
      if (!found)
        fail(tokens_[at], "operator `" + std::string(op.op) + "` not found, perhaps you forgot to register it?");
      values.back() = make_call(found, {left, right}, nullptr, {}, merged(left->span, right->span));
    };
    while (auto op = find_operator()) {
      size_t at = at_;
      for (int i = 0; i < op->tokens; ++i) next();
      while (!pending.empty() && pending.back().first.precedence >= op->precedence) reduce();
      pending.emplace_back(*op, at);
      values.push_back(with_span([&] { return call(); }));
    }
    while (!pending.empty()) reduce();
    return values[0];
  });
}

Expr Parser::call() {
  return with_span([&]() -> Expr {
    Expr value = atom();
    while (peek().is('(')) value = call_arguments(value);
    // a constructor without fields is a value by itself
    auto* constructor = value.as<ConstructorNode>();
    if (constructor && constructor->inputs.empty()) return make_call(value, {});
    return value;
  });
}

Expr Parser::call_arguments(const Expr& op) {
  const Token& first = peek();
  Array<Expr> args;
  Attrs attrs;
  Map<String, ObjectRef> values;
  sequence('(', ')', [&] {
    if (at_attribute()) {
      for (const auto& [key, value] : attributes()) values.set(key, value);
    } else if (peek().word == Word::Meta && downcast_or_null<Attrs>(metadata_object())) {
      attrs = downcast<Attrs>(metadata_object());
      next();
    } else {
      args.push_back(expr());
    }
  });
  auto* named = op.as<OpNode>();
  std::string key = named ? to_text(named->attrs_type_key) : "";
  if (!named && values.count("attrs_type_key")) {
    auto given = downcast_or_null<String>(values["attrs_type_key"]);
    if (!given) fail(first, "attrs_type_key must be a string");
    key = given.str();
    values.erase("attrs_type_key");
  }
  if (key.empty() && !values.empty()) fail(first, "this call takes no attributes");
  if (!attrs && !key.empty()) attrs = make_attrs(key, values, first);
  return make_call(op, args, attrs);
}

Expr Parser::atom() {
  Expr value = with_span([&] { return atom_without_index(); });
  while (peek().is('.') && peek(1).word == Word::Integer) {
    next();
    const Token& index = next();
    if (index.integer < 0 || index.integer > std::numeric_limits<int32_t>::max())
      fail(index, "the index of a field counts from 0");
    TupleGetItem item;
    item.tuple = value;
    item.index = static_cast<int32_t>(index.integer);
    value = made(std::move(item), merged(span_of(index), value->span));
  }
  return value;
}

Expr Parser::atom_without_index() {
  const Token& first = peek();
  switch (first.word) {
    case Word::Integer:
    case Word::Float:
    case Word::Boolean: next(); return number(first);
    case Word::Local: {
      next();
      auto found = vars_.find(first.text);
      if (found == vars_.end() || found->second.empty())
        fail(first, "the local variable `%" + first.text + "` has not been previously declared");
      return found->second.back();
    }
    case Word::Global: next(); return global(first);
    case Word::GraphVar: {
      next();
      auto found = graph_.find(first.integer);
      if (found == graph_.end())
        fail(first, "`%" + std::to_string(first.integer) + "` has not been previously defined");
      return found->second;
    }
    case Word::Identifier: return named();
    case Word::Meta: {
      Expr found = downcast_or_null<Expr>(metadata_object());
      if (!found) fail(first, "this metadata is not an expression");
      next();
      return found;
    }
    case Word::Fn: next(); return function();
    case Word::RefCreate: {
      next();
      RefCreate ref;
      expect('(');
      ref.value = expr();
      expect(')');
      return made(std::move(ref));
    }
    case Word::RefRead: {
      next();
      RefRead ref;
      expect('(');
      ref.ref = expr();
      expect(')');
      return made(std::move(ref));
    }
    case Word::RefWrite: {
      next();
      RefWrite ref;
      expect('(');
      ref.ref = expr();
      expect(',');
      ref.value = expr();
      expect(')');
      return made(std::move(ref));
    }
    case Word::If: return with_span([&] { return if_else(); });
    case Word::Match:
    case Word::PartialMatch: next(); return match(first.word == Word::Match);
    case Word::Symbol:
      if (first.symbol == '(') return parenthesised();
      [[fallthrough]];
    default: fail(first, "expected an expression found " + name_of(first));
  }
}

Expr Parser::parenthesised() {
  expect('(');
  if (accept(')')) return made(Tuple());
  Expr first = expr();
  if (accept(')')) return first;
  Tuple tuple;
  tuple.fields_.push_back(first);
  while (!accept(')')) {
    if (!accept(',')) fail(peek(), "expected a `,` or a `)` found " + name_of(peek()));
    if (accept(')')) break;
    tuple.fields_.push_back(expr());
  }
  return made(std::move(tuple));
}

/// A constructor or an operator, whose name may have dots.
Expr Parser::named() {
  const Token& first = peek();
  if (auto found = constructors_.find(first.text); found != constructors_.end()) {
    next();
    return found->second;
  }
  size_t begin = at_;
  std::string name = dotted_name();
  if (Op op = Op::find(name)) return op;
  diagnostics_.fatal(span_over(source_name_, tokens_[begin], tokens_[at_ - 1]),
                     "operator `" + name + "` not found, perhaps you forgot to register it?");
}

Expr Parser::number(const Token& token) {
  Constant constant;
  DataType dtype = token.dtype;
  if (token.word == Word::Boolean) constant.data = int_scalar(token.integer != 0, DataType::Bool());
  else if (dtype.code == DataType::kInt) constant.data = int_scalar(token.integer, dtype);
  else constant.data = float_scalar(token.number, dtype);
  return made(std::move(constant));
}

Expr Parser::if_else() {
  next();
  If node;
  node.cond = with_span([&] {
    expect('(');
    Expr cond = expr();
    expect(')');
    return cond;
  });
  node.true_branch = block();
  if (!accept(Word::Else)) fail(peek(), "expected an `else` found " + name_of(peek()));
  node.false_branch = block();
  return made(std::move(node));
}

Expr Parser::match(bool complete) {
  Match node;
  node.complete = complete;
  node.data = atom();
  sequence('{', '}', [&] {
    Scope scope(*this);
    ClauseNode clause;
    clause.lhs = pattern();
    expect('=');
    expect('>');
    clause.rhs = expr();
    node.clauses.push_back(make(std::move(clause)));
  });
  return made(std::move(node));
}

std::vector<Pattern> Parser::patterns() {
  std::vector<Pattern> out;
  sequence('(', ')', [&] { out.push_back(pattern()); });
  return out;
}

Pattern Parser::pattern() {
  size_t start = at_;
  Pattern out = nested([&]() -> Pattern {
    const Token& first = peek();
    if (accept('_')) return make(PatternWildcard());
    if (first.word == Word::Local) {
      PatternVar node;
      node.var = parameter();
      return make(std::move(node));
    }
    if (accept(Word::Identifier)) {
      auto found = constructors_.find(first.text);
      if (found == constructors_.end())
        fail(first, "undefined constructor name `" + first.text +
                        "`, perhaps you intended to write a pattern variable, considering changing this to `%" +
                        first.text + "`");
      PatternConstructor node;
      node.constructor = found->second;
      if (peek().is('(')) node.patterns = Array<Pattern>(patterns());
      return make(std::move(node));
    }
    if (!first.is('(')) fail(first, "expected a pattern found " + name_of(first));
    PatternTuple node;
    node.patterns = Array<Pattern>(patterns());
    return make(std::move(node));
  });
  out.edit()->span = span_over(source_name_, tokens_[start], tokens_[at_ - 1]);
  return out;
}

/// `%x` or `%x: T`, bound from here on.
Var Parser::parameter() {
  const Token& name = expect(Word::Local, "a local variable");
  if (accept('{')) {  // the virtual device of a variable
    attributes();
    expect('}');
  }
  return bind_var(name.text, accept(':') ? type() : Type());
}

/// [T](%x: T, Primitive=1) -> T { body }, what stands after `fn` or the name of a definition.
Function Parser::function() {
  return nested([&] {
    return with_span([&] {
      Scope scope(*this);
      FunctionNode node;
      node.type_params = Array<TypeVar>(type_params());
      Map<String, ObjectRef> attrs;
      sequence('(', ')', [&] {
        if (!at_attribute()) return node.params.push_back(parameter());
        for (const auto& [key, value] : attributes()) attrs.set(key, value);
      });
      if (peek().is('-') && peek(1).is('>')) {
        next(), next();
        node.ret_type = type();
      }
      node.body = block();
      if (attrs.count("virtual_device")) {
        node.virtual_device_ = attrs["virtual_device"];
        attrs.erase("virtual_device");
      }
      node.attrs = DictAttrs(attrs);
      return Function(make(std::move(node)));
    });
  });
}

}  // namespace tessera::relay
