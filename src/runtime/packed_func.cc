#include "runtime/packed_func.h"

#include <memory>
#include <optional>

namespace tessera {
namespace {

thread_local std::optional<Error> thread_last_error;

}  // namespace

PackedFunc::PackedFunc(PackedFuncNode::Body body) : Ref(nullptr) {
  PackedFuncNode node;
  node.body = std::move(body);
  *this = PackedFunc(make(std::move(node)).get());
}

PackedFunc PackedFunc::from_c(TesseraPackedCFunc function, void* resource, TesseraPackedCFuncFinalizer finalize) {
  std::shared_ptr<void> keep(resource, [finalize](void* r) {
    if (finalize) finalize(r);
  });
  return PackedFunc([function, keep](Args args, Any* result) {
    int status =
        function(const_cast<TesseraValue*>(args.values), const_cast<int*>(args.codes), args.count, result, keep.get());
    if (status != 0) throw_last_error();
  });
}

void set_last_error(Error error) { thread_last_error = std::move(error); }

const Error* last_error() { return thread_last_error ? &*thread_last_error : nullptr; }

void throw_last_error() {
  if (!thread_last_error) throw Error(RuntimeError) << "a called function failed without saying why";
  Error error = *std::exchange(thread_last_error, std::nullopt);
  throw error;
}

void throw_argument_count(const std::string& name, int expected, int got) {
  throw Error(TypeError) << name << " takes " << expected << " arguments, got " << got;
}

void throw_argument(const std::string& name, int index, const Error& cause) {
  if (cause.kind() != TypeError) throw cause;
  throw Error(TypeError) << name << ", argument " << index << ": " << cause.message();
}

namespace {
register_types<PackedFuncNode> packed_func_types;
}  // namespace

}  // namespace tessera
