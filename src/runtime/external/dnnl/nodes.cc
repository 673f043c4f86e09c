#include "runtime/external/dnnl/nodes.h"

#ifdef TESSERA_HAS_DNNL
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace tessera::dnnl {
namespace {

using Node = JsonGraph::Node;

struct Eltwise {
  dnnl_alg_kind_t kind;
  double alpha = 0, beta = 0;
};

/// An activation or another function of one element, by the last part of its name; none of an unknown name.
std::optional<Eltwise> eltwise_of(const std::string& name, const Node& node) {
  if (name == "relu") return Eltwise{dnnl_eltwise_relu};
  if (name == "leaky_relu") return Eltwise{dnnl_eltwise_relu, node.real("alpha", 0.01)};
  if (name == "tanh") return Eltwise{dnnl_eltwise_tanh};
  if (name == "sigmoid") return Eltwise{dnnl_eltwise_logistic};
  if (name == "exp") return Eltwise{dnnl_eltwise_exp};
  if (name == "log") return Eltwise{dnnl_eltwise_log};
  if (name == "sqrt") return Eltwise{dnnl_eltwise_sqrt};
  if (name == "abs") return Eltwise{dnnl_eltwise_abs};
  if (name == "round") return Eltwise{dnnl_eltwise_round};
  if (name == "clip") return Eltwise{dnnl_eltwise_clip, node.real("a_min", 0), node.real("a_max", 0)};
  if (name == "gelu") return Eltwise{dnnl_eltwise_gelu_erf};
  if (name == "swish") return Eltwise{dnnl_eltwise_swish, 1};
  if (name == "mish") return Eltwise{dnnl_eltwise_mish};
  return std::nullopt;
}

/// "nn.conv2d" -> conv2d; "dnnl.conv2d_bias_relu" -> conv2d with bias and relu.
struct Name {
  std::string op;
  std::vector<std::string> epilogue;
  bool is_quantized = false;  // "dnnl.qnn.conv2d": of int8, with a bias and scales
  explicit Name(const Node& node) : is_quantized(node.name.starts_with("dnnl.qnn.")) {
    std::string rest = node.name.substr(node.name.rfind('.') + 1);
    if (!node.name.starts_with("dnnl.")) {
      op = rest;
      return;
    }
    for (const char* whole : {"batch_matmul", "layer_norm", "leaky_relu"})
      if (rest.starts_with(whole)) op = whole;
    if (op.empty()) op = rest.substr(0, rest.find('_'));
    for (size_t at = op.size(); at < rest.size();) {
      size_t end = std::min(rest.find('_', at + 1), rest.size());
      epilogue.push_back(rest.substr(at + 1, end - at - 1));
      at = end;
    }
  }
};

/// Axis i of a layout is axis order[i] of what oneDNN wants: batch (or output channels) first, then channels, then the window.
std::vector<int> order_of(const std::string& layout, const char* first, const std::string& what) {
  std::string wanted = first;
  for (char c : std::string("DHW"))
    if (layout.find(c) != layout.npos) wanted += c;
  std::vector<int> out;
  for (char c : layout) {
    size_t at = wanted.find(c);
    if (at == wanted.npos) throw Error(ValueError) << "oneDNN: " << what << " in the layout " << layout;
    out.push_back(static_cast<int>(at));
  }
  std::vector<int> sorted = out;
  std::ranges::sort(sorted);
  bool is_order = sorted.size() == wanted.size();
  for (size_t i = 0; i < sorted.size(); ++i) is_order = is_order && sorted[i] == static_cast<int>(i);
  if (!is_order) throw Error(ValueError) << "oneDNN: " << what << " in the layout \"" << layout << "\"";
  return out;
}

Dims reordered_dims(const Dims& dims, const std::vector<int>& order) {
  if (dims.size() != order.size()) throw Error(ValueError) << "oneDNN: a layout and a shape of different lengths";
  Dims out(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) out[static_cast<size_t>(order[i])] = dims[i];
  return out;
}

/// What is said once for all dimensions, for each, or for both borders of each.
Dims each_of(const Node& node, const char* attr, size_t count, bool at_end = false) {
  if (!node.has(attr)) return Dims(count, std::string_view(attr).ends_with("padding") ? 0 : 1);
  Dims given = node.ints(attr);
  const int64_t least = std::string_view(attr).ends_with("padding") ? 0 : 1;
  if (std::ranges::any_of(given, [&](int64_t each) { return each < least || each > (1 << 24); }))
    throw Error(ValueError) << "oneDNN: " << node.name << " has odd " << attr;
  if (given.size() == 1) return Dims(count, given[0]);
  if (given.size() == count) return given;
  if (given.size() == 2 * count)
    return at_end ? Dims(given.begin() + static_cast<long>(count), given.end())
                  : Dims(given.begin(), given.begin() + static_cast<long>(count));
  throw Error(ValueError) << "oneDNN: " << node.name << " has " << given.size() << " numbers as " << attr << " for "
                          << count << " dimensions";
}

class Builder {
 public:
  Builder(const JsonGraph& graph, const std::vector<NDArray>& constants) : graph_(graph) {
    values_.resize(graph.nodes.size());
    last_use_.resize(graph.nodes.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const JsonGraph::Tensor& tensor : graph.nodes[n].outputs)
        if (std::ranges::count(tensor.shape, 0) > 0)
          throw Error(ValueError) << "oneDNN: " << graph.nodes[n].name << " has no elements";
      values_[n].resize(graph.nodes[n].outputs.size());
      last_use_[n].resize(graph.nodes[n].outputs.size(), n);
      for (JsonGraph::Value input : graph.nodes[n].inputs) last_use_[input.node][input.index] = n;
    }
    for (JsonGraph::Value head : graph.heads) last_use_[head.node][head.index] = SIZE_MAX;
    for (uint32_t node : graph.inputs) {
      Desc desc = plain_of({node, 0});
      values_[node][0] = {desc, program_.input(desc)};
    }
    for (size_t i = 0; i < graph.constants.size(); ++i) {
      constants_[graph.constants[i]] = constants[i];
      Desc desc = plain_of({graph.constants[i], 0});
      values_[graph.constants[i]][0] = {desc, program_.constant(desc, constants[i].data<char>())};
    }
  }

  Program run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_)
      if (node().kind == Node::Kind::Kernel) compile();
    for (JsonGraph::Value head : graph_.heads) program_.add_output(value(head), plain_of(head));
    program_.finish();
    return std::move(program_);
  }

 private:
  const Node& node() const { return graph_.nodes[at_]; }
  const Tensor& value(JsonGraph::Value v) const { return values_[v.node][v.index]; }
  const JsonGraph::Tensor& type(JsonGraph::Value v) const { return graph_.tensor(v); }
  const JsonGraph::Tensor& result_type() const { return node().outputs[0]; }
  Desc plain_of(JsonGraph::Value v) const { return plain(type(v).shape, type(v).dtype); }
  void set_result(Tensor tensor) {
    Dims wanted = result_type().shape.empty() ? Dims{1} : result_type().shape;
    bool is_it = tensor.desc.data_type == data_type(result_type().dtype) && program_.fits(tensor) &&
                 std::equal(wanted.begin(), wanted.end(), tensor.desc.dims, tensor.desc.dims + tensor.desc.ndims);
    if (!is_it) throw Error(ValueError) << "oneDNN: " << node().name << " gives another shape than the graph says";
    values_[at_][0] = tensor;
  }

  JsonGraph::Value input(size_t i) const {
    if (i >= node().inputs.size())
      throw Error(ValueError) << "oneDNN: " << node().name << " has only " << node().inputs.size() << " inputs";
    return node().inputs[i];
  }
  /// The input with that role; by default they come in this order.
  JsonGraph::Value input(const std::string& role) const {
    const int64_t usual = role == "data" ? 0 : role == "weight" ? 1 : role == "bias" ? 2 : 3;
    return input(static_cast<size_t>(std::max<int64_t>(node().number("input_" + role, usual), 0)));
  }
  /// The numbers of a constant input.
  std::vector<float> floats(const std::string& role) const {
    auto found = constants_.find(input(role).node);
    if (found == constants_.end() || found->second.dtype() != DataType::Float(32))
      throw Error(ValueError) << "oneDNN: the " << role << " of " << node().name << " is no constant of float32";
    const auto* data = found->second.data<float>();
    return {data, data + found->second.size()};
  }
  double number_of(const std::string& role) const {
    std::vector<float> values = floats(role);
    if (values.size() != 1)
      throw Error(ValueError) << "oneDNN: the " << role << " of " << node().name << " is no number";
    return values[0];
  }
  Tensor plain_input(JsonGraph::Value v) { return program_.reordered(value(v), plain_of(v)); }

  void compile() {
    Name name(node());
    if (node().outputs.size() != 1) throw Error(ValueError) << "oneDNN: " << node().name << " gives several tensors";
    if (name.op.starts_with("conv") || name.op.starts_with("deconv")) return convolution(name);
    if (name.op == "dense" || name.op == "matmul") return dense(name);
    if (name.op == "batch_matmul") return batch_matmul(name);
    if (name.op.find("_pool") != std::string::npos) return pooling(name.op);
    if (name.op == "softmax" || name.op == "log_softmax") return softmax(name.op == "log_softmax");
    if (name.op == "layer_norm") return layer_norm();
    if (name.op == "concatenate") return concatenate();
    static const std::map<std::string, dnnl_alg_kind_t> binaries{
        {"add", dnnl_binary_add},    {"multiply", dnnl_binary_mul}, {"subtract", dnnl_binary_sub},
        {"divide", dnnl_binary_div}, {"maximum", dnnl_binary_max},  {"minimum", dnnl_binary_min}};
    if (auto it = binaries.find(name.op); it != binaries.end()) return binary(it->second);
    if (auto function = eltwise_of(name.op, node())) return eltwise(*function);
    throw Error(ValueError) << "oneDNN: the operator " << node().name << " is unknown";
  }

  // ---- epilogues ---------------------------------------------------------------------------------------------------

  bool has(const Name& name, const char* part) const {
    return std::ranges::count(name.epilogue, part) > 0 || (name.is_quantized && std::string_view(part) == "bias");
  }

  /// clip((sums + bias) * scale) * act_scale + summand * sum_scale + zero_point, rounded to the type of the result.
  PostOps quantized_post_ops(const Name& name) {
    PostOps out;
    out.set_scales(floats("scale"));
    const bool has_sum = has(name, "sum");
    out.add_eltwise(dnnl_eltwise_clip, node().real("a_min", 0), node().real("a_max", 0),
                    has_sum ? number_of("act_scale") : 1);
    if (has_sum) out.add_sum(number_of("sum_scale"));
    if (const double zero = number_of("zero_point"); zero != 0) out.add_eltwise(dnnl_eltwise_linear, 1, zero);
    return out;
  }

  PostOps post_ops(const Name& name) {
    if (name.is_quantized) return quantized_post_ops(name);
    PostOps out;
    for (const std::string& part : name.epilogue) {
      if (part == "bias") continue;
      if (part == "sum") {
        out.add_sum();
        continue;
      }
      auto function = eltwise_of(part, node());
      if (!function) throw Error(ValueError) << "oneDNN: " << node().name << " ends with an unknown " << part;
      out.add_eltwise(function->kind, function->alpha, function->beta);
    }
    return out;
  }

  /// The bias with as many dimensions as `dims` says.
  Tensor bias(const Dims& dims) {
    JsonGraph::Value v = input("bias");
    int64_t wanted = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    int64_t count = std::accumulate(type(v).shape.begin(), type(v).shape.end(), int64_t{1}, std::multiplies<>());
    if (wanted != count)
      throw Error(ValueError) << "oneDNN: " << node().name << " has a bias of " << count << " elements for " << wanted;
    return {plain(dims, type(v).dtype), plain_input(v).buffer};
  }

  /// Where a result goes to which an operand is added: over the operand where nobody needs it any more, else over a copy.
  Tensor over_summand(const Desc& desc, const std::vector<int>& order) {
    JsonGraph::Value v = input("sum");
    Tensor summand = value(v);
    if (!order.empty()) summand.desc = permuted(summand.desc, order);
    bool is_last = last_use_[v.node][v.index] == at_ && std::ranges::count_if(node().inputs, [&](auto other) {
                                                          return value(other).buffer == summand.buffer;
                                                        }) == 1;
    if (is_last && program_.is_temporary(summand) && equal(summand.desc, desc)) return {desc, summand.buffer};
    Tensor out = program_.temporary(desc);
    program_.reorder_into(summand, out);
    return out;
  }

  // ---- contractions ------------------------------------------------------------------------------------------------

  void convolution(const Name& name) {
    const bool is_transposed = name.op.starts_with("deconv") || name.op.ends_with("_transpose");
    const JsonGraph::Value data = input("data"), weight = input("weight");
    const std::vector<int64_t>& shape = type(data).shape;
    if (shape.size() < 3 || shape.size() > 5 || type(weight).shape.size() != shape.size())
      throw Error(ValueError) << "oneDNN: " << node().name << " of a tensor with " << shape.size() << " dimensions";
    const size_t window = shape.size() - 2;
    const std::string spatial = std::string("DHW").substr(3 - window);
    const std::string layout = node().text("data_layout", "NC" + spatial);
    const std::string out_layout = node().text("out_layout", "").empty() ? layout : node().text("out_layout", layout);
    const std::vector<int> order = order_of(layout, "NC", "data"), out_order = order_of(out_layout, "NC", "results");
    const std::string usual = (is_transposed && window == 2 ? "IO" : "OI") + spatial;
    std::string kernel_layout = node().text("kernel_layout", usual);
    if (is_transposed && window != 2)  // v0.10 calls them OIW and OIDHW, but means what IOHW says
      for (char& c : kernel_layout) c = c == 'O' ? 'I' : c == 'I' ? 'O' : c;
    const std::vector<int> kernel_order = order_of(kernel_layout, "OI", "weights");
    const int64_t groups = node().number("groups", 1);

    const Dims in = reordered_dims(shape, order), out = reordered_dims(result_type().shape, out_order);
    Desc weights = permuted(plain_of(weight), kernel_order);  // output channels, input channels, window
    Dims dims(weights.dims, weights.dims + weights.ndims);
    Dims strides(weights.format_desc.blocking.strides, weights.format_desc.blocking.strides + weights.ndims);
    if (groups > 1) {  // one of the channels counts those of all groups
      const size_t whole = is_transposed ? 1 : 0;
      if (dims[whole] % groups != 0) throw Error(ValueError) << "oneDNN: " << node().name << " has odd groups";
      dims[whole] /= groups;
      dims.insert(dims.begin(), groups);
      strides.insert(strides.begin(), strides[whole] * dims[whole + 1]);
    }
    const DataType dtype = type(weight).dtype;
    const Tensor plain_weights{strided(dims, strides, dtype), plain_input(weight).buffer};

    const Desc src_any = any_format(in, type(data).dtype), weights_any = any_format(dims, dtype),
               dst_any = any_format(out, result_type().dtype);
    const Dims bias_dims{out[1]};
    const bool has_bias = has(name, "bias");
    const Desc bias_desc = plain(bias_dims, has_bias ? type(input("bias")).dtype : dtype);
    Dims step = each_of(node(), "strides", window), dilates = each_of(node(), "dilation", window),
         left = each_of(node(), "padding", window), right = each_of(node(), "padding", window, true);
    for (int64_t& each : dilates) --each;
    if (is_transposed && node().has("output_padding")) {
      Dims more = each_of(node(), "output_padding", window);
      for (size_t i = 0; i < window; ++i) right[i] -= more[i];
    }
    PostOps epilogue = post_ops(name);
    Description made;
    const Desc* bias_given = has_bias ? &bias_desc : nullptr;
    if (is_transposed) {
      dnnl_deconvolution_desc_t desc;
      check(library().dilated_deconvolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_deconvolution_direct,
                                                              &src_any, &weights_any, bias_given, &dst_any, step.data(),
                                                              dilates.data(), left.data(), right.data()),
            node().name);
      made = Program::describe(&desc, epilogue.get(), node().name);
    } else {
      dnnl_convolution_desc_t desc;
      check(library().dilated_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_auto,
                                                            &src_any, &weights_any, bias_given, &dst_any, step.data(),
                                                            dilates.data(), left.data(), right.data()),
            node().name);
      made = Program::describe(&desc, epilogue.get(), node().name);
    }
    Tensor src{permuted(value(data).desc, order), value(data).buffer};
    src = program_.reordered(src, made.desc(dnnl_query_src_md));
    const Tensor packed = program_.reordered(plain_weights, made.desc(dnnl_query_weights_md));
    const Desc dst_desc = made.desc(dnnl_query_dst_md);
    const Tensor dst = has(name, "sum") ? over_summand(dst_desc, out_order) : program_.temporary(dst_desc);
    std::vector<Program::Argument> args{{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, dst}};
    if (has_bias) args.emplace_back(DNNL_ARG_BIAS, bias(bias_dims));
    program_.add(made, args);
    set_result({permuted(dst.desc, inverse(out_order)), dst.buffer});
  }

  /// out = a * b + bias, of two or three dimensions; the result lies row-major.
  void matmul(const Name& name, const Tensor& a, const Tensor& b, const Dims& dims, bool pack) {
    const DataType dtype = result_type().dtype;
    const Desc weights =
        pack ? any_format(Dims(b.desc.dims, b.desc.dims + b.desc.ndims), type(input("weight")).dtype) : b.desc;
    const Desc dst_desc = plain(dims, dtype);
    Dims bias_dims(dims.size(), 1);
    bias_dims.back() = dims.back();
    const bool has_bias = has(name, "bias");
    const Desc bias_desc = plain(bias_dims, has_bias ? type(input("bias")).dtype : dtype);
    PostOps epilogue = post_ops(name);
    dnnl_matmul_desc_t desc;
    check(library().matmul_desc_init(&desc, &a.desc, &weights, has_bias ? &bias_desc : nullptr, &dst_desc),
          node().name);
    Description made = Program::describe(&desc, epilogue.get(), node().name);
    const Tensor packed = program_.reordered(b, made.desc(dnnl_query_weights_md));
    Tensor dst;
    if (has(name, "sum")) {
      Tensor summand = plain_input(input("sum"));
      dst = program_.temporary(dst_desc);
      program_.reorder_into({dst_desc, summand.buffer}, dst);
    } else {
      dst = program_.temporary(dst_desc);
    }
    std::vector<Program::Argument> args{{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, dst}};
    if (has_bias) args.emplace_back(DNNL_ARG_BIAS, bias(bias_dims));
    program_.add(made, args);
    set_result({plain(result_type().shape, dtype), dst.buffer});
  }

  void dense(const Name& name) {
    const JsonGraph::Value data = input("data"), weight = input("weight");
    const std::vector<int64_t>&shape = type(data).shape, &kernel = type(weight).shape;
    if (shape.empty() || kernel.size() != 2) throw Error(ValueError) << "oneDNN: " << node().name << " of no matrices";
    const int64_t k = shape.back();
    const int64_t m = std::accumulate(shape.begin(), shape.end() - 1, int64_t{1}, std::multiplies<>());
    const bool is_transposed = name.op == "dense" || node().number("transpose_b", 0);
    const int64_t n = is_transposed ? kernel[0] : kernel[1];
    if ((is_transposed ? kernel[1] : kernel[0]) != k || node().number("transpose_a", 0))
      throw Error(ValueError) << "oneDNN: " << node().name << " of matrices that do not fit";
    const DataType dtype = type(weight).dtype;
    const Tensor a{plain({m, k}, type(data).dtype), plain_input(data).buffer};
    const Tensor b{strided({k, n}, is_transposed ? Dims{1, k} : Dims{n, 1}, dtype), plain_input(weight).buffer};
    matmul(name, a, b, {m, n}, program_.is_constant(value(weight)));
  }

  void batch_matmul(const Name& name) {
    auto matrix = [&](const JsonGraph::Value& v, bool is_transposed) -> Tensor {
      Dims dims = type(v).shape;
      if (dims.size() != 3) throw Error(ValueError) << "oneDNN: " << node().name << " of no batches of matrices";
      Dims strides{dims[1] * dims[2], dims[2], 1};
      if (is_transposed) std::swap(dims[1], dims[2]), std::swap(strides[1], strides[2]);
      return {strided(dims, strides, type(v).dtype), plain_input(v).buffer};
    };
    const Tensor a = matrix(input("data"), node().number("transpose_a", 0));
    const Tensor b = matrix(input("weight"), node().number("transpose_b", 1));
    matmul(name, a, b, result_type().shape, false);
  }

  // ---- windows, rows, elements -------------------------------------------------------------------------------------

  void pooling(const std::string& op) {
    const JsonGraph::Value data = input(0);
    const size_t rank = type(data).shape.size();
    if (rank < 3 || rank > 5) throw Error(ValueError) << "oneDNN: " << node().name << " of " << rank << " dimensions";
    const size_t window = rank - 2;
    const std::vector<int> order =
        order_of(node().text("layout", "NC" + std::string("DHW").substr(3 - window)), "NC", "data");
    const Dims in = reordered_dims(type(data).shape, order), out = reordered_dims(result_type().shape, order);
    Dims kernel(in.begin() + 2, in.end()), step(window, 1), left(window, 0), right(window, 0), dilates(window, 0);
    if (!op.starts_with("global")) {
      kernel = each_of(node(), "pool_size", window);
      step = each_of(node(), "strides", window);
      left = each_of(node(), "padding", window);
      dilates = each_of(node(), "dilation", window);
      for (int64_t& each : dilates) --each;
      for (size_t i = 0; i < window; ++i)  // what the last window reaches over the border
        right[i] = (out[i + 2] - 1) * step[i] + (kernel[i] - 1) * (dilates[i] + 1) + 1 - in[i + 2] - left[i];
    }
    const bool is_max = op.find("max") != op.npos;
    const dnnl_alg_kind_t kind = is_max                                  ? dnnl_pooling_max
                                 : node().number("count_include_pad", 0) ? dnnl_pooling_avg_include_padding
                                                                         : dnnl_pooling_avg_exclude_padding;
    const Tensor src{permuted(value(data).desc, order), value(data).buffer};
    const Desc dst_any = any_format(out, result_type().dtype);
    dnnl_pooling_v2_desc_t desc;
    check(library().pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, kind, &src.desc, &dst_any, step.data(),
                                                 kernel.data(), dilates.data(), left.data(), right.data()),
          node().name);
    Description made = Program::describe(&desc, nullptr, node().name);
    const Tensor dst = program_.temporary(made.desc(dnnl_query_dst_md));
    program_.add(made, {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}});
    set_result({permuted(dst.desc, inverse(order)), dst.buffer});
  }

  void softmax(bool is_log) {
    const Tensor src = plain_input(input(0));
    int64_t axis = node().number("axis", -1);
    if (axis < 0) axis += src.desc.ndims;
    const dnnl_prop_kind_t prop = dnnl_forward_inference;
    const Tensor dst = program_.temporary(src.desc);
    Description made;
    dnnl_softmax_desc_t desc;
    check(is_log ? library().logsoftmax_forward_desc_init(&desc, prop, &src.desc, static_cast<int>(axis))
                 : library().softmax_forward_desc_init(&desc, prop, &src.desc, static_cast<int>(axis)),
          node().name);
    made = Program::describe(&desc, nullptr, node().name);
    program_.add(made, {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}});
    set_result(dst);
  }

  void layer_norm() {
    const Tensor src = plain_input(input(0)), scale = plain_input(input(1)), shift = plain_input(input(2));
    unsigned flags = 0;
    if (node().number("scale", 1)) flags |= dnnl_use_scale;
    if (node().number("center", 1)) flags |= dnnl_use_shift;
    dnnl_layer_normalization_desc_t desc;
    check(library().layer_normalization_forward_desc_init(&desc, dnnl_forward_inference, &src.desc, nullptr,
                                                          static_cast<float>(node().real("epsilon", 1e-5)), flags),
          node().name);
    Description made = Program::describe(&desc, nullptr, node().name);
    const Tensor dst = program_.temporary(made.desc(dnnl_query_dst_md));
    std::vector<Program::Argument> args{{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}};
    if (flags & dnnl_use_scale) args.emplace_back(DNNL_ARG_SCALE, scale);
    if (flags & dnnl_use_shift) args.emplace_back(DNNL_ARG_SHIFT, shift);
    program_.add(made, args);
    set_result(dst);
  }

  void concatenate() {
    std::vector<Desc> descs;
    std::vector<Program::Argument> args;
    for (size_t i = 0; i < node().inputs.size(); ++i) {
      const Tensor& part = value(input(i));
      descs.push_back(part.desc);
      args.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), part);
    }
    if (descs.empty()) throw Error(ValueError) << "oneDNN: " << node().name << " of nothing";
    int64_t axis = node().number("axis", 0);
    if (axis < 0) axis += descs[0].ndims;
    dnnl_primitive_desc_t made = nullptr;
    check(library().concat_primitive_desc_create(&made, nullptr, static_cast<int>(descs.size()), static_cast<int>(axis),
                                                 descs.data(), nullptr, library().engine),
          node().name);
    Description description(made);
    const Tensor dst = program_.temporary(description.desc(dnnl_query_dst_md));
    args.emplace_back(DNNL_ARG_DST, dst);
    program_.add(description, args);
    set_result(dst);
  }

  void eltwise(const Eltwise& function) {
    const Tensor src = value(input(0));
    dnnl_eltwise_desc_t desc;
    check(library().eltwise_forward_desc_init(&desc, dnnl_forward_inference, function.kind, &src.desc,
                                              static_cast<float>(function.alpha), static_cast<float>(function.beta)),
          node().name);
    const Tensor dst = program_.temporary(src.desc);
    program_.add(Program::describe(&desc, nullptr, node().name), {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}});
    set_result(dst);
  }

  /// The operand with leading dimensions of one.
  Tensor extended(JsonGraph::Value v, size_t rank) {
    Dims dims = type(v).shape;
    if (dims.size() == rank) return value(v);
    dims.insert(dims.begin(), rank - std::min(rank, dims.size()), 1);
    return {plain(dims, type(v).dtype), plain_input(v).buffer};
  }

  void binary(dnnl_alg_kind_t kind) {
    const std::vector<int64_t>& shape = result_type().shape;
    JsonGraph::Value left = input(0), right = input(1);
    const bool commutes = kind != dnnl_binary_sub && kind != dnnl_binary_div;
    if (type(left).shape != shape && commutes) std::swap(left, right);
    if (type(left).shape != shape)
      throw Error(ValueError) << "oneDNN: " << node().name << " whose first operand is broadcast";
    const Tensor a = value(left);
    Tensor b = extended(right, std::max<size_t>(shape.size(), 1));
    if (type(right).shape == shape) b = program_.reordered(b, a.desc);
    const Desc dst_any = any_format(shape.empty() ? Dims{1} : shape, result_type().dtype);
    dnnl_binary_desc_t desc;
    check(library().binary_desc_init(&desc, kind, &a.desc, &b.desc, &dst_any), node().name);
    Description made = Program::describe(&desc, nullptr, node().name);
    const Tensor dst = program_.temporary(made.desc(dnnl_query_dst_md));
    program_.add(made, {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, dst}});
    set_result(dst);
  }

  const JsonGraph& graph_;
  Program program_;
  size_t at_ = 0;
  std::vector<std::vector<Tensor>> values_;
  std::vector<std::vector<size_t>> last_use_;  // node, SIZE_MAX for results
  std::map<uint32_t, NDArray> constants_;      // by node
};

}  // namespace

Program program_of(const JsonGraph& graph, const std::vector<NDArray>& constants) {
  return Builder(graph, constants).run();
}

}  // namespace tessera::dnnl
#endif
