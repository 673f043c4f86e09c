#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/primitives.h"
#include "schedule/tensorize/match_program.h"
#include "tir/remap.h"
#include "tir/tensor_intrin.h"

namespace tessera::schedule {
namespace {

/// The one block that a description or an implementation is.
const BlockNode* root_block(const PrimFunc& function, const String& intrin, const char* what) {
  auto* realize = function->body.as<BlockRealize>();
  if (!realize || !realize->block->iter_vars.empty())
    throw Error(ScheduleError) << "the " << what << " of tensor intrinsic " << quoted(intrin)
                               << " must be one block without axes (`with T.block(\"root\")`)";
  return realize->block.get();
}

/// The part of a parameter that the implementation says it touches; all of it where it does not say.
Array<Range> touched_part(const BlockNode* impl, const Buffer& buffer) {
  for (const Array<BufferRegion>* regions : {&impl->reads, &impl->writes})
    for (const BufferRegion& region : *regions)
      if (region->buffer.same_as(buffer)) return region->region;
  Array<Range> out;
  for (const PrimExpr& length : buffer->shape) out.push_back(make_range(make_zero(length.dtype()), length));
  return out;
}

/// `part` of a parameter as the region of the program's buffer that it stands for.
BufferRegion placed(const BufferView& view, const Array<Range>& part, arith::Analyzer& analyzer) {
  Array<Range> region;
  size_t lead = view.base.size() - part.size();
  for (size_t i = 0; i < view.base.size(); ++i) {
    const PrimExpr& base = view.base[i];
    if (i < lead) region.push_back(make_range(base, make_const(base.dtype(), 1)));
    else
      region.push_back(
          make_range(analyzer.simplify(base + cast(base.dtype(), part[i - lead]->min)), part[i - lead]->extent));
  }
  return make(BufferRegionNode{.buffer = view.buffer, .region = region});
}

}  // namespace

/// tensorize(j, "dot4"):   for j: with block C: S   =>   with block C_o: { A' = view of A; ...; impl(A', ...) }
/// where S is what the intrinsic's description computes, loop for loop. An init that blockize moved out stays.
void tensorize(State& state, const Cursor& given, const String& name) {
  TensorIntrin intrin = find_tensor_intrin(std::string(name.str()));
  if (!intrin) throw Error(ValueError) << "TensorIntrin '" << name << "' is not registered";
  Cursor cursor = state.find(given.loop() ? blockize(state, State::ref(given.function, given.loop()))
                                          : State::ref(given.function, given.block()));
  const BlockNode* desc = root_block(intrin->desc, name, "description");
  PrimFunc impl_function = renew_definitions(intrin->impl);
  const BlockNode* impl = root_block(impl_function, name, "implementation");

  ProgramMatch match = match_program(cursor.block()->body, desc->body);
  if (!match.difference.empty())
    throw Error(ScheduleError) << "block " << quoted(cursor.block()->name_hint) << " does not do what tensor intrinsic "
                               << quoted(name) << " describes: " << match.difference;
  arith::Analyzer analyzer;
  BlockNode block(*cursor.block());
  block.body = impl->body;
  for (size_t i = 0; i < impl_function->params.size(); ++i) {
    Buffer own = impl_function->buffer_map[impl_function->params[i]];
    auto view = match.views.find(intrin->desc->buffer_map[intrin->desc->params[i]].get());
    if (view == match.views.end())
      throw Error(ScheduleError) << "the description of tensor intrinsic " << quoted(name) << " does not use its "
                                 << "parameter " << i << ", " << own->name;
    block.match_buffers.push_back(
        make(MatchBufferRegionNode{.buffer = own, .source = placed(view->second, touched_part(impl, own), analyzer)}));
  }
  for (const Buffer& buffer : impl->alloc_buffers) block.alloc_buffers.push_back(buffer);
  for (const auto& [key, value] : impl->annotations) block.annotations.set(key, value);
  state.replace(given.function, cursor.stmt(), with(cursor.realize(), &BlockRealize::block, make(std::move(block))));
}

}  // namespace tessera::schedule
