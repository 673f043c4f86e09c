#pragma once
// The parts of a program that all its functions share, while it is being compiled.

#include <deque>

#include "ir/target/virtual_device.h"
#include "kernel/kernel_table.h"
#include "runtime/vm/executable.h"

namespace tessera::relay {

/// A function that is known where it is called: its index in the program, and the variables of the scope around it that
/// it takes before its own parameters.
struct KnownFunction {
  uint32_t index = 0;
  std::vector<Var> captured;
};
using KnownFunctions = std::unordered_map<const Object*, KnownFunction>;  // by variable

/// A function that waits to be compiled.
struct PendingFunction {
  uint32_t index;
  Function function;
  std::vector<Var> captured;
  KnownFunctions known;  // those of the scope around it, and itself
};

class ProgramBuilder {
 public:
  ProgramBuilder(IRModule mod, CompilationConfig config, const PassContext& passes);

  /// The index of a global function; an error when there is none of that name.
  uint32_t function_of(const GlobalVar& var) const;
  /// An index for an inner function, which is compiled later.
  uint32_t add_function(const std::string& name, const Function& function, std::vector<Var> captured,
                        KnownFunctions known);
  /// The index that the next function added will have.
  uint32_t next_function() const { return static_cast<uint32_t>(program_.functions.size()); }
  /// The function that makes a value of a data type, for constructors that are used as values.
  uint32_t constructor_function(const ConstructorNode* constructor);
  int32_t constant(const NDArray& data);
  /// Where a value is: its `virtual_device_`, or the default where it has none.
  VirtualDevice device_of(const Expr& expr) const;
  /// The index of a device among the program's.
  int32_t device_index(const VirtualDevice& device);
  /// The kernel of a primitive function whose shapes are fixed.
  int32_t kernel(const Function& primitive, const Target& target);
  /// The kernel of one whose shapes are not, and how those of its results are found: by shape programs or a kernel.
  struct Dynamic {
    Function primitive;
    Target target;
    int32_t kernel = -1;
    std::vector<int32_t> shapes;
    int32_t shape_kernel = -1;
    std::vector<bool> by_value;  // which tensors, rather than their shapes, the shape kernel takes
  };
  const Dynamic& dynamic_kernel(const Function& primitive, const Target& target);
  /// The index of what a kernel was made from among the program's; -1 where nobody knows it.
  int32_t source(const Function& primitive);
  int32_t tag_of(const ConstructorNode* constructor) const;
  /// The host among the program's devices.
  int32_t host() { return device_index(config_->host_virtual_device); }

  /// Compiles everything that `entry` reaches; call once.
  vm::Program build();
  /// All kernels, scheduled; call once, after it.
  kernel::KernelSet kernels() { return kernels_.finish(); }
  /// Shape functions, which run on the host.
  const IRModule& host_kernels() const { return host_kernels_; }

 private:
  int32_t primitive(const std::string& name);

  IRModule mod_, host_kernels_;
  CompilationConfig config_;
  kernel::KernelTable kernels_;
  std::vector<PrimExpr> extents_;                      // variables that dynamic extents of kernels are named by
  std::unordered_multimap<int64_t, Dynamic> dynamic_;  // by the hash of the primitive function
  vm::Program program_;
  NameSupply names_;
  std::unordered_map<const Object*, uint32_t> globals_, constructors_;
  std::unordered_map<const Object*, int32_t> constants_;
  std::unordered_map<std::string, int32_t> primitives_, sources_;
  std::deque<PendingFunction> pending_;
};

/// The code of one function; functions inside it are handed to the builder.
vm::Function compile_function(ProgramBuilder& program, const std::string& name, const PendingFunction& pending);

}  // namespace tessera::relay
