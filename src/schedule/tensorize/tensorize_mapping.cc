// Which loops of a block a tensor intrinsic would replace.

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "schedule/tensorize/auto_tensorize.h"

namespace tessera::schedule {

std::vector<const For*> loops_of(const PrimFunc& desc, const BlockRealize** inner) {
  auto* root = desc->body.as<BlockRealize>();
  std::vector<const For*> out;
  Stmt body = root ? root->block->body : desc->body;
  while (auto* loop = body.as<For>()) {
    out.push_back(loop);
    body = loop->body;
  }
  *inner = body.as<BlockRealize>();
  return out;
}

namespace {

/// The kind of axis that the loop is the fastest digit of; Opaque when there is none, or not one.
IterType kind_of(const BlockRealize* realize, const For* loop) {
  IterType kind = IterType::Opaque;
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    const PrimExpr& value = realize->iter_values[i];
    if (!uses_var(value, loop->loop_var)) continue;
    auto* sum = value.as<Add>();
    bool is_digit = value.same_as(loop->loop_var) || (sum && sum->b.same_as(loop->loop_var));
    if (!is_digit || kind != IterType::Opaque) return IterType::Opaque;
    kind = realize->block->iter_vars[i]->iter_type;
  }
  return kind;
}

}  // namespace

ObjectRef tensorize_loop_mapping(const Schedule& sch, const ObjectRef& rv, const PrimFunc& desc, bool allow_padding) {
  Cursor cursor = sch->state.find(sch->block(rv));
  const BlockRealize *realize = cursor.realize(), *inner = nullptr;
  std::vector<const For*> wanted = loops_of(desc, &inner), loops = cursor.loops();
  if (!inner) return nullptr;
  Array<ObjectRef> ours, theirs;
  std::vector<int64_t> paddings(realize->iter_values.size(), 0);
  std::vector<const For*> taken;
  for (size_t j = wanted.size(); j-- > 0;) {
    auto* size = as_int(wanted[j]->extent);
    const For* found = nullptr;
    for (size_t i = loops.size(); i-- > 0 && !found && size;) {
      auto* extent = as_int(loops[i]->extent);
      if (!extent || std::find(taken.begin(), taken.end(), loops[i]) != taken.end()) continue;
      if (kind_of(realize, loops[i]) != kind_of(inner, wanted[j])) continue;
      int64_t lacking = (*size - *extent % *size) % *size;
      if (lacking && !allow_padding) continue;
      found = loops[i];
      for (size_t axis = 0; axis < paddings.size(); ++axis)
        if (realize->iter_values[axis].same_as(found->loop_var)) paddings[axis] = lacking;
    }
    if (!found) return nullptr;
    taken.push_back(found);
    ours.push_back(Stmt(found));
    theirs.push_back(Stmt(wanted[j]));
  }
  Array<ObjectRef> amounts;
  bool is_padded = std::any_of(paddings.begin(), paddings.end(), [](int64_t amount) { return amount > 0; });
  for (int64_t amount : paddings) amounts.push_back(int_imm(DataType::Int(32), amount));
  return Array<ObjectRef>{ours, theirs, is_padded ? ObjectRef(amounts) : ObjectRef()};
}

namespace {

Globals tensorize_mapping_globals{{"tir.schedule.TensorizeLoopMapping", tensorize_loop_mapping}};

}  // namespace
}  // namespace tessera::schedule
