// Values take the type of the memory they are stored in.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {

/// X[i] = value   =>   X[i] = cast(X's type, value)   where the types differ. Addresses stay what they are.
Stmt cast_stores(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const BufferStore* op) -> Stmt {
    Stmt out = self.children(op);
    auto* store = out.as<BufferStore>();
    DataType from = store->value.dtype(), to = store->buffer->dtype.with_lanes(from.lanes);
    if (from == to || from.is_handle() || to.is_handle()) return out;
    return with(store, &BufferStore::value, cast(to, store->value));
  });
}

}  // namespace tessera
