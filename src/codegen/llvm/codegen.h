#pragma once
// From low-level PrimFuncs (flat buffers, no blocks, no thread bindings) to one LLVM module.
//
// Meanings that TIR leaves open and this translation fixes:
//   - signed and unsigned integers wrap in values; in indices and loop bounds they are promised not to;
//   - x / 0 and x % 0 of integers do not trap: they give x and 0; min / -1 gives min;
//   - Min and Max of floats are NaN where either operand is; of 0 and -0 they are either;
//   - a float that does not fit an integer type casts to what truncated_bits (ir/prim/match.h) says;
//   - bool and sub-byte integers take a byte in memory, where any non-zero bool is true;
//   - arithmetic of 16-bit floats is that of float32, rounded to nearest even after each operation.
// A function gives 0, or -1 with the last error set. What cannot be translated is an Error that names the node.

#include "codegen/llvm/lane_offsets.h"
#include "codegen/llvm/machine/target_machine.h"

namespace tessera::codegen {

/// What a machine does with float16 by itself.
enum class HalfSupport { None, Conversions, Arithmetic };
HalfSupport half_support(const llvm::TargetMachine& target);

/// True where an instruction rounds vectors of float32 to bfloat16.
bool rounds_to_bfloat(const llvm::TargetMachine& target);
/// Registers in which a machine scales floats by powers of two with one instruction.
enum class ScaleSupport { None, Wide, All };
ScaleSupport scale_support(const llvm::TargetMachine& target);
/// Which of x86's instructions turn floats into integers: each has all that those before it have.
enum class TruncateSupport { None, Sse, Avx, Avx512, Avx512Dq };
TruncateSupport truncate_support(const llvm::TargetMachine& target);
/// How the minimum and maximum of float16 are made, where there is arithmetic of float16.
enum class HalfExtremum { Widened, Native, Comparisons };
HalfExtremum half_extremum(const llvm::TargetMachine& target);

class CodeGen {
 public:
  CodeGen(llvm::LLVMContext& context, const llvm::TargetMachine& target, const Machine& machine,
          const std::string& name);
  virtual ~CodeGen() = default;

  /// All functions are declared before the first is defined, so that they may call each other.
  virtual void declare(const GlobalVar& var, const PrimFunc& function);
  virtual void define(const GlobalVar& var);
  /// The function that the module itself stands for when it is called.
  void set_entry(const std::string& symbol);
  std::unique_ptr<llvm::Module> finish();

 protected:
  using Value = llvm::Value;
  using Values = std::vector<llvm::Value*>;

  /// Memory of the runtime's that has to be given back on every way out of a function.
  struct Workspace {
    Value *device_type, *device_id, *data;
  };

  /// What changes when code goes on in another LLVM function (a parallel body, a compute scope).
  struct FunctionState {
    llvm::Function* function = nullptr;
    std::unordered_map<const VarNode*, Value*> vars;
    Value* parallel_env = nullptr;  // inside a parallel body: its environment, task number and number of tasks
    Value* task_id = nullptr;
    Value* num_task = nullptr;
    bool in_parallel_loop = false, stride_pattern = false;
    // Of a function that unpacks its arguments: what is read from them is read again wherever it is used, because dozens of
    // pointers, shapes and strides at once would be more than the registers hold.
    bool unpacks = false;
    std::unordered_map<const VarNode*, PrimExpr> reads;
    llvm::PHINode* message = nullptr;    // of the assertion that failed, in the block that all of them share
    std::vector<Workspace> workspaces;   // those that are allocated here
    llvm::AllocaInst* failed = nullptr;  // what the function gives back at its end, once an index was outside
  };

  // types.cc
  llvm::Type* value_type(DataType dtype);   // in a register
  llvm::Type* memory_type(DataType dtype);  // one element in memory
  llvm::FunctionType* function_type(const PrimFunc& function);
  Value* from_memory(Value* value, DataType dtype);
  Value* to_memory(Value* value, DataType dtype);
  llvm::Constant* constant_int(int bits, int64_t value) { return builder_.getIntN(unsigned(bits), uint64_t(value)); }
  Value* splat(Value* scalar, int lanes);

  // casts.cc
  Value* cast(Value* value, DataType from, DataType to);
  Value* reinterpret(Value* value, DataType from, DataType to);
  Value* truncate(Value* value, DataType from, DataType to);  // of floats to integers: truncate.cc
  Value* truncate_to_signed(Value* value, DataType from, DataType to);
  Value* to_index(Value* value, DataType dtype);  // any integer as i64

  // fp16_bf16.cc
  bool is_kept_as_bits(DataType dtype) const;
  Value* widen(Value* bits, DataType dtype);    // such a value as float32
  Value* narrow(Value* value, DataType dtype);  // and back
  Value* round_to_odd(Value* value, DataType from);

  // expressions.cc, arithmetic.cc
  Value* emit(const PrimExpr& e);
  Value* dispatch(const PrimExprNode* e);
  Value* emit_bool(const PrimExpr& condition);  // one bit; vectors are rejected
  template <class Node>
  Value* binary(const Node* op);
  Value* arithmetic(const NodeInfo* op, DataType dtype, Value* a, Value* b);
  Value* compare(const NodeInfo* op, DataType dtype, Value* a, Value* b);
  Value* extremum(bool is_min, DataType dtype, Value* a, Value* b);  // min_max.cc
  Value* real_extremum(bool is_min, Value* a, Value* b);
  Value* integer_division(const NodeInfo* op, DataType dtype, Value* a, Value* b);
  Value* visit(const VarNode* op);
  Value* visit(const IntImm* op);
  Value* visit(const FloatImm* op);
  Value* visit(const StringImm* op);
  Value* visit(const Cast* op);
  Value* visit(const Not* op);
  Value* visit(const Select* op);
  Value* visit(const Ramp* op);
  Value* visit(const Broadcast* op);
  Value* visit(const Shuffle* op);
  Value* visit(const Let* op);
  Value* visit(const BufferLoad* op);
  Value* visit(const Call* op);

  // memory.cc
  Value* element_pointer(const Buffer& buffer, const PrimExpr& index);
  Value* pointer_at(Value* base, DataType element, Value* index);
  Value* load(const Buffer& buffer, const PrimExpr& index, DataType dtype);
  void store(const Buffer& buffer, const PrimExpr& index, Value* value, DataType dtype);
  void note_lanes(const VarNode* var, const PrimExpr& value);
  bool is_defined_here(const PrimExpr& e);
  Value* concat_lanes(Value* a, Value* b);
  llvm::Type* scalable_type(llvm::Type* type);
  Value* to_scalable(Value* vector);
  Value* shuffled(Value* a, Value* b, llvm::ArrayRef<int> mask);
  Value* load_shuffled(const Buffer& buffer, const PrimExpr& index, DataType dtype);
  Value* load_lanes(Value* base, DataType element, Value* indices, int lanes);
  void store_lanes(Value* base, DataType element, Value* indices, Value* value, int lanes);
  llvm::Align alignment(const Buffer& buffer, const PrimExpr& index, int lanes);
  Value* entry_alloca(llvm::Type* type, Value* count, uint64_t align, const std::string& name);
  Value* masked_load(const Call* op);
  Value* masked_store(const Call* op);

  // calls.cc, intrinsics.cc, math.cc: one function per builtin, found by name
  using Emitter = Value* (CodeGen::*)(const Call*);
  static const std::unordered_map<std::string_view, Emitter>& emitters();
  Values emit_args(const Call* op, size_t from = 0);
  Value* call_function(llvm::Function* callee, const Call* op, size_t first_argument);
  Value* call_extern(const Call* op);
  Value* call_extern_named(const std::string& name, const Call* op, size_t first_argument, bool pure);
  Value* call_llvm_intrin(const Call* op);
  Values as_bfloats(Values args);
  Value* call_global(const GlobalVarNode* callee, const Call* op);
  Value* bitwise(const Call* op);
  Value* shift(const Call* op);
  Value* large_uint(const Call* op);
  Value* if_then_else(const Call* op);
  Value* address_of(const Call* op);
  Value* access_ptr(const Call* op);
  Value* reinterpret_call(const Call* op);
  Value* rounded_to_bfloat(const Call* op);
  Value* is_nan(const Call* op);
  Value* is_null(const Call* op);
  Value* pass_through(const Call* op);
  Value* no_value(const Call* op);
  Value* undefined(const Call* op);
  Value* prefetch(const Call* op);
  Value* atomic_add(const Call* op);
  Value* vector_part(const Call* op);
  Value* return_value(const Call* op);
  Value* q_multiply_shift(const Call* op);
  Value* count_bits(const Call* op);
  Value* math(const Call* op);
  enum class Angle { Sine, Cosine, Tangent };
  virtual Value* trigonometric(Value* x, DataType dtype, Angle function);
  Value* small_angle(Value* x, DataType dtype, Angle function);  // |x| < 2^20
  Value* power(Value* x, Value* y, DataType dtype);              // float64
  Value* times_power_of_two(Value* y, Value* n, DataType dtype);
  virtual Value* scalar_math_call(const std::string& name, DataType dtype, const Values& args,
                                  const std::vector<DataType>& types);
  Value* by_lane(Value* value, const std::function<Value*(Value*)>& change);
  virtual Value* storage_sync(const Call* op);
  virtual Value* warp_call(const Call* op);

  // packed.cc: the packed calling convention
  llvm::StructType* tensor_type();
  Value* struct_get(const Call* op);
  Value* struct_set(const Call* op);
  Value* struct_field(Value* handle, const PrimExpr& index, int kind, DataType* type);
  Value* stack_alloca(const Call* op);
  Value* call_packed(const Call* op);
  Value* call_c_packed(const Call* op);
  Value* call_trace_packed(const Call* op);
  struct PackedCall {
    Value* ret_value;
    Value* ret_code;
    int64_t end;
  };
  PackedCall call_packed_lowered(const Call* op, bool by_name);
  Value* packed_handle(const std::string& name);
  Value* throw_last_error(const Call* op);
  Value* static_handle(const Call* op);

  // checked_index.cc
  Value* checked_index(const Call* op);
  /// Notes that lanes of `index` where `is_bad` holds are no indices of `extent` elements.
  virtual void report_index(const std::string& where, Value* is_bad, Value* index, Value* extent);
  std::pair<Value*, Value*> first_bad(Value* is_bad, Value* index, Value* extent);  // as int64
  llvm::Function* index_error_function();
  Value* status_at_end();  // 0, or what a bad index left

  // integer_arguments.cc
  void extend_result(llvm::Function* function, DataType dtype);
  void extend_argument(llvm::CallInst* call, size_t position, DataType dtype);
  void extend_ints();  // of the whole module

  // runtime_calls.cc: calls of the runtime through pointers that the loader fills
  bool is_runtime_function(const std::string& name) const;
  Value* call_runtime(const std::string& name, const Values& args);
  Value* runtime_pointer(const std::string& symbol);
  void check_status(Value* status);  // returns it from the function when it is not 0
  void return_failure(Value* status);
  void fail_with(const std::string& message);
  void require(Value* holds, const std::string& message);  // or the function ends here with the message
  Value* string_constant(const std::string& text);

  // statements.cc
  void emit(const Stmt& stmt);
  void dispatch(const StmtNode* stmt);
  bool reads_argument(const PrimExpr& e);
  void note_derived(const LetStmt* op);
  void visit(const LetStmt* op);
  void visit(const AttrStmt* op);
  virtual void thread_extent(const AttrStmt* op);
  virtual void visit(const AssertStmt* op);
  void visit(const BufferStore* op);
  virtual void visit(const Allocate* op);
  void visit(const AllocateConst* op);
  void visit(const DeclBuffer* op);
  void visit(const SeqStmt* op);
  void visit(const Evaluate* op);
  void visit(const IfThenElse* op);
  void visit(const For* op);
  void visit(const While* op);
  void emit_loop(const Var& var, Value* begin, Value* end, Value* step, const Stmt& body);

  // outline.cc: bodies that become functions of their own
  using Captured = std::vector<std::pair<const VarNode*, Value*>>;  // variables and their values outside
  llvm::Function* outline(const std::string& name, const std::vector<llvm::Type*>& leading, const Captured& captured,
                          const std::function<void()>& body);
  void compute_scope(const AttrStmt* op);
  virtual void parallel_loop(const For* op);
  void parallel_launch(const Stmt& body, const std::string& name, llvm::Value* tasks = nullptr);
  llvm::Value* tasks_of(const For* op);
  void run_share(const For* op);
  void import_llvm(const std::string& source);
  Captured captured_by(const Stmt& body);
  std::string local_name(const std::string& suffix);

  void prepare_function(llvm::Function* function);
  void define_variable(const VarNode* var, Value* value) { state_.vars[var] = value; }
  void start_block(llvm::BasicBlock* block) { builder_.SetInsertPoint(block); }
  llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(context_, name, state_.function); }
  bool is_terminated() { return builder_.GetInsertBlock()->getTerminator() != nullptr; }

  llvm::LLVMContext& context_;
  const Machine& machine_;
  HalfSupport half_;
  bool rounds_to_bfloat_;
  ScaleSupport scale_;
  TruncateSupport truncate_;
  HalfExtremum half_extremum_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> builder_;
  llvm::MDBuilder metadata_;
  llvm::PointerType* ptr_;
  llvm::IntegerType *i1_, *i8_, *i32_, *i64_;
  FunctionState state_;
  bool in_index_ = false;           // integer arithmetic is promised not to overflow
  bool restricted_ = false;         // pointers of this function do not alias
  bool has_compute_scope_ = false;  // its work is in a function of its own
  uint64_t impure_ = 0;             // grows with each call that must not be repeated or left out

  struct Known {
    Value* value;
    llvm::BasicBlock* block;
    ObjectRef keep;
  };
  std::unordered_map<const Object*, Known> known_[2];  // shared parts of the statement at hand, by in_index_

  struct Declared {
    PrimFunc function;
    llvm::Function* llvm;
  };
  std::unordered_map<const GlobalVarNode*, Declared> functions_;
  std::unordered_map<std::string, llvm::GlobalVariable*> strings_, packed_handles_;
  std::unordered_map<const VarNode*, uint64_t> alignments_;  // of memory that is ours
  std::unordered_set<const VarNode*> volatile_;
  KnownLanes known_lanes_;
  /// Pointers into memory that another variable names too, which is null where nobody knows it.
  std::unordered_map<const VarNode*, const VarNode*> derived_;
  std::unordered_map<std::string, int> outlined_;
};

/// Runs LLVM's middle end over the module; see optimize.cc for the list.
void optimize(llvm::Module& module, llvm::TargetMachine& target, const Machine& machine);
/// Throws InternalError with LLVM's words when the module is not well formed.
void verify(const llvm::Module& module);

}  // namespace tessera::codegen
