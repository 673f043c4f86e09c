#pragma once
// The printer behind tvm_script (tir/print.h). Statements and expressions are rows of one table; this class keeps what
// they share: the text, names in scope, and what the head of the function has to define.

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/json/node_table.h"
#include "tir/function.h"
#include "tir/print/printer.h"

namespace tessera {

class ScriptPrinter : public PrinterOf<ScriptPrinter, 4> {
 public:
  explicit ScriptPrinter(std::string prefix) : prefix_(std::move(prefix)) {}

  void print(const Object* node);
  /// T.name
  ScriptPrinter& dialect(std::string_view name) { return *this << prefix_ << "." << name; }
  /// The child of an operator, in parentheses where it binds less tightly than `limit`.
  void operand(const PrimExpr& e, int limit);

  /// What `print` prints, apart.
  template <class F>
  std::string captured(F&& print) {
    std::string outer = std::exchange(text, "");
    print();
    return std::exchange(text, std::move(outer));
  }

  /// Nothing follows the present statement in its sequence.
  bool is_last() const { return is_last_; }
  /// The statement at the present indentation; a sequence line by line.
  void body(const Stmt& stmt);
  /// The statement under `head:`, four columns further in.
  void suite(const Stmt& stmt);
  /// A statement that holds inside its body: `concise` and the body after it where nothing else follows, else
  /// `with wide:` and the body under it. `extra` prints what belongs right before the body.
  void scoped(const std::string& wide, const std::string& concise, const Stmt& inner,
              const std::function<void()>& extra = nullptr);

  // ---- marks ----
  static constexpr char kMarkBegin = '\x01', kMarkEnd = '\x02';
  /// Asks for the head of a loop or block to be printed between these characters, below `# label`.
  void mark(const Object* node, std::string label) { marked_.try_emplace(node, std::move(label)); }
  bool is_marked(const Object* node) const { return marked_.count(node) > 0; }
  template <class F>
  void marked(const Object* node, F&& print) {
    auto it = marked_.find(node);
    if (it == marked_.end()) return print();
    *this << "# " << it->second;
    newline();
    text += kMarkBegin;
    print();
    text += kMarkEnd;
  }

  // ---- names ----
  const std::string& name_of(const VarNode* var);
  const std::string& name_of(const BufferNode* buffer);
  bool is_named(const VarNode* var) const { return var_names_.count(var) > 0; }
  void set_name(const VarNode* var, std::string name) { var_names_[var] = std::move(name); }
  /// The variable gets its value here, so the head need not define it (unless it was used before).
  void define(const VarNode* var);
  /// Ends the scope of a loop or block variable: its name may be used again.
  void release(const VarNode* var);
  void define_thread(const VarNode* var, const std::string& tag);
  /// The same for a thread, unless it is launched again elsewhere or another kind of thread has its name: readers give
  /// each launch of a name that is declared more than once a thread of its own.
  void release_thread(const VarNode* var);

  // ---- buffers ----
  /// , dtype="float32", data=..., strides=... : everything after the shape that differs from the usual.
  void buffer_options(const BufferNode* buffer);
  void declare_buffer(const BufferNode* buffer, std::string_view with);  // A = T.with([8], dtype="float32")
  /// Declares the buffers of the function that are views of `data`, one line each with the line end after it.
  void declare_views(const VarNode* data);
  /// Not declared yet, and in terms of variables that the statements around define.
  bool needs_scope(const BufferNode* buffer) const;
  void mark_declared(const BufferNode* buffer) { declared_.insert(buffer); }
  void region(const BufferNode* buffer, const Array<Range>& ranges);

  // ---- loops around the present statement ----
  void enter_loop(const For* loop) { loops_[loop->loop_var.get()] = loop; }
  void leave_loop(const For* loop) { loops_.erase(loop->loop_var.get()); }
  const For* loop_of(const PrimExpr& e) const;

  void function(const PrimFuncNode* function, const std::string& name);
  void module(const IRModuleNode* mod);
  /// {"key":value, ...}; `colon` stands between key and value.
  void dictionary(const Map<String, ObjectRef>& entries, std::string_view colon = ":");
  /// A value among attributes, where plain text is a String and not an expression.
  void value(const ObjectRef& object);
  void type(const VarNode* var);  // T.int32, T.handle, T.Ptr[T.float32]

 private:
  std::string unique(std::string wanted);
  void look_through(const PrimFuncNode* function);
  void declare_var(const VarNode* var);
  bool is_own_pointer(const BufferNode* buffer) const;
  bool is_own_offset(const BufferNode* buffer) const;
  void function_head(const std::string& attrs, const std::string& matched, const std::vector<Buffer>& matched_buffers);
  bool is_simple(const BufferNode* buffer) const;
  std::string parameters(const PrimFuncNode* function, std::vector<std::string>* matched,
                         std::vector<Buffer>* matched_buffers);

  std::string prefix_;
  bool is_last_ = true;
  std::unordered_map<const Object*, std::string> marked_;  // with their labels
  std::unordered_map<std::string, int> taken_;
  std::unordered_map<const VarNode*, std::string> var_names_;
  std::unordered_map<const BufferNode*, std::string> buffer_names_;
  std::vector<const BufferNode*> named_buffers_;
  std::unordered_set<const VarNode*> defined_;
  std::unordered_set<const BufferNode*> declared_;
  std::vector<std::pair<const VarNode*, std::string>> threads_;
  std::unordered_map<const VarNode*, int> launches_;
  std::unordered_map<std::string, std::unordered_set<std::string>> thread_tags_;  // by the name of the variable
  std::unordered_map<const VarNode*, std::vector<const BufferNode*>> views_;
  std::unordered_map<const VarNode*, const For*> loops_;
};

/// The pointer's type is what a declaration of elements of this type gives it (bool is a byte in memory).
bool is_pointer_to(const VarNode* pointer, DataType dtype);

using ScriptHandler = std::function<void(ScriptPrinter&, const Object*)>;
void set_script(const NodeInfo& type, ScriptHandler handler);
using ScriptRows = PrintRows<ScriptPrinter, set_script>;

}  // namespace tessera
