// Values at run time: operators that read indices, bounds, lengths or positions from data, run on any such data. Whatever it is,
// an operator answers or throws an error, and touches no memory but that of its tensors: all memory of the CPU lies against
// pages that must not be touched, which sees compiled code too.
//
// Input: which program, where its memory lies against such a page, then the extents that are not fixed and the elements, one
// byte each.

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "driver/vm/compile.h"
#include "expect_error.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/attrs/vision.h"
#include "relay/make.h"
#include "relay/type/infer_type.h"
#include "runtime/device_api.h"
#include "runtime/function/element.h"
#include "runtime/vm/machine.h"

using namespace tessera;
using namespace tessera::relay;

namespace {

// ---- memory -----------------------------------------------------------------------------------------------------------

/// Memory of the CPU between two pages that nobody may touch. It begins behind the first or ends before the second, but for
/// what alignment takes.
class GuardedMemory final : public DeviceAPI {
 public:
  explicit GuardedMemory(DeviceAPI* usual) : usual_(usual) {}
  bool at_end = true;

  Any get_attr(DLDevice device, DeviceAttr attr) override { return usual_->get_attr(device, attr); }
  void copy(const DLTensor* from, DLTensor* to, Stream stream) override { usual_->copy(from, to, stream); }
  void sync(DLDevice, Stream) override {}

  void* alloc(DLDevice, size_t bytes, size_t alignment, DataType) override {
    constexpr size_t kMaxBytes = 1 << 28;  // as data may ask for results that take all memory there is
    if (bytes > kMaxBytes) throw Error(RuntimeError) << "out of memory: " << bytes << " bytes";
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t used = (bytes + alignment - 1) / alignment * alignment, inner = (used + page - 1) / page * page;
    void* all = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw Error(RuntimeError) << "out of memory: " << bytes << " bytes";
    char* begin = static_cast<char*>(all) + page;
    if (inner > 0) mprotect(begin, inner, PROT_READ | PROT_WRITE);
    char* data = at_end ? begin + inner - used : begin;
    std::lock_guard lock(mutex_);
    mapped_[data] = {all, inner + 2 * page};
    return data;
  }
  void free(DLDevice, void* data) override {
    std::lock_guard lock(mutex_);
    auto it = mapped_.find(data);
    if (it == mapped_.end()) return;  // from before there were guards
    munmap(it->second.first, it->second.second);
    mapped_.erase(it);
  }

 private:
  DeviceAPI* usual_;
  std::mutex mutex_;
  std::unordered_map<void*, std::pair<void*, size_t>> mapped_;
};

GuardedMemory& memory() {
  static auto* out = [] {
    auto* made = new GuardedMemory(get_device_api(cpu()));
    register_device_api(kDLCPU, made);
    return made;
  }();
  return *out;
}

// ---- programs ---------------------------------------------------------------------------------------------------------

constexpr int kOpen = -1;  // an extent that the input decides

struct Program {
  std::vector<TensorType> inputs;
  std::function<Expr(const Array<Expr>&)> body;
  Module executable;  // compiled when first run
};

TensorType type(DataType dtype, std::initializer_list<int> shape) {
  Array<PrimExpr> extents;
  for (int extent : shape) extents.push_back(extent == kOpen ? op::any_extent() : PrimExpr(extent));
  return TensorType(extents, dtype);
}
TensorType f32(std::initializer_list<int> shape) { return type(DataType::Float(32), shape); }
TensorType i32(std::initializer_list<int> shape) { return type(DataType::Int(32), shape); }
TensorType i64(std::initializer_list<int> shape) { return type(DataType::Int(64), shape); }

template <class A>
Program call(const char* op, std::vector<TensorType> inputs, std::function<void(A&)> fill) {
  return {std::move(inputs),
          [=](const Array<Expr>& in) { return call_op(op, in, make_attrs<A>([&](A& attrs) { fill(attrs); })); },
          {}};
}
Program plain(const char* op, std::vector<TensorType> inputs) {
  return {std::move(inputs), [=](const Array<Expr>& in) { return call_op(op, in); }, {}};
}

Array<PrimExpr> pair(int a, int b) { return {PrimExpr(a), PrimExpr(b)}; }

void add_index_programs(std::vector<Program>* out) {
  const std::vector<std::pair<TensorType, int>> kinds = {{i64({3}), -1},
                                                         {i64({3}), 0},
                                                         {i64({37}), 1},
                                                         {i32({37}), 0},
                                                         {type(DataType::Int(8), {3}), 0},
                                                         {type(DataType::UInt(8), {3}), 1},
                                                         {type(DataType::UInt(64), {3}), 0}};
  for (const char* mode : {"clip", "wrap", "fast", ""})  // the last: checked
    for (const auto& [indices, axis] : kinds)
      out->push_back(call<TakeAttrs>("take", {f32({5, 24}), indices}, [mode, axis = axis](TakeAttrs& attrs) {
        if (axis >= 0) attrs.axis = PrimExpr(axis);
        attrs.mode = *mode ? mode : "clip";
        if (!*mode) attrs.checked_as = "node";
      }));
  for (const char* name : {"", "node"}) {
    auto take = [=](TakeAttrs& attrs) { attrs.axis = PrimExpr(0), attrs.mode = "fast", attrs.checked_as = name; };
    auto batched = [=](TakeAttrs& attrs) { take(attrs), attrs.axis = PrimExpr(1), attrs.batch_dims = 1; };
    auto gather = [=](GatherAttrs& attrs) { attrs.axis = PrimExpr(1), attrs.checked_as = name; };
    auto gather_nd = [=](GatherNDAttrs& attrs) { attrs.checked_as = name; };
    auto scatter = [=](ScatterAttrs& attrs) { attrs.checked_as = name; };
    auto scatter_add = [=](ScatterAddAttrs& attrs) { attrs.axis = 1, attrs.checked_as = name; };
    auto scatter_nd = [=](ScatterNDAttrs& attrs) { attrs.mode = "add", attrs.checked_as = name; };
    for (const Program& program : {
             call<TakeAttrs>("take", {f32({kOpen, 4}), i64({kOpen})}, take),
             call<TakeAttrs>("take", {f32({kOpen, kOpen}), i64({kOpen})}, take),
             call<TakeAttrs>("take", {f32({2, 5, 4}), i32({2, 3})}, batched),
             call<TakeAttrs>("take", {f32({kOpen, 5, 4}), i32({kOpen, 3})}, batched),
             call<GatherAttrs>("gather", {f32({5, 4}), i64({5, 19})}, gather),
             call<GatherAttrs>("gather", {f32({kOpen, kOpen}), i64({kOpen, kOpen})}, gather),
             call<GatherNDAttrs>("gather_nd", {f32({2, 5, 4}), i64({2, 3})}, gather_nd),
             call<GatherNDAttrs>("gather_nd", {f32({kOpen, kOpen, 4}), i64({2, kOpen})}, gather_nd),
             call<GatherNDAttrs>("gather_nd", {f32({kOpen, 5, 4}), i64({1, kOpen})},
                                 [=](GatherNDAttrs& attrs) { attrs.batch_dims = 1, attrs.checked_as = name; }),
             call<ScatterAttrs>("scatter", {f32({5, 4}), i64({3, 4}), f32({3, 4})}, scatter),
             call<ScatterAttrs>("scatter", {f32({kOpen, kOpen}), i64({kOpen, kOpen}), f32({kOpen, kOpen})}, scatter),
             call<ScatterAddAttrs>("scatter_add", {f32({5, 4}), type(DataType::Int(8), {5, 9}), f32({5, 9})},
                                   scatter_add),
             call<ScatterNDAttrs>("scatter_nd", {f32({5, 4}), i64({2, 3}), f32({3})}, scatter_nd),
             call<ScatterNDAttrs>("scatter_nd", {f32({kOpen, kOpen}), i64({1, kOpen}), f32({kOpen, kOpen})},
                                  scatter_nd),
         })
      out->push_back(program);
  }
  out->push_back({{f32({5, 4}), i64({2, 3}), i64({3})},
                  [](const Array<Expr>& in) { return call_op("adv_index", {make_tuple(in)}); },
                  {}});
  out->push_back(call<SparseToDenseAttrs>("sparse_to_dense", {i32({3, 2}), f32({3}), f32({})},
                                          [](SparseToDenseAttrs& attrs) { attrs.output_shape = pair(5, 4); }));
  out->push_back(plain("invert_permutation", {i32({5})}));
  out->push_back(call<OneHotAttrs>("one_hot", {i64({3}), f32({}), f32({})},
                                   [](OneHotAttrs& attrs) { attrs.depth = 5, attrs.dtype = DataType::Float(32); }));
  out->push_back(plain("unravel_index", {i64({3}), i64({2})}));
  out->push_back(call<NLLLossAttrs>("nn.nll_loss", {f32({5, 4}), i32({5}), f32({4})},
                                    [](NLLLossAttrs& attrs) { attrs.ignore_index = 2; }));
  out->push_back(call<SequenceMaskAttrs>("sequence_mask", {f32({5, 4}), i32({4})}, [](SequenceMaskAttrs&) {}));
  out->push_back(call<ReverseSequenceAttrs>("reverse_sequence", {f32({5, 4}), i64({5})}, [](ReverseSequenceAttrs&) {}));
  out->push_back(plain("sparse_fill_empty_rows", {i64({4, 2}), f32({4}), i64({2}), f32({})}));
  out->push_back(plain("sparse_fill_empty_rows", {i64({kOpen, 2}), f32({kOpen}), i64({2}), f32({})}));
  out->push_back(plain("sparse_reshape", {i64({4, 2}), i64({2}), i64({2})}));
  out->push_back(call<TriluAttrs>("trilu", {f32({5, 4}), i64({})}, [](TriluAttrs&) {}));
  out->push_back(plain("strided_set", {f32({5, 4}), f32({2, 2}), i64({2}), i64({2}), i64({2})}));
}

void add_search_programs(std::vector<Program>* out) {
  out->push_back(call<SearchSortedAttrs>("searchsorted", {f32({5}), f32({3})}, [](SearchSortedAttrs&) {}));
  out->push_back(call<SearchSortedAttrs>("searchsorted", {f32({kOpen, kOpen}), f32({kOpen, kOpen})},
                                         [](SearchSortedAttrs& attrs) { attrs.right = true; }));
  auto indices = [](auto& attrs) { attrs.dtype = DataType::Int(32); };
  out->push_back(call<ArgsortAttrs>("argsort", {f32({5, 4})}, indices));
  out->push_back(call<ArgsortAttrs>("sort", {f32({5, 4})}, indices));
  out->push_back(
      call<TopkAttrs>("topk", {f32({5, 4})}, [=](TopkAttrs& attrs) { indices(attrs), attrs.k = PrimExpr(2); }));
  out->push_back(call<UniqueAttrs>("unique", {i32({7})}, [](UniqueAttrs& attrs) { attrs.return_counts = true; }));
  out->push_back(plain("argwhere", {f32({5, 4})}));
  out->push_back(plain("argwhere", {f32({kOpen, 4})}));
}

void add_image_programs(std::vector<Program>* out) {
  for (const char* method : {"bilinear", "nearest", "bicubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (bool is_aligned : {false, true})
        out->push_back(call<GridSampleAttrs>("image.grid_sample", {f32({2, 3, 6, 6}), f32({2, 2, 3, 3})},
                                             [=](GridSampleAttrs& attrs) {
                                               attrs.method = method, attrs.padding_mode = padding;
                                               attrs.align_corners = is_aligned;
                                             }));
  for (const char* method : {"bilinear", "nearest_neighbor"})
    out->push_back(call<CropAndResizeAttrs>(
        "image.crop_and_resize", {f32({2, 3, 6, 6}), f32({3, 4}), i32({3})}, [=](CropAndResizeAttrs& attrs) {
          attrs.crop_size = pair(3, 3), attrs.layout = "NCHW", attrs.method = method;
        }));
  out->push_back(call<DeformableConv2DAttrs>(
      "nn.deformable_conv2d", {f32({1, 2, 5, 5}), f32({1, 18, 5, 5}), f32({2, 2, 3, 3})},
      [](DeformableConv2DAttrs& attrs) { attrs.padding = pair(1, 1), attrs.kernel_size = pair(3, 3); }));
}

void add_vision_programs(std::vector<Program>* out) {
  for (const char* mode : {"avg", "max"})
    for (bool is_nhwc : {false, true})
      out->push_back(call<ROIAlignAttrs>("vision.roi_align",
                                         {is_nhwc ? f32({2, 6, 6, 16}) : f32({2, 3, 6, 6}), f32({3, 5})},
                                         [=](ROIAlignAttrs& attrs) {
                                           attrs.pooled_size = pair(2, 2), attrs.sample_ratio = 2, attrs.mode = mode;
                                           attrs.layout = is_nhwc ? "NHWC" : "NCHW";
                                         }));
  out->push_back(call<ROIPoolAttrs>("vision.roi_pool", {f32({2, 3, 6, 6}), f32({3, 5})},
                                    [](ROIPoolAttrs& attrs) { attrs.pooled_size = pair(2, 2); }));
  out->push_back(
      call<GetValidCountsAttrs>("vision.get_valid_counts", {f32({1, 6, 6}), f32({})}, [](GetValidCountsAttrs&) {}));
  for (bool returns_indices : {false, true})
    out->push_back(call<NonMaximumSuppressionAttrs>(
        "vision.non_max_suppression", {f32({1, 6, 6}), i32({1}), i32({1, 6}), i32({}), f32({})},
        [=](NonMaximumSuppressionAttrs& attrs) {
          attrs.return_indices = returns_indices, attrs.invalid_to_bottom = true;
        }));
  out->push_back(call<AllClassNonMaximumSuppressionAttrs>(
      "vision.all_class_non_max_suppression", {f32({1, kOpen, 4}), f32({1, 2, kOpen}), i64({}), f32({}), f32({})},
      [](AllClassNonMaximumSuppressionAttrs&) {}));
  out->push_back(call<AllClassNonMaximumSuppressionAttrs>(
      "vision.all_class_non_max_suppression", {f32({1, 6, 4}), f32({1, 2, 6}), i64({}), f32({}), f32({})},
      [](AllClassNonMaximumSuppressionAttrs& attrs) { attrs.output_format = "tensorflow"; }));
  out->push_back(call<MultiBoxTransformLocAttrs>("vision.multibox_transform_loc",
                                                 {f32({1, 3, 4}), f32({1, 16}), f32({1, 4, 4})},
                                                 [](MultiBoxTransformLocAttrs&) {}));
  out->push_back(call<ProposalAttrs>("vision.proposal", {f32({1, 2, 3, 3}), f32({1, 4, 3, 3}), f32({1, 3})},
                                     [](ProposalAttrs& attrs) {
                                       attrs.scales = {real_number(1)}, attrs.ratios = {real_number(1)};
                                       attrs.feature_stride = 4, attrs.rpn_pre_nms_top_n = 6;
                                       attrs.rpn_post_nms_top_n = 4, attrs.rpn_min_size = 1;
                                     }));
}

/// Indices that are clamped and compared with what they were, as borders of a width known at run time have them.
void add_border_programs(std::vector<Program>* out) {
  for (int count : {48, kOpen})
    out->push_back({{f32({5, 24}), i64({count}), i64({})},
                    [](const Array<Expr>& in) {
                      DataType wide = DataType::Int(64);
                      Expr position = subtract(in[1], in[2]);
                      Expr held = minimum(maximum(position, make_scalar(0, wide)), make_scalar(23, wide));
                      Expr taken = call_op("take", {in[0], held},
                                           make_attrs<TakeAttrs>([](auto& attrs) { attrs.axis = PrimExpr(1); }));
                      return where(equal(position, held), taken, make_scalar(9, DataType::Float(32)));
                    },
                    {}});
}

std::vector<Program>& programs() {
  static auto* out = [] {
    auto* made = new std::vector<Program>;
    add_index_programs(made);
    add_search_programs(made);
    add_image_programs(made);
    add_vision_programs(made);
    add_border_programs(made);
    return made;
  }();
  return *out;
}

void compile(Program* program) {
  Array<relay::Var> params;
  Array<Expr> args;
  for (const TensorType& input : program->inputs) {
    params.push_back(make_local("x" + std::to_string(params.size()), input));
    args.push_back(params.back());
  }
  GlobalVarNode name;
  name.name_hint = "main";
  IRModule mod(Map<GlobalVar, BaseFunc>{{make(std::move(name)), make_function(params, program->body(args))}});
  CompilationConfig config = make_compilation_config({Target::parse("llvm")}, nullptr);
  program->executable = compile_vm(optimize_for_vm(infer_type(mod), config), config);
}

// ---- data -------------------------------------------------------------------------------------------------------------

/// InputBytes of the input, zeros behind its end.
class InputBytes {
 public:
  InputBytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  uint8_t next() { return at_ < end_ ? *at_++ : 0; }

 private:
  const uint8_t *at_, *end_;
};

/// Small numbers, and some that nobody expects.
int64_t whole_number(uint8_t byte) {
  constexpr int64_t kRare[] = {INT64_MIN,
                               INT64_MAX,
                               INT32_MIN,
                               INT32_MAX,
                               int64_t{1} << 32,
                               -(int64_t{1} << 32),
                               (int64_t{1} << 32) + 1,
                               1 << 20,
                               -(1 << 20),
                               1000000007,
                               255,
                               128,
                               -129,
                               65536};
  return byte < 200 ? byte % 40 - 12 : kRare[byte % std::size(kRare)];
}
double real_value(uint8_t byte) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double rare[] = {NAN, kInfinity, -kInfinity, 1e30, -1e30, 3e9, -3e9, 1e-30, -0.0, 2147483647.0, -2147483648.0};
  return byte < 200 ? byte % 40 / 4.0 - 4 : rare[byte % std::size(rare)];
}

/// Few elements, and now and then as many as loops over vectors take.
int64_t open_extent(uint8_t byte) {
  constexpr int64_t kVectors[] = {16, 17, 33, 64};
  return byte < 224 ? byte % 7 : kVectors[byte % std::size(kVectors)];
}

NDArray element_values(const TensorType& type, InputBytes* bytes) {
  std::vector<int64_t> shape;
  for (const PrimExpr& extent : type->shape) {
    const int64_t* known = as_int(extent);
    shape.push_back(known ? *known : open_extent(bytes->next()));
  }
  NDArray out = NDArray::empty(shape, type->dtype);
  for (int64_t i = 0; i < out.size(); ++i) {
    void* at = out.data<char>() + i * static_cast<int64_t>(type->dtype.bytes());
    if (type->dtype.is_floating()) write_float(type->dtype, real_value(bytes->next()), at);
    else write_int(type->dtype, whole_number(bytes->next()), at);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  InputBytes bytes(data, size);
  GuardedMemory& guarded = memory();
  Program& program = programs()[bytes.next() % programs().size()];
  if (!program.executable) compile(&program);
  guarded.at_end = bytes.next() % 2 == 0;
  std::vector<ObjectRef> args;
  for (const TensorType& input : program.inputs) args.push_back(element_values(input, &bytes));
  expect_value_or_error([&] {
    vm::Machine machine(program.executable, {cpu()}, /*pools_memory=*/false);
    machine.set_inputs("main", args);
    machine.invoke("main");
  });
  return 0;
}
