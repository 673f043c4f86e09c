#include "runtime/external/dnnl/program.h"

#ifdef TESSERA_HAS_DNNL
#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tessera::dnnl {
namespace {

constexpr size_t kAlignment = 64;

size_t bytes_of(const Desc& desc) { return library().memory_desc_get_size(&desc); }
size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

char* aligned(char* data) {
  auto address = reinterpret_cast<uintptr_t>(data);
  return data + (kAlignment - address % kAlignment) % kAlignment;
}

Description reorder_description(const Desc& from, const Desc& to) {
  const Library& lib = library();
  dnnl_primitive_desc_t made = nullptr;
  check(lib.reorder_primitive_desc_create(&made, &from, lib.engine, &to, lib.engine, nullptr), "reorder");
  return Description(made);
}

}  // namespace

dnnl_data_type_t data_type(DataType dtype) {
  const std::string name = to_text(dtype);
  if (name == "float32") return dnnl_f32;
  if (name == "float16") return dnnl_f16;
  if (name == "bfloat16") return dnnl_bf16;
  if (name == "int32") return dnnl_s32;
  if (name == "int8") return dnnl_s8;
  if (name == "uint8") return dnnl_u8;
  throw Error(TypeError) << "oneDNN has no tensors of " << name;
}

Desc strided(const Dims& dims, const Dims& strides, DataType dtype) {
  if (dims.size() > DNNL_MAX_NDIMS)
    throw Error(ValueError) << "oneDNN has no tensors of " << dims.size() << " dimensions";
  Desc out;
  check(library().memory_desc_init_by_strides(&out, static_cast<int>(dims.size()), dims.data(), data_type(dtype),
                                              strides.data()),
        "memory_desc_init_by_strides");
  return out;
}

Desc plain(const Dims& given, DataType dtype) {
  Dims dims = given.empty() ? Dims{1} : given, strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  return strided(dims, strides, dtype);
}

Desc any_format(const Dims& dims, DataType dtype) {
  Desc out;
  check(library().memory_desc_init_by_tag(&out, static_cast<int>(dims.size()), dims.data(), data_type(dtype),
                                          dnnl_format_tag_any),
        "memory_desc_init_by_tag");
  return out;
}

Desc permuted(const Desc& desc, const std::vector<int>& order) {
  Desc out;
  check(library().memory_desc_permute_axes(&out, &desc, order.data()), "memory_desc_permute_axes");
  return out;
}

bool equal(const Desc& a, const Desc& b) { return library().memory_desc_equal(&a, &b); }

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return out;
}

Description::Description(dnnl_primitive_desc_t desc) : desc_(desc, library().primitive_desc_destroy) {}

Desc Description::desc(dnnl_query_t which) const {
  const Desc* found = library().primitive_desc_query_md(get(), which, 0);
  ICHECK(found) << "a primitive without such a tensor";
  return *found;
}

PostOps::PostOps() {
  dnnl_post_ops_t ops = nullptr;
  check(library().post_ops_create(&ops), "post_ops_create");
  ops_ = {ops, library().post_ops_destroy};
}

void PostOps::add_sum(double scale) {
  check(library().post_ops_append_sum(ops_.get(), static_cast<float>(scale)), "post_ops_append_sum");
}

void PostOps::add_eltwise(dnnl_alg_kind_t kind, double alpha, double beta, double scale) {
  check(library().post_ops_append_eltwise(ops_.get(), static_cast<float>(scale), kind, static_cast<float>(alpha),
                                          static_cast<float>(beta)),
        "post_ops_append_eltwise");
}

dnnl_primitive_attr_t PostOps::get() {
  dnnl_primitive_attr_t attr = nullptr;
  check(library().primitive_attr_create(&attr), "primitive_attr_create");
  attr_ = {attr, library().primitive_attr_destroy};
  check(library().primitive_attr_set_post_ops(attr, ops_.get()), "primitive_attr_set_post_ops");
  if (!scales_.empty())
    check(library().primitive_attr_set_output_scales(attr, static_cast<dnnl_dim_t>(scales_.size()),
                                                     scales_.size() > 1 ? 1 << 1 : 0, scales_.data()),
          "primitive_attr_set_output_scales");
  return attr;
}

int Program::add_buffer(Kind kind, size_t bytes) {
  buffers_.push_back({kind, bytes});
  return static_cast<int>(buffers_.size()) - 1;
}

int Program::input(const Desc& desc) {
  inputs_.push_back(add_buffer(Kind::Input, bytes_of(desc)));
  return inputs_.back();
}

int Program::constant(const Desc& desc, const void* data) {
  int out = add_buffer(Kind::Constant, bytes_of(desc));
  buffers_.back().data = const_cast<void*>(data);
  return out;
}

Tensor Program::temporary(const Desc& desc) { return {desc, add_buffer(Kind::Temporary, bytes_of(desc))}; }

Description Program::describe(const void* op_desc, dnnl_primitive_attr_t attr, const std::string& what) {
  dnnl_primitive_desc_t made = nullptr;
  check(library().primitive_desc_create(&made, op_desc, attr, library().engine, nullptr), what);
  return Description(made);
}

Program::Step Program::step(const Description& description, const std::vector<Argument>& args) {
  const Library& lib = library();
  Step out;
  dnnl_primitive_t primitive = nullptr;
  check(lib.primitive_create(&primitive, description.get()), "primitive_create");
  out.primitive = {primitive, lib.primitive_destroy};
  for (const auto& [id, tensor] : args) {
    Buffer& buffer = buffers_[static_cast<size_t>(tensor.buffer)];
    ICHECK(bytes_of(tensor.desc) <= buffer.bytes) << "a tensor that does not fit its buffer";
    dnnl_memory_t memory = nullptr;
    check(lib.memory_create(&memory, &tensor.desc, lib.engine, buffer.data ? buffer.data : DNNL_MEMORY_NONE),
          "memory_create");
    out.keep.emplace_back(memory, lib.memory_destroy);
    out.args.push_back({id, memory});
    buffer.memories.push_back(memory);
    buffer.first = std::min(buffer.first, steps_.size());
    buffer.last = std::max(buffer.last, steps_.size());
  }
  return out;
}

void Program::add(const Description& description, const std::vector<Argument>& args) {
  steps_.push_back(step(description, args));
}

Tensor Program::reordered(const Tensor& tensor, const Desc& desc) {
  if (equal(tensor.desc, desc)) return tensor;
  if (!is_constant(tensor)) {
    Tensor out = temporary(desc);
    reorder_into(tensor, out);
    return out;
  }
  const Library& lib = library();
  owned_.push_back(std::make_unique<char[]>(bytes_of(desc) + kAlignment));
  Tensor out{desc, constant(desc, aligned(owned_.back().get()))};
  Step now = step(reorder_description(tensor.desc, desc), {{DNNL_ARG_FROM, tensor}, {DNNL_ARG_TO, out}});
  check(lib.primitive_execute(now.primitive.get(), lib.stream, static_cast<int>(now.args.size()), now.args.data()),
        "reorder");
  check(lib.stream_wait(lib.stream), "stream_wait");
  for (const Tensor& used : {tensor, out}) buffers_[static_cast<size_t>(used.buffer)].memories.pop_back();
  return out;
}

void Program::reorder_into(const Tensor& from, const Tensor& to) {
  add(reorder_description(from.desc, to.desc), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Program::add_output(const Tensor& tensor, const Desc& desc) {
  Buffer& from = buffers_[static_cast<size_t>(tensor.buffer)];
  if (from.kind == Kind::Temporary && equal(tensor.desc, desc) && bytes_of(desc) == from.bytes) {
    from.kind = Kind::Output;  // written where the caller wants it
    outputs_.push_back(tensor.buffer);
    return;
  }
  Tensor out{desc, add_buffer(Kind::Output, bytes_of(desc))};
  reorder_into(tensor, out);
  outputs_.push_back(out.buffer);
}

void Program::set_data(Buffer& buffer, void* data) {
  if (buffer.data == data) return;
  buffer.data = data;
  for (dnnl_memory_t memory : buffer.memories)
    check(library().memory_set_data_handle(memory, data), "memory_set_data_handle");
}

/// First fit: buffers of which one is no longer used before the other is share memory.
void Program::finish() {
  std::vector<size_t> order;
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i].kind == Kind::Temporary && buffers_[i].first != SIZE_MAX) order.push_back(i);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return buffers_[a].bytes > buffers_[b].bytes; });
  std::vector<std::pair<size_t, size_t>> placed;  // buffer, offset
  size_t total = 0;
  for (size_t index : order) {
    const Buffer& buffer = buffers_[index];
    std::vector<std::pair<size_t, size_t>> taken;  // from, to
    for (auto [other, offset] : placed)
      if (buffers_[other].first <= buffer.last && buffer.first <= buffers_[other].last)
        taken.emplace_back(offset, offset + aligned(buffers_[other].bytes));
    std::ranges::sort(taken);
    size_t at = 0;
    for (auto [from, to] : taken) {
      if (at + aligned(buffer.bytes) <= from) break;
      at = std::max(at, to);
    }
    placed.emplace_back(index, at);
    total = std::max(total, at + aligned(buffer.bytes));
  }
  owned_.push_back(std::make_unique<char[]>(total + kAlignment));
  for (auto [index, offset] : placed) set_data(buffers_[index], aligned(owned_.back().get()) + offset);
}

void Program::run(const std::vector<void*>& inputs, const std::vector<void*>& outputs) {
  const Library& lib = library();
  for (size_t i = 0; i < inputs.size(); ++i) set_data(buffers_[static_cast<size_t>(inputs_[i])], inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) set_data(buffers_[static_cast<size_t>(outputs_[i])], outputs[i]);
  for (const Step& step : steps_)
    check(lib.primitive_execute(step.primitive.get(), lib.stream, static_cast<int>(step.args.size()), step.args.data()),
          "primitive_execute");
  check(lib.stream_wait(lib.stream), "stream_wait");
}

}  // namespace tessera::dnnl
#endif
