#include "relay/print_text.h"

#include "base/stack.h"
#include "ir/module_types.h"
#include "ir/repr.h"
#include "relay/walk.h"
#include "runtime/registry.h"
#include "tir/function.h"
#include "tir/print.h"

namespace tessera::relay {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string joined(const std::vector<std::string>& parts, std::string_view between = ", ") {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += between;
    out += part;
  }
  return out;
}

/// `text` with every line after a newline two columns further in.
std::string indented(const std::string& text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}
std::string braced(const std::string& text) { return "{" + indented("\n" + text) + "\n}"; }

bool stands_where_it_is(const Expr& expr) {
  return expr.as<GlobalVarNode>() || expr.as<Constant>() || expr.as<OpNode>() || expr.as<VarNode>() ||
         expr.as<ConstructorNode>();
}

bool is_relay(const Object* object) {
  bool other_function = object->is_a(BaseFuncNode::info) && !object->is_a(FunctionNode::info);
  return object->is_a(RelayExprNode::info) && !other_function;
}

}  // namespace

std::string RelayPrinter::unique(const std::string& wanted) {
  std::string name = wanted;
  while (names_.count(name)) name = wanted + std::to_string(++names_[wanted]);
  names_.emplace(name, 0);
  return name;
}

std::string RelayPrinter::info(const Expr& expr) {
  if (!informed_.insert(expr.get()).second) return "";
  if (annotate_) return annotate_(expr);
  bool has_comment = expr.as<Constant>() || expr.as<Call>() || expr.as<VarNode>() || expr.as<FunctionNode>() ||
                     expr.as<Tuple>() || expr.as<TupleGetItem>();
  if (!has_comment || (!expr->checked_type_ && !expr->span)) return "";
  std::string out = " /*";
  if (expr->checked_type_) out += " ty=" + type(expr->checked_type_);
  if (const Span& span = expr->span)
    out += " span=" + to_text(span->source_name ? span->source_name->name : String("")) + ":" +
           std::to_string(span->line) + ":" + std::to_string(span->column);
  return out + " */";
}

std::string RelayPrinter::declare(const Var& var) {
  if (auto it = memo_.find(var.get()); it != memo_.end()) return it->second + "-malformed-ir";
  std::string name = var->name_hint().str();
  if (name.empty() || !is_letter(name[0])) name = "v" + name;
  name = unique("%" + name);
  memo_[var.get()] = name;
  if (var->virtual_device_) name += " {virtual_device=" + attribute(var->virtual_device_.get()) + "}";
  if (var->type_annotation) name += ": " + type(var->type_annotation);
  return name + info(var);
}

void RelayPrinter::count_uses(const Expr& root) {
  std::vector<Expr> todo{root};
  std::unordered_set<const Object*> seen{root.get()};
  while (!todo.empty()) {
    Expr expr = todo.back();
    todo.pop_back();
    each_child(expr, [&](const Expr& child) {
      ++uses_[child.get()];
      if (seen.insert(child.get()).second) todo.push_back(child);
    });
  }
}

void RelayPrinter::visit_leaf(const Expr& expr) {
  std::string text = on_enough_stack([&] { return node(expr); });
  // a variable names itself while it is visited: it is free
  if (memo_.count(expr.get())) {
    free_[expr.get()] = std::move(text);
  } else {
    memo_[expr.get()] = std::move(text);
  }
}

void RelayPrinter::visit(const Expr& root) {
  std::vector<std::pair<Expr, bool>> stack;
  auto push = [&](const Expr& expr) {
    if (!memo_.count(expr.get())) stack.emplace_back(expr, false);
  };
  push(root);
  while (!stack.empty()) {
    auto& [expr, operands_done] = stack.back();
    if (memo_.count(expr.get())) {
      stack.pop_back();
    } else if (operands_done) {
      Expr ready = expr;
      stack.pop_back();
      visit_leaf(ready);
    } else {
      operands_done = true;
      std::vector<Expr> operands;
      each_operand(expr, [&](const Expr& operand) { operands.push_back(operand); });
      for (size_t i = operands.size(); i-- > 0;) push(operands[i]);
    }
  }
}

std::string RelayPrinter::print(const Expr& expr, Position position) {
  if (!expr) return "(nullptr)";
  auto used = uses_.find(expr.get());
  bool shared = used != uses_.end() && used->second > 1;
  bool inlined = stands_where_it_is(expr) || (position == Position::ScopeEnd && !shared);
  visit(expr);
  bool is_kept = !inlined || stands_where_it_is(expr);  // else its text has one reader, and nested ones would add up
  std::string text = is_kept ? memo_[expr.get()] : std::move(memo_.extract(expr.get()).mapped());
  if (!inlined && expr.as<Let>() && !placed_.count(expr.get())) text = "(" + indented("\n" + text) + "\n)";
  text += info(expr);
  if (expr.as<VarNode>()) {
    if (auto declared = free_.find(expr.get()); placed_.insert(expr.get()).second && declared != free_.end())
      scopes_.back() += "free_var " + declared->second + ";\n";
    return memo_[expr.get()];
  }
  if (!is_kept) return text;
  if (inlined) return memo_[expr.get()] = text;
  if (!placed_.insert(expr.get()).second) return memo_[expr.get()];
  std::string name = "%" + std::to_string(temporaries_++);
  scopes_.back() += name + " = " + text + ";\n";
  return memo_[expr.get()] = name;
}

std::string RelayPrinter::scope(const Expr& expr) {
  scopes_.emplace_back();
  std::string end = on_enough_stack([&] { return print(expr, Position::ScopeEnd); });
  std::string text = std::move(scopes_.back()) + end;
  scopes_.pop_back();
  return text;
}

std::string RelayPrinter::body(const Expr& expr) { return braced(scope(expr)); }

std::string RelayPrinter::node(const Expr& expr) {
  if (auto* var = expr.as<VarNode>()) return declare(Var(var));
  if (auto* global = expr.as<GlobalVarNode>()) return "@" + to_text(global->name_hint);
  if (auto* op = expr.as<OpNode>()) return to_text(op->name);
  if (auto* constructor = expr.as<ConstructorNode>()) return to_text(constructor->name_hint);
  if (auto* node = expr.as<Constant>()) return constant(node);
  if (auto* node = expr.as<Call>()) return call(node);
  if (auto* node = expr.as<FunctionNode>()) return function("fn ", node);
  if (expr.as<Let>()) return lets(expr);
  if (auto* node = expr.as<Match>()) return match(node);
  if (auto* item = expr.as<TupleGetItem>()) return print(item->tuple) + "." + std::to_string(item->index);
  if (auto* ref = expr.as<RefCreate>()) return "ref(" + print(ref->value) + ")";
  if (auto* ref = expr.as<RefRead>()) return "ref_read(" + print(ref->ref) + ")";
  if (auto* ref = expr.as<RefWrite>()) {
    std::string target = print(ref->ref);
    return "ref_write(" + target + ", " + print(ref->value) + ")";
  }
  if (auto* tuple = expr.as<Tuple>()) {
    std::vector<std::string> fields;
    for (const Expr& field : tuple->fields_) fields.push_back(print(field));
    return "(" + joined(fields) + (fields.size() == 1 ? ",)" : ")");
  }
  if (auto* cond = expr.as<If>()) {
    std::string text = "if (" + print(cond->cond) + ") ";  // numbers are given in the order of these lines
    text += body(cond->true_branch);
    return text + " else " + body(cond->false_branch);
  }
  return repr(expr.get());
}

std::string RelayPrinter::call(const Call* call) {
  std::vector<std::string> args;
  for (const Expr& arg : call->args) args.push_back(print(arg));
  if (call->attrs) {
    auto* op = call->op.as<OpNode>();
    if (show_metadata_ && op && op->attrs_type_key != call->attrs->type_key()) {
      args.push_back(metadata_.reference(call->attrs.get()));
    } else {
      attributes(call->attrs, &args);
      if (!op) args.push_back("attrs_type_key=" + quoted(call->attrs->type_key()));
    }
  }
  auto* constructor = call->op.as<ConstructorNode>();
  std::string name = constructor ? to_text(constructor->name_hint) : print(call->op);
  return constructor && constructor->inputs.empty() ? name : name + "(" + joined(args) + ")";
}

std::string RelayPrinter::lets(Expr expr) {
  // What the values of a chain need is written between its lines; the first one's goes before the chain.
  size_t first = scopes_.size();
  while (auto* let = expr.as<Let>()) {
    std::string name = declare(let->var);
    std::string value = print(let->value, Position::ScopeEnd);
    std::string line = "let " + name + " = " + value + ";\n";
    if (scopes_.size() == first) {
      scopes_.push_back(std::move(line));
    } else {
      scopes_.back() += line;
    }
    expr = let->body;
  }
  std::string end = scope(expr);
  std::string text = std::move(scopes_.back()) + end;
  scopes_.pop_back();
  return text;
}

std::string RelayPrinter::function(const std::string& prefix, const FunctionNode* function) {
  std::string text = prefix;
  if (!function->type_params.empty()) {
    std::vector<std::string> names;
    for (const TypeVar& param : function->type_params) names.push_back(to_text(param->name_hint));
    text += "[" + joined(names) + "]";
  }
  std::vector<std::string> params;
  for (const Var& param : function->params) params.push_back(declare(param));
  if (function->attrs)
    for (const auto& [key, value] : function->attrs->dict)
      params.push_back(to_text(key) + "=" + attribute(value.get()));
  if (function->virtual_device_) params.push_back("virtual_device=" + attribute(function->virtual_device_.get()));
  text += "(" + joined(params) + ") ";
  if (function->ret_type) text += "-> " + type(function->ret_type) + " ";
  return text + body(function->body);
}

std::string RelayPrinter::match(const Match* match) {
  std::string text = std::string("match") + (match->complete ? "" : "?") + " (" + print(match->data) + ") ";
  std::vector<std::string> clauses;
  for (const Clause& clause : match->clauses) {
    std::string lhs = pattern(clause->lhs);
    clauses.push_back(lhs + " => " + body(clause->rhs) + ",");
  }
  return text + braced(joined(clauses, "\n"));
}

std::string RelayPrinter::pattern(const Pattern& pattern) {
  if (auto* var = pattern.as<PatternVar>()) return declare(var->var);
  const Array<Pattern>* parts = nullptr;
  std::string text;
  if (auto* constructor = pattern.as<PatternConstructor>()) {
    text = to_text(constructor->constructor->name_hint);
    if (constructor->patterns.empty()) return text;
    parts = &constructor->patterns;
  } else if (auto* tuple = pattern.as<PatternTuple>()) {
    parts = &tuple->patterns;
  }
  if (!parts) return "_";
  std::vector<std::string> texts;
  for (const Pattern& part : *parts) texts.push_back(on_enough_stack([&] { return this->pattern(part); }));
  return text + "(" + joined(texts) + ")";
}

std::string RelayPrinter::final(const ObjectRef& object) {
  if (!object) return "(nullptr)";
  if (auto* mod = object.as<IRModuleNode>()) return module(IRModule(mod));
  if (auto* data = object.as<TypeDataNode>()) return type_definition(data);
  if (object.as<TypeNode>()) return type(downcast<Type>(object));
  if (object.as<PatternNode>()) return pattern(downcast<Pattern>(object));
  if (!is_relay(object.get())) return text_form(object);
  Expr expr = downcast<Expr>(object);
  count_uses(expr);
  return scope(expr);
}

std::string RelayPrinter::module(const IRModule& mod) {
  std::vector<std::string> parts;
  for (const TypeData& data : sorted_types(mod)) parts.push_back(type_definition(data.get()) + "\n");
  for (const auto& [var, base] : mod.sorted_functions()) {
    if (auto* relay = base.as<FunctionNode>()) {
      count_uses(base);
      parts.push_back(function("def @" + to_text(var->name_hint), relay) + "\n");
    } else {
      parts.push_back("@" + to_text(var->name_hint) + " = " + text_form(base) + "\n");
    }
  }
  return joined(parts, "\n");
}

std::string text_of(const ObjectRef& object) {
  RelayPrinter printer(false, nullptr);
  std::string text = printer.final(object);
  return printer.metadata().empty() ? text : text + "\n";
}

std::string text_with_metadata(const ObjectRef& object, bool show_metadata, const Annotate& annotate) {
  RelayPrinter printer(show_metadata, annotate);
  std::string text = "#[version = \"0.0.5\"]\n" + printer.final(object);
  if (printer.metadata().empty()) return text;
  if (show_metadata) return text + "\n#[metadata]\n" + printer.metadata().json();
  return text +
         "\n/* For debugging purposes the metadata section has been omitted.\n"
         " * If you would like to see the full metadata section you can set the \n"
         " * option to `True` when invoking `astext`. \n"
         " */";
}

namespace {

/// What belongs to loops is printed there; a module of such functions only, too.
bool is_of_loops(const Object* object) {
  if (auto* mod = cast_or_null<IRModuleNode>(object)) {
    if (!mod->type_definitions.empty()) return false;
    for (const auto& [_, function] : mod->functions)
      if (function.as<FunctionNode>()) return false;
    return !mod->functions.empty();
  }
  return !object || !(is_relay(object) || object->is_a(TypeNode::info) || object->is_a(PatternNode::info));
}

Globals print_text_globals{
    {"ir.PrettyPrint",
     [](AnyView object) {
       ObjectRef boxed = box(object);
       return is_of_loops(boxed.get()) ? text_form(boxed) : text_of(boxed);
     }},
    {"ir.AsText",
     [](AnyView object, bool show_metadata, PackedFunc annotate) {
       ObjectRef boxed = box(object);
       if (is_of_loops(boxed.get())) return text_form_with_metadata(boxed, show_metadata);
       Annotate note;
       if (annotate) note = [annotate](const ObjectRef& expr) { return annotate(expr).to<std::string>(); };
       return text_with_metadata(boxed, show_metadata, note);
     }},
};

}  // namespace
}  // namespace tessera::relay
