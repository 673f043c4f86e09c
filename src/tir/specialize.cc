// A function for known values of some of its parameters.

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tir/remap.h"

namespace tessera {
namespace {

/// Learns from one field of a buffer parameter what its variable must be.
void learn(const PrimExpr& general, const PrimExpr& known, const char* what, const Buffer& buffer,
           Map<Var, PrimExpr>* values) {
  if (Var var = downcast_or_null<Var>(general)) {
    PrimExpr before = values->get_or_null(var);
    if (before && !before.same_as(known) && !is_one(equal(before, known)))
      throw Error(ValueError) << "specialize: " << var->name << " would be both " << before << " and " << known;
    values->set(var, known);
    return;
  }
  auto *a = as_int(general), *b = as_int(known);
  if (a && b && *a != *b)
    throw Error(ValueError) << "specialize: " << what << " of buffer " << buffer->name << " is " << general << ", not "
                            << known;
}

void learn_buffer(const Buffer& general, const Buffer& known, Map<Var, PrimExpr>* values) {
  if (general->shape.size() != known->shape.size())
    throw Error(ValueError) << "specialize: buffer " << general->name << " has " << general->shape.size()
                            << " dimensions, the buffer given has " << known->shape.size();
  for (size_t i = 0; i < general->shape.size(); ++i)
    learn(general->shape[i], known->shape[i], "the shape", general, values);
  for (size_t i = 0; i < std::min(general->strides.size(), known->strides.size()); ++i)
    learn(general->strides[i], known->strides[i], "a stride", general, values);
  learn(general->elem_offset, known->elem_offset, "the offset", general, values);
}

PrimFunc specialize(const PrimFunc& function, const Map<Var, ObjectRef>& given) {
  if (given.empty()) return function;
  Map<Var, PrimExpr> values;
  for (const auto& [param, value] : given) {
    bool is_param = false;
    for (const Var& known : function->params) is_param = is_param || known.same_as(param);
    if (!is_param) throw Error(ValueError) << "specialize: " << param->name << " is not a parameter of the function";
    Buffer general = function->buffer_map.get_or_null(param);
    if (auto* known = value.as<BufferNode>()) {
      if (!general)
        throw Error(ValueError) << "specialize: parameter " << param->name
                                << " is not a buffer, but a buffer was given";
      learn_buffer(general, Buffer(known), &values);
    } else {
      if (general)
        throw Error(ValueError) << "specialize: parameter " << param->name << " is a buffer; give a buffer for it";
      values.set(param, cast(param->dtype, Any::of_object(value.get()).to<PrimExpr>()));
    }
  }
  PrimFunc out = Remap([values](const Var& var) { return values.get_or_null(var); })(function);
  Array<Var> params;
  for (const Var& param : out->params)
    if (!values.count(param)) params.push_back(param);
  return with(out, &PrimFuncNode::params, params);
}

Globals specialize_globals{{"tir.Specialize", specialize}};

}  // namespace
}  // namespace tessera
