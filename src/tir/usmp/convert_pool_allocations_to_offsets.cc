#include <algorithm>
#include <unordered_map>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/usmp/usmp.h"

namespace tessera::usmp {
namespace {

/// A pool of the module: how much of it is needed, and the constants in it.
struct Pool {
  PoolInfo info;
  int64_t bytes = 0;
  Array<ConstantInfo> constants;
};

class Converter {
 public:
  Converter(IRModule mod, const Map<Stmt, PoolAllocation>& allocations, bool printable)
      : mod_(std::move(mod)), allocations_(allocations), printable_(printable) {
    for (const auto& [stmt, allocation] : allocations) add_pool(stmt, allocation);
    for (const auto& [var, function] : mod_.sorted_functions())
      if (function.as<PrimFuncNode>()) needs(var);
  }

  IRModule run() {
    IRModule out = mod_.copy();
    for (const auto& [var, function] : mod_.sorted_functions())
      if (auto* program = function.as<PrimFuncNode>()) out.update(var, converted(var, PrimFunc(program)));
    return out;
  }

 private:
  void add_pool(const Stmt& stmt, const PoolAllocation& allocation) {
    auto [known, is_new] = number_of_.emplace(allocation->pool_info.get(), pools_.size());
    if (is_new) pools_.push_back({allocation->pool_info, 0, {}});
    Pool& pool = pools_[known->second];
    auto grow = [&](DataType dtype, const Array<PrimExpr>& extents) {
      pool.bytes = std::max(pool.bytes, allocation->byte_offset->value + bytes_of(dtype, extents));
    };
    if (auto* op = stmt.as<Allocate>()) return grow(op->dtype, op->extents);
    auto* op = stmt.as<AllocateConst>();
    if (!op)
      throw Error(TypeError) << "a pool allocation is given to an Allocate or AllocateConst, not to a "
                             << stmt->type_key();
    grow(op->dtype, op->extents);
    pool.constants.push_back(make(ConstantInfoNode{
        .name_hint = op->buffer_var->name, .byte_offset = allocation->byte_offset, .data = data_of(op)}));
  }

  NDArray data_of(const AllocateConst* op) const {
    if (op->data) return downcast<NDArray>(op->data);
    auto kept = Array<NDArray>(mod_->attrs.get_attr("constants").as<ArrayNode>());
    return kept[static_cast<size_t>(*as_int(op->irmod_storage_idx))];
  }

  /// The pools that the function or one that it calls touches, in the order of the module's pools.
  const std::vector<size_t>& needs(const GlobalVar& var) {
    auto known = needs_.find(var.get());
    if (known != needs_.end()) return known->second;
    needs_[var.get()] = {};  // a function that calls itself was rejected before
    std::vector<bool> touched(pools_.size());
    auto mark = [&](const Stmt& stmt) {
      if (PoolAllocation found = allocations_.get_or_null(stmt)) touched[number_of_[found->pool_info.get()]] = true;
    };
    walk(
        downcast<PrimFunc>(mod_->functions[var])->body, [&](const Allocate* op) { mark(Stmt(op)); },
        [&](const AllocateConst* op) { mark(Stmt(op)); },
        [&](const Call* call) {
          if (GlobalVar callee = called(call))
            for (size_t pool : needs(callee)) touched[pool] = true;
        });
    std::vector<size_t> out;
    for (size_t i = 0; i < touched.size(); ++i)
      if (touched[i]) out.push_back(i);
    return needs_[var.get()] = out;
  }

  GlobalVar called(const Call* call) const {
    size_t first = 0;
    if (!callee_of(call, mod_, &first)) return {};
    return first == 0 ? downcast<GlobalVar>(call->op) : mod_.find_global_var(call->args[0].as<StringImm>()->value);
  }

  PrimFunc converted(const GlobalVar& var, const PrimFunc& function) {
    const std::vector<size_t>& pools = needs(var);
    if (pools.empty()) return function;
    PrimFuncNode out(*function);
    std::unordered_map<size_t, Buffer> buffers;
    Array<ObjectRef> args;
    for (size_t number : pools) {
      const Pool& pool = pools_[number];
      String name = pool.info->pool_name + "_" + std::to_string(out.params.size()) + "_";
      buffers[number] = decl_buffer({integer(pool.bytes)}, DataType::UInt(8), name + "buffer_var");
      Var param = make_var(name + "var", DataType::Handle());
      args.push_back(make(AllocatedPoolInfoNode{.pool_info = with_constants(pool),
                                                .allocated_size = integer(pool.bytes),
                                                .pool_var_idx = integer(static_cast<int64_t>(out.params.size()))}));
      out.params.push_back(param);
      out.buffer_map.set(param, buffers[number]);
    }
    out.body = rewrite(
        function->body,
        [&](Rewriter& self, const Allocate* op) -> Stmt {
          return let(op, allocations_.get_or_null(Stmt(op)), self.children(op), buffers);
        },
        [&](Rewriter& self, const AllocateConst* op) -> Stmt {
          return let(op, allocations_.get_or_null(Stmt(op)), self.children(op), buffers);
        },
        [&](Rewriter& self, const Call* op) -> PrimExpr { return call(op, self.children(op), buffers); });
    if (!printable_) out.attrs = out.attrs.with(kPoolArgs, args);
    return make(std::move(out));
  }

  PoolInfo with_constants(const Pool& pool) const {
    auto* known = pool.info.as<ConstantPoolInfoNode>();
    if (!known || pool.constants.empty()) return pool.info;
    return with(known, &ConstantPoolInfoNode::constant_info_array, pool.constants);
  }

  template <class T>
  Stmt let(const T*, const PoolAllocation& allocation, const Ref<T>& op, std::unordered_map<size_t, Buffer>& buffers) {
    if (!allocation) return op;
    const Buffer& pool = buffers[number_of_[allocation->pool_info.get()]];
    PrimExpr element = make_load(pool, {allocation->byte_offset});
    return make(LetStmt{.var = op->buffer_var,
                        .value = make_call(DataType::Handle(), builtin::address_of(), {element}),
                        .body = op->body});
  }

  /// Pools come behind the arguments; the resource of a tvm_call_cpacked stays last.
  PrimExpr call(const Call* before, const Ref<Call>& op, std::unordered_map<size_t, Buffer>& buffers) {
    GlobalVar callee = called(before);
    if (!callee || needs(callee).empty()) return op;
    std::vector<PrimExpr> args = op->args.vec();
    size_t given = downcast<PrimFunc>(mod_->functions[callee])->params.size();
    size_t at = std::min(args.size(), given + (op->op.as<GlobalVarNode>() ? 0 : 1));
    for (size_t pool : needs(callee)) args.insert(args.begin() + static_cast<long>(at++), buffers[pool]->data);
    return make_call(op->dtype, op->op, args);
  }

  IRModule mod_;
  const Map<Stmt, PoolAllocation>& allocations_;
  bool printable_;
  std::vector<Pool> pools_;
  std::unordered_map<const Object*, size_t> number_of_;
  std::unordered_map<const Object*, std::vector<size_t>> needs_;
};

}  // namespace

IRModule convert_pool_allocations_to_offsets(IRModule mod, const Map<Stmt, PoolAllocation>& allocations,
                                             bool printable) {
  return Converter(std::move(mod), allocations, printable).run();
}

}  // namespace tessera::usmp
