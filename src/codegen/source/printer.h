#pragma once
// From low-level PrimFuncs to source in a language of the C family. What C, CUDA C and OpenCL C share is here; a dialect
// derives from SourcePrinter and says how its types, its memory, its threads and its library look.
//
// Meanings are those of machine code (codegen/llvm/codegen.h): integers wrap in values, x / 0 gives x and x % 0 gives 0,
// a bool takes a byte in memory, 16-bit floats are rounded after each operation.
//
// A vector is a list of lanes: an operation on vectors is written lane by lane, whereas neighbouring elements are loaded
// and stored at once where the dialect has a type for them. A part of an expression that must not be written twice
// becomes a variable in front of the statement; inside a branch that may not run it stays inside the branch.

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "tir/function.h"

namespace tessera::codegen {

using Lanes = std::vector<std::string>;

class SourcePrinter {
 public:
  explicit SourcePrinter(std::vector<std::string> reserved_words);
  virtual ~SourcePrinter() = default;

 protected:
  // ---- what a dialect says ----

  /// The type of a scalar in a variable, and of an element in memory.
  virtual std::string value_type(DataType dtype) = 0;
  virtual std::string memory_type(DataType dtype) = 0;
  /// "float*", with the address space of `scope` where the dialect has them.
  virtual std::string pointer_to(const std::string& element, const std::string& scope);
  /// The value of an element read as text, and the element's text for a value.
  virtual std::string from_memory(const std::string& element, DataType dtype);
  virtual std::string to_memory(const std::string& value, DataType dtype);
  virtual std::string load_element(const std::string& pointer, const std::string& index, DataType dtype);
  virtual void store_element(const std::string& pointer, const std::string& index, const std::string& value,
                             DataType dtype);
  /// True where neighbouring elements `first`, ... can be moved as one value of a vector type.
  virtual bool has_vector_access(DataType, const Buffer&, const PrimExpr& /*first*/) { return false; }
  virtual Lanes load_vector(const std::string& /*pointer*/, const std::string& /*index*/, DataType) { return {}; }
  virtual void store_vector(const std::string& /*pointer*/, const std::string& /*index*/, const Lanes&, DataType) {}

  virtual std::string constant(const FloatImm* op);
  virtual std::string cast_scalar(const std::string& value, DataType from, DataType to);
  virtual std::string bits_as(const std::string& value, DataType from, DataType to) = 0;
  /// A real function of the dialect's library on scalars; empty where there is none.
  virtual std::string math_call(const std::string& name, DataType dtype, const Lanes& args) = 0;
  /// The minimum or maximum of two floats that may be NaN; both are names.
  virtual std::string extremum_of_floats(bool is_min, DataType dtype, const std::string& a, const std::string& b);
  /// A 16-bit float is a float that has just these values, unless the dialect computes with them natively.
  virtual std::string rounded(const std::string& value, DataType dtype) = 0;
  /// Calls of operators that only this dialect knows; false leaves them to the common ones.
  virtual bool visit_call(const Call*, Lanes* /*out*/) { return false; }
  virtual bool visit_attr(const AttrStmt*) { return false; }
  virtual void visit_loop(const For* op);
  virtual void allocate(const Allocate* op, int64_t count);
  virtual void allocate_const(const AllocateConst* op);
  virtual void fail_with(const std::string& message);
  virtual std::string call_extern(const std::string& name, const Call* op, size_t first_argument);
  virtual const char* suffix_of_long() const { return "LL"; }
  virtual const char* inline_function() const { return "static inline"; }

  // ---- expressions: expressions.cc, arithmetic.cc, calls.cc ----

  Lanes emit(const PrimExpr& e);
  std::string text(const PrimExpr& e);       // of a scalar
  std::string condition(const PrimExpr& e);  // of a scalar that is asked whether it holds
  std::string index(const PrimExpr& e);      // integer arithmetic that does not overflow
  /// A name or a number: something that may be written twice.
  std::string atom(const std::string& value, DataType dtype);
  std::string declare_temporary(DataType dtype, const std::string& value);

  Lanes dispatch(const PrimExprNode* e);
  Lanes visit(const VarNode* op);
  Lanes visit(const IntImm* op);
  Lanes visit(const FloatImm* op);
  Lanes visit(const StringImm* op);
  Lanes visit(const Cast* op);
  Lanes visit(const Not* op);
  Lanes visit(const Select* op);
  Lanes visit(const Ramp* op);
  Lanes visit(const Broadcast* op);
  Lanes visit(const Shuffle* op);
  Lanes visit(const Let* op);
  Lanes visit(const BufferLoad* op);
  Lanes visit(const Call* op);
  Lanes visit(const BinaryNode* op);
  std::string binary(const NodeInfo* op, DataType dtype, std::string a, std::string b);
  Lanes extremum(const BinaryNode* op, Lanes a, Lanes b);
  std::string truncated(const std::string& value, DataType from, DataType to);
  std::string wrapped(const char* op, DataType dtype, const std::string& a, const std::string& b);
  std::string integer_division(const NodeInfo* op, DataType dtype, const std::string& a, const std::string& b);
  std::string narrowed(const std::string& value, DataType dtype);  // to the bits the type has
  std::string int_constant(DataType dtype, int64_t value);
  Lanes each_lane(const Call* op, const std::function<std::string(const Lanes&)>& write);
  int64_t constant_argument(const Call* op, size_t i);

  // one function per builtin, found by name
  using Emitter = Lanes (SourcePrinter::*)(const Call*);
  static const std::unordered_map<std::string_view, Emitter>& emitters();
  Lanes bitwise(const Call* op);
  Lanes shift(const Call* op);
  Lanes if_then_else(const Call* op);
  Lanes pass_through(const Call* op);
  Lanes no_value(const Call* op);
  Lanes undefined(const Call* op);
  Lanes reinterpret_call(const Call* op);
  Lanes lanes_as(const Lanes& lanes, DataType from, DataType to);
  Lanes is_null(const Call* op);
  Lanes is_nan(const Call* op);
  Lanes large_uint(const Call* op);
  Lanes address_of(const Call* op);
  Lanes access_ptr(const Call* op);
  Lanes call_by_name(const Call* op);
  Lanes q_multiply_shift(const Call* op);
  Lanes vector_part(const Call* op);
  Lanes math(const Call* op);

  // ---- memory: memory.cc ----

  std::string pointer(const VarNode* data, DataType element);  // as a pointer to `element`
  std::string scope_of(const VarNode* data) const;
  Lanes load(const Buffer& buffer, const PrimExpr& index, DataType dtype);
  void store(const Buffer& buffer, const PrimExpr& index, const Lanes& value, DataType dtype);
  /// Is `first` certainly a multiple of `lanes`?
  static bool is_multiple_of(const PrimExpr& first, int lanes);

  // ---- statements: statements.cc ----

  void emit(const Stmt& stmt);
  void dispatch(const StmtNode* stmt);
  void visit(const LetStmt* op);
  void visit(const AttrStmt* op);
  void visit(const AssertStmt* op);
  void visit(const BufferStore* op);
  void visit(const Allocate* op);
  void visit(const AllocateConst* op);
  void visit(const DeclBuffer* op);
  void visit(const SeqStmt* op);
  void visit(const Evaluate* op);
  void visit(const IfThenElse* op);
  void visit(const For* op);
  void visit(const While* op);
  void emit_loop(const std::string& var, const std::string& type, const std::string& begin, const std::string& end,
                 const std::string& step, const Stmt& body);

  // ---- text: printer.cc ----

  void line(const std::string& text);
  /// "head {", the body, "}": names declared inside are gone afterwards.
  void block(const std::string& head, const std::function<void()>& body);
  /// What `body` writes, as text of its own.
  std::string captured(const std::function<void()>& body);
  std::string fresh_name(const std::string& wanted);
  /// A name for a variable of the program.
  std::string define(const VarNode* var);
  void define(const VarNode* var, std::string text) { names_[var] = std::move(text); }
  /// A definition that stands in front of all functions, once.
  void need(const std::string& name, const std::string& definition);
  std::string symbol_of(const GlobalVar& var, const PrimFunc& function) const;
  void start_function();

  struct MemoryInfo {
    std::string element;  // what the variable's own pointer type points to
    std::string scope;
  };

  std::string out_;
  int indent_ = 0;
  std::vector<std::pair<std::string, std::string>> helpers_;
  std::set<std::string> have_helpers_, reserved_;
  std::unordered_map<std::string, int> used_names_;
  std::unordered_map<const VarNode*, std::string> names_;
  std::unordered_map<const VarNode*, MemoryInfo> memory_;
  std::unordered_set<const VarNode*> volatile_;
  std::unordered_map<const GlobalVarNode*, std::pair<std::string, PrimFunc>> functions_;
  bool in_index_ = false;
  const Object* statement_ = nullptr;  // a call whose value is not wanted

 private:
  struct Known {
    ObjectRef keep;
    Lanes lanes;
  };
  std::unordered_map<const Object*, Known> known_[2];  // parts of the statement at hand that have names, by in_index_
};

/// `text` as a string literal.
std::string quoted(const std::string& text);
/// False for integer arithmetic over variables and constants.
bool reads_data(const PrimExpr& e);
/// True for a name or a number.
bool is_atom(const std::string& text);
/// Functions of a module in the order of their names; anything but a PrimFunc is an error.
std::vector<std::pair<GlobalVar, PrimFunc>> prim_funcs(const IRModule& mod);

}  // namespace tessera::codegen
