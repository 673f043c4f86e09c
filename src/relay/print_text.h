#pragma once
// The text form of Relay, which the parser reads back:
//
//   #[version = "0.0.5"]
//   def @main(%x: Tensor[(2, 3), float32]) {
//     %0 = exp(%x);
//     add(%0, 1f)
//   }
//
// Sharing is explicit: an expression that is not the end of a scope, or is used more than once, gets a number. What has
// no text (large constants, unusual attributes) is shown as meta[type][index] and written out after the program.

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relay/pattern.h"

namespace tessera::relay {

/// The text put after an expression instead of its type.
using Annotate = std::function<std::string(const ObjectRef&)>;

/// The text of an expression, a type, a pattern or a module.
std::string text_of(const ObjectRef& object);
/// The same after the line of the version; with the metadata written out, or a remark that it was left out.
std::string text_with_metadata(const ObjectRef& object, bool show_metadata, const Annotate& annotate = nullptr);

/// Types have a text of their own, used in messages too.
std::string type_text(const Type& type);

/// Objects shown as meta[type][index], in order of appearance.
class MetaSection {
 public:
  std::string reference(const Object* node);
  bool empty() const { return lists_.empty(); }
  std::string json() const;

 private:
  std::vector<std::pair<std::string, std::vector<ObjectRef>>> lists_;
  std::unordered_map<const Object*, std::string> known_;
};

class RelayPrinter {
 public:
  RelayPrinter(bool show_metadata, Annotate annotate) : show_metadata_(show_metadata), annotate_(std::move(annotate)) {}

  std::string final(const ObjectRef& object);
  std::string module(const IRModule& mod);
  const MetaSection& metadata() const { return metadata_; }

  std::string type(const Type& type);
  std::string attribute(const Object* value, bool force_metadata = false);
  /// name=value for each attribute of a call that is worth showing.
  void attributes(const Attrs& attrs, std::vector<std::string>* out);

 private:
  /// What print() is asked for: an operand, or the end of a scope, which stands where it is unless it is shared.
  enum class Position { Operand, ScopeEnd };

  std::string print(const Expr& expr, Position position = Position::Operand);
  std::string scope(const Expr& expr);
  std::string body(const Expr& expr);
  /// The text of one node; its operands are numbered, if they need it, on the way.
  std::string node(const Expr& expr);
  std::string call(const Call* call);
  std::string lets(Expr expr);
  std::string function(const std::string& prefix, const FunctionNode* function);
  std::string match(const Match* match);
  std::string pattern(const Pattern& pattern);
  std::string constant(const Constant* constant);
  std::string primitive(const ObjectRef& prim_func);
  std::string type_definition(const TypeDataNode* data);

  /// Names a variable where it is bound; with its type.
  std::string declare(const Var& var);
  /// The type and span of an expression as a comment, the first time it is asked for.
  std::string info(const Expr& expr);
  std::string unique(const std::string& wanted);
  /// Makes the texts of `expr` and of all its operands that have none yet, operands first, without recursion.
  void visit(const Expr& expr);
  void visit_leaf(const Expr& expr);
  void count_uses(const Expr& root);

  bool show_metadata_;
  Annotate annotate_;
  MetaSection metadata_;
  std::vector<std::string> scopes_{""};                  // the lines of each open scope
  std::unordered_map<const Object*, std::string> memo_;  // what stands for an expression
  std::unordered_map<const Object*, std::string> free_;  // declarations of variables met before they were bound
  std::unordered_set<const Object*> placed_, informed_;  // written into a scope; told its type
  std::unordered_map<const Object*, int> uses_;
  std::unordered_map<std::string, int> names_;
  int temporaries_ = 0;
};

}  // namespace tessera::relay
