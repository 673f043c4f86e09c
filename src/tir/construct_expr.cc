// Checked constructors of expressions, buffers and iteration variables.

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tir/construct.h"

namespace tessera {
namespace {

/// A narrower integer literal in the type of the variable it goes with.
PrimExpr promoted_literal(PrimExpr e, DataType dtype) {
  auto* literal = e.as<IntImm>();
  return literal && literal->dtype.bits < dtype.bits && dtype.is_int() ? cast(dtype, e) : e;
}

void check_indices(const char* what, const Buffer& buffer, const Array<PrimExpr>& indices) {
  if (!buffer) throw Error(ValueError) << what << ": the buffer is missing (None)";
  if (indices.size() != buffer->shape.size())
    throw Error(RuntimeError) << what << ": buffer " << buffer->name << " has " << buffer->shape.size()
                              << " dimensions, but " << indices.size() << " indices were given";
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) throw Error(ValueError) << what << ": index " << i << " of " << buffer->name << " is missing";
    if (!indices[i].dtype().is_scalar() && i + 1 != indices.size())
      throw Error(RuntimeError) << what << ": only the last index may be a vector; index " << i << " of "
                                << buffer->name << " is " << indices[i].dtype();
  }
}

}  // namespace

namespace {

/// The view has the shape of the region, leading dimensions of one element left out. A variable takes what comes.
void check_match(const Buffer& buffer, const BufferRegion& source) {
  arith::Analyzer analyzer;
  size_t rank = buffer->shape.size(), of_source = source->region.size(), lost = of_source - rank;
  bool fits = rank <= of_source;
  for (size_t i = 0; fits && i < of_source; ++i) {
    PrimExpr wanted = i < lost ? PrimExpr(1) : buffer->shape[i - lost];
    PrimExpr extent = source->region[i]->extent;
    fits = wanted.as<VarNode>() || analyzer.can_prove(equal(extent, cast(extent.dtype(), wanted)));
  }
  if (!fits)
    throw Error(ValueError) << "match_buffer: " << buffer->name << " of shape " << buffer->shape
                            << " does not have the shape of the region " << source;
}

}  // namespace

PrimExpr checked_load(Buffer buffer, Array<PrimExpr> indices) {
  check_indices("BufferLoad", buffer, indices);
  return make_load(std::move(buffer), std::move(indices));
}

Stmt checked_store(Buffer buffer, PrimExpr value, Array<PrimExpr> indices) {
  check_indices("BufferStore", buffer, indices);
  if (!value) throw Error(ValueError) << "BufferStore: the value for " << buffer->name << " is missing (None)";
  int lanes = buffer->dtype.lanes * (indices.empty() ? 1 : indices.back().dtype().lanes);
  if (value.dtype().lanes != lanes)
    throw Error(TypeError) << "BufferStore: " << value << " is " << value.dtype() << ", but " << buffer->name
                           << " takes " << lanes << (lanes == 1 ? " lane here" : " lanes here");
  return make(BufferStore{.buffer = std::move(buffer), .value = std::move(value), .indices = std::move(indices)});
}

IterVar checked_iter_var(Range dom, Var var, IterType type, String thread_tag) {
  if (!var) throw Error(ValueError) << "IterVar: the variable is missing (None)";
  if (type < IterType::DataPar || type > IterType::Tensorized)
    throw Error(ValueError) << "IterVar " << var->name << ": there is no type " << static_cast<int>(type)
                            << "; the types are 0 (DataPar) to 8 (Tensorized)";
  if (dom) {
    PrimExpr extent = promoted_literal(dom->extent, var->dtype), min = promoted_literal(dom->min, var->dtype);
    if (!extent.dtype().is_int())
      throw Error(RuntimeError) << "IterVar " << var->name << ": its domain is counted in integers, not in "
                                << extent.dtype();
    if (extent.dtype() != var->dtype)
      throw Error(RuntimeError) << "IterVar " << var->name << " is " << var->dtype
                                << ", but the extent of its domain is " << extent.dtype();
    if (!extent.same_as(dom->extent) || !min.same_as(dom->min)) dom = make_range(min, extent);
  }
  return make_iter_var(std::move(dom), std::move(var), type, std::move(thread_tag));
}

PrimExpr checked_reduce(CommReducer combiner, Array<PrimExpr> source, Array<IterVar> axis, PrimExpr condition,
                        int value_index, Array<PrimExpr> init) {
  if (!combiner) throw Error(ValueError) << "Reduce: the combiner is missing (None)";
  if (value_index < 0 || static_cast<size_t>(value_index) >= source.size())
    throw Error(RuntimeError) << "Reduce: value " << value_index << " of a reduction of " << source.size();
  if (source.size() != combiner->result.size())
    throw Error(RuntimeError) << "Reduce: the combiner works on " << combiner->result.size()
                              << " values, the source has " << source.size();
  for (const IterVar& var : axis)
    if (!var || var->iter_type != IterType::CommReduce)
      throw Error(RuntimeError) << "Reduce: " << (var ? var->var->name : String("None"))
                                << " is not a reduction axis; make one with te.reduce_axis";
  if (!init.empty()) {
    if (init.size() != source.size())
      throw Error(RuntimeError) << "Reduce: " << init.size() << " initial values for " << source.size() << " sources";
    for (size_t i = 0; i < init.size(); ++i) {
      if (!init[i].as<ProducerLoad>() && !init[i].as<IntImm>() && !init[i].as<FloatImm>())
        throw Error(RuntimeError) << "Reduce: an initial value is a constant or an element of a tensor, not "
                                  << init[i];
      if (init[i].dtype() != source[i].dtype())
        throw Error(RuntimeError) << "Reduce: the initial value " << init[i] << " is " << init[i].dtype()
                                  << ", the source is " << source[i].dtype();
    }
  }
  Reduce node;
  node.dtype = source[static_cast<size_t>(value_index)].dtype();
  node.combiner = std::move(combiner);
  node.source = std::move(source);
  node.init = std::move(init);
  node.axis = std::move(axis);
  node.condition = condition ? condition : bool_imm(true);
  node.value_index = value_index;
  return make(std::move(node));
}

Buffer checked_buffer(Var data, DataType dtype, Array<PrimExpr> shape, Array<PrimExpr> strides, PrimExpr elem_offset,
                      String name, int data_alignment, int offset_factor, BufferType buffer_type,
                      Array<PrimExpr> axis_separators) {
  if (!data || !data->type_annotation.as<PointerType>())
    throw Error(RuntimeError) << "buffer " << name << ": data must be a variable of a PointerType"
                              << (data ? ", but " + data->name.str() + " is " + data->dtype.str() : "");
  if (!strides.empty() && strides.size() != shape.size())
    throw Error(RuntimeError) << "buffer " << name << " has " << shape.size() << " dimensions, but " << strides.size()
                              << " strides";
  for (size_t i = 0; i < axis_separators.size(); ++i) {
    auto* at = as_int(axis_separators[i]);
    if (!at || *at < 0 || *at > static_cast<int64_t>(shape.size()) || (i > 0 && *at < *as_int(axis_separators[i - 1])))
      throw Error(RuntimeError) << "buffer " << name << ": axis separators ascend from 0 to the number of dimensions, "
                                << shape.size() << "; got " << axis_separators[i];
  }
  BufferNode node;
  if (buffer_type == BufferType::AutoBroadcast && strides.empty())
    for (const PrimExpr& extent : shape) strides.push_back(make_var("stride", extent.dtype()));
  DataType index = shape.empty() ? DataType::Int(32) : shape[0].dtype();
  node.elem_offset = elem_offset ? elem_offset : make_zero(index);
  node.data = std::move(data);
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.strides = strides.defined() ? std::move(strides) : Array<PrimExpr>();
  node.axis_separators = axis_separators.defined() ? std::move(axis_separators) : Array<PrimExpr>();
  node.name = std::move(name);
  node.data_alignment = data_alignment <= 0 ? 64 : data_alignment;
  node.offset_factor = offset_factor == 0 ? 1 : offset_factor;
  node.buffer_type = buffer_type;
  return make(std::move(node));
}

namespace {

BufferType buffer_type_named(const std::string& name) {
  if (name == "auto_broadcast") return BufferType::AutoBroadcast;
  if (name.empty() || name == "default") return BufferType::Default;
  throw Error(ValueError) << "unknown buffer type \"" << name << "\"; it is \"\", \"default\" or \"auto_broadcast\"";
}

Globals construct_expr_globals{
    {"tir.IterVar",
     [](Range dom, Var var, IterType type, String tag, Span span) {
       IterVar made = checked_iter_var(dom, var, type, tag);
       made.edit()->span = span;
       return made;
     }},
    {"tir.CommReducer",
     [](Array<Var> lhs, Array<Var> rhs, Array<PrimExpr> result, Array<PrimExpr> identity, Span span) {
       if (lhs.size() != result.size() || rhs.size() != result.size() || identity.size() != result.size())
         throw Error(RuntimeError) << "CommReducer: lhs, rhs, result and identity_element have different sizes";
       for (const Array<PrimExpr>& values : {result, identity})
         for (const PrimExpr& value : values)
           if (!value) throw Error(ValueError) << "CommReducer: a result or an identity is missing (None)";
       return make(
           CommReducerNode{.lhs = lhs, .rhs = rhs, .result = result, .identity_element = identity, .span = span});
     }},
    {"tir.CommReducerCombine",
     [](CommReducer reducer, Array<PrimExpr> a, Array<PrimExpr> b) { return (*reducer)(a, b); }},
    {"tir.Reduce",
     [](CommReducer combiner, Array<PrimExpr> source, Array<IterVar> axis, PrimExpr condition, int value_index,
        Array<PrimExpr> init, Span span) {
       PrimExpr made = checked_reduce(combiner, source, axis, condition, value_index, init);
       made.edit()->span = span;
       return made;
     }},
    {"tir.BufferLoad",
     [](Buffer buffer, Array<PrimExpr> indices, Span span) {
       PrimExpr made = checked_load(buffer, indices);
       made.edit()->span = span;
       return made;
     }},
    {"tir.Buffer",
     [](Var data, DataType dtype, Array<PrimExpr> shape, Array<PrimExpr> strides, PrimExpr elem_offset, String name,
        int data_alignment, int offset_factor, std::string buffer_type, Array<PrimExpr> axis_separators, Span span) {
       Buffer made = checked_buffer(data, dtype, shape, strides, elem_offset, name, data_alignment, offset_factor,
                                    buffer_type_named(buffer_type), axis_separators);
       made.edit()->span = span;
       return made;
     }},
    {"tir.BufferRegion",
     [](Buffer buffer, Array<Range> region) {
       if (buffer && region.size() != buffer->shape.size())
         throw Error(RuntimeError) << "BufferRegion: buffer " << buffer->name << " has " << buffer->shape.size()
                                   << " dimensions, the region has " << region.size();
       return make(BufferRegionNode{.buffer = buffer, .region = region});
     }},
    {"tir.MatchBufferRegion",
     [](Buffer buffer, BufferRegion source) {
       check_match(buffer, source);
       return make(MatchBufferRegionNode{.buffer = buffer, .source = source});
     }},
};

}  // namespace
}  // namespace tessera
