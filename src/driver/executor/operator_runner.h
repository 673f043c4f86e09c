#pragma once
// Operators applied to values at once: each is compiled for the types it meets, once.

#include <functional>
#include <string>
#include <unordered_map>

#include "ir/target/target.h"
#include "relay/expr.h"
#include "runtime/module/module.h"

namespace tessera::relay {

/// The type of a tensor or of a tuple of such; an error, in which `what` is named, for any other value.
Type type_of_value(const ObjectRef& value, const std::string& what);

/// A program that is run on values: how an operator without a kernel of its own is evaluated.
using ApplyFunction = std::function<ObjectRef(const Function&, const std::vector<ObjectRef>&)>;

/// Values are tensors (NDArray) and tuples of values (ADT). An operator is compiled as a primitive function of the
/// concrete types of its arguments. One that has no compute is first put in terms of others (SimplifyInference, QNN
/// canonicalization), and one whose result has a shape that depends on values is asked for that shape.
class OperatorRunner {
 public:
  OperatorRunner(Target target, DLDevice device) : target_(std::move(target)), device_(device) {}

  ObjectRef run(const Op& op, const Attrs& attrs, const std::vector<ObjectRef>& args, const ApplyFunction& apply);

 private:
  struct Plan {
    Op op;
    Attrs attrs;         // kept alive: its address is part of the key
    PackedFunc kernel;   // empty where there is an expansion
    Function expansion;  // the same in terms of simpler operators
    Type result;         // what the kernel fills
    bool depends_on_values = false;
  };
  Plan make_plan(const Op& op, const Attrs& attrs, const std::vector<ObjectRef>& args);
  bool expand(const Function& typed, const std::vector<ObjectRef>& args, Plan* plan);
  Type result_for(const Function& typed, const Op& op, const Attrs& attrs, const std::vector<ObjectRef>& args);
  PackedFunc compile(const Function& typed);
  ObjectRef launch(const PackedFunc& kernel, const std::vector<ObjectRef>& args, const Type& result);

  struct Compiled {
    Function primitive;
    Type result;
    PackedFunc kernel;
  };
  Target target_;
  DLDevice device_;
  std::unordered_map<std::string, Plan> plans_;          // by identity of operator and attributes, and by types
  std::unordered_multimap<int64_t, Compiled> compiled_;  // by structure
};

}  // namespace tessera::relay
