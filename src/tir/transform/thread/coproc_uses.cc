#include "tir/transform/thread/coproc_uses.h"

#include "ir/builtin.h"
#include "ir/rewrite.h"
#include "tir/stmt.h"

namespace tessera {

Access access_of(const ObjectRef& root) {
  Access out;
  walk(
      root, [&](const BufferLoad* op) { out.reads.insert(op->buffer->data.get()); },
      [&](const BufferStore* op) { out.writes.insert(op->buffer->data.get()); },
      [&](const Call* op) {
        if (!builtin::is(op, builtin::tvm_access_ptr())) return;
        const int64_t* mode = as_int(op->args[4]);
        auto* data = op->args[1].as<VarNode>();
        if (!data) return;
        if (!mode || (*mode & 1)) out.reads.insert(data);
        if (!mode || (*mode & 2)) out.writes.insert(data);
      });
  return out;
}

}  // namespace tessera
