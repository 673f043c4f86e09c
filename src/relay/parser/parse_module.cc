// Modules, and the entry points.

#include "ir/json/json.h"
#include "ir/module_types.h"
#include "relay/parser/nesting.h"
#include "relay/print_text.h"
#include "relay/type/infer_type.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {

Parser::Parser(const IRModule& mod, const String& source_name, const String& text, const MetaTable& metadata)
    : mod_(mod.copy()),
      source_name_(make(SourceNameNode{.name = source_name})),
      diagnostics_(nullptr),
      metadata_(metadata.defined() ? metadata : MetaTable()) {
  SourceMapNode sources;
  if (auto* known = mod->source_map.as<SourceMapNode>()) sources.sources = known->sources;
  sources.sources.set(source_name, make(SourceNode{.source_name = source_name_, .source = text}));
  mod_.edit()->source_map = make(std::move(sources));
  diagnostics_ = Diagnostics(mod_->source_map);
  tokens_ = tokenize(text, source_name_, diagnostics_);
  for (const auto& [var, _] : mod_->functions) globals_.emplace(var->name_hint.str(), var);
  for (const TypeData& data : sorted_types(mod_)) {
    type_names_.emplace(data->header->name_hint.str(), data->header);
    for (const Constructor& constructor : data->constructors)
      constructors_.emplace(constructor->name_hint.str(), constructor);
  }
  // The metadata stands last and is used before.
  if (tokens_.size() < 2 || tokens_[tokens_.size() - 2].word != Word::Metadata) return;
  this->metadata();
}

void Parser::metadata() {
  const Token& section = tokens_[tokens_.size() - 2];
  ObjectRef loaded;
  try {
    loaded = load_json(section.text);
  } catch (const Error& error) {
    fail(section, "the metadata cannot be read: " + error.message());
  }
  if (!MetaTable::accepts(loaded.get())) fail(section, "the metadata is not a table of lists");
  for (const auto& [key, objects] : MetaTable(loaded.as<MapNode>())) metadata_.set(key, objects);
}

bool Parser::accept(char symbol) { return peek().is(symbol) && (next(), true); }
bool Parser::accept(Word word) { return peek().word == word && (next(), true); }

const Token& Parser::expect(char symbol) {
  if (!peek().is(symbol)) fail(peek(), std::string("expected a `") + symbol + "` found " + name_of(peek()));
  return next();
}

const Token& Parser::expect(Word word, const char* what) {
  if (peek().word != word) fail(peek(), std::string("expected ") + what + " found " + name_of(peek()));
  return next();
}

void Parser::fail(const Token& token, const std::string& message) { diagnostics_.fatal(span_of(token), message); }

Var Parser::bind_var(const std::string& name, const Type& type) {
  Var var = make_local(String(name), type);
  vars_[name].push_back(var);
  bound_vars_.push_back(name);
  return var;
}

GlobalVar Parser::global(const Token& token) {
  auto [it, added] = globals_.try_emplace(token.text);
  if (added) {
    GlobalVarNode var;
    var.name_hint = String(token.text);
    it->second = make(std::move(var));
    first_uses_.emplace(token.text, static_cast<size_t>(&token - tokens_.data()));
  }
  return it->second;
}

GlobalTypeVar Parser::type_name(const Token& token) {
  auto [it, added] = type_names_.try_emplace(token.text);
  if (added) {
    it->second = make(GlobalTypeVarNode{.name_hint = String(token.text), .kind = TypeKind::AdtHandle});
    first_type_uses_.emplace(token.text, static_cast<size_t>(&token - tokens_.data()));
  }
  return it->second;
}

ObjectRef Parser::metadata_object() {
  const Token& token = peek();
  Array<ObjectRef> objects = metadata_.get_or_null(String(token.text));
  if (!objects.defined()) fail(token, "no entry in the meta table for `" + token.text + "`");
  if (static_cast<size_t>(token.integer) >= objects.size())
    fail(token, "the node index `" + std::to_string(token.integer) + "` is out of bounds for `" + token.text + "`");
  return objects[static_cast<size_t>(token.integer)];
}

void Parser::version(bool required) {
  const Token& first = peek();
  if (first.word == Word::Version) {
    if (first.text != "\"0.0.5\"") diagnostics_.error(span_of(first), "invalid semantic version `" + first.text + "`");
    next();
  } else if (required) {
    diagnostics_.error(span_of(first), "expected text format semantic version, found " + name_of(first));
    diagnostics_.help(span_of(first), "you can annotate it as #[version = \"0.0.5\"]");
  }
  diagnostics_.throw_errors();
}

void Parser::definitions() {
  std::vector<std::pair<GlobalVar, Function>> functions;
  for (;;) {
    if (accept(Word::Def)) {
      const Token& name = expect(Word::Global, "the name of a function");
      GlobalVar var = global(name);
      first_uses_.erase(name.text);
      functions.emplace_back(var, function());
    } else if (peek().word == Word::Type) {
      type_definition();
    } else if (accept(Word::Extern)) {
      const Token& first = peek();
      if (first.word != Word::Type) fail(first, "expected a `type` found " + name_of(first));
      size_t before = constructors_.size();
      type_definition();
      if (constructors_.size() != before) fail(first, "an external type may not have any constructors");
    } else {
      break;
    }
  }
  for (const auto& [var, function] : functions) mod_.update(var, function);
}

void Parser::type_definition() {
  next();
  Scope scope(*this);
  const Token& name = expect(Word::Identifier, "the name of a type");
  TypeDataNode data;
  data.header = type_name(name);
  first_type_uses_.erase(name.text);
  data.type_vars = Array<TypeVar>(type_params());
  if (peek().is('{')) {
    sequence('{', '}', [&] {
      const Token& token = expect(Word::Identifier, "the name of a constructor");
      ConstructorNode constructor;
      constructor.name_hint = String(token.text);
      constructor.belong_to = data.header;
      if (peek().is('(')) sequence('(', ')', [&] { constructor.inputs.push_back(type()); });
      Constructor made = make(std::move(constructor));
      if (!constructors_.emplace(token.text, made).second)
        fail(token, "a constructor with the name `" + token.text + "` was previously defined");
      data.constructors.push_back(made);
    });
  }
  GlobalTypeVar header = data.header;
  update_type(mod_, header, make(std::move(data)));
}

/// A global or a data type that nobody defines is an error where it is first used.
void Parser::check_globals() {
  for (const auto& [name, token] : first_type_uses_)
    diagnostics_.error(span_of(tokens_[token]), "the data type `" + name + "` is not defined");
  for (const auto& [name, token] : first_uses_)
    diagnostics_.error(span_of(tokens_[token]), "the function `@" + name + "` is not defined");
  diagnostics_.throw_errors();
}

IRModule Parser::module() {
  version(true);
  definitions();
  accept(Word::Metadata);
  if (peek().word != Word::End) fail(peek(), "expected a definition found " + name_of(peek()));
  check_globals();
  return mod_;
}

Expr Parser::expression() {
  version(false);
  Expr out = expr();
  accept(Word::Metadata);
  if (peek().word != Word::End) fail(peek(), "expected end of file found " + name_of(peek()));
  return out;
}

IRModule parse_module(const String& source_name, const String& text, const IRModule& init, const MetaTable& metadata) {
  return infer_type(Parser(init, source_name, text, metadata).module());
}

Expr parse_expr(const String& source_name, const String& text) {
  return Parser(IRModule(), source_name, text, {}).expression();
}

namespace {

/// Rejects a module with an expression whose position in the text is not known.
}  // namespace

IRModule check_spans(const IRModule& mod) {
  for (const auto& [var, function] : mod.sorted_functions()) {
    if (!function.as<FunctionNode>()) continue;
    post_order(function, [&, name = var->name_hint](const Expr& expr) {
      bool has_span = !expr.as<OpNode>() && !expr.as<GlobalVarNode>() && !expr.as<ConstructorNode>();
      if (has_span && !expr->span)
        throw Error(DiagnosticError) << "an expression of @" << name << " has no position in a text:\n"
                                     << text_of(expr);
    });
  }
  return mod;
}

IRModule annotate_spans(const IRModule& mod) { return parse_module("GeneratedSource", text_with_metadata(mod, true)); }

static Globals parse_module_globals{
    {"parser.ParseModuleInContext",
     [](String name, String text, IRModule init, MetaTable metadata) {
       return parse_module(name, text, init ? init : IRModule(), metadata);
     }},
    {"parser.ParseModule", [](String name, String text) { return parse_module(name, text); }},
    {"parser.ParseExpr", parse_expr},
    {"parser.ImportText",
     [](IRModule mod, String name, String text) { update_all(mod, parse_module(name, text, mod)); }},
};

}  // namespace tessera::relay
