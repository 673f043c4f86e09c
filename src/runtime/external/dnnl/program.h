#pragma once
// A list of primitives of oneDNN, and the memory they work in.

#include "runtime/external/dnnl/library.h"

#ifdef TESSERA_HAS_DNNL
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace tessera::dnnl {

using Dims = std::vector<int64_t>;
using Desc = dnnl_memory_desc_t;

dnnl_data_type_t data_type(DataType dtype);
Desc strided(const Dims& dims, const Dims& strides, DataType dtype);
/// Row-major; a number is a vector of one.
Desc plain(const Dims& dims, DataType dtype);
/// The library chooses the format.
Desc any_format(const Dims& dims, DataType dtype);
/// The axes in another order: axis i becomes axis order[i].
Desc permuted(const Desc& desc, const std::vector<int>& order);
bool equal(const Desc& a, const Desc& b);
std::vector<int> inverse(const std::vector<int>& order);

/// A tensor of the program: how it lies in one of its buffers.
struct Tensor {
  Desc desc{};
  int buffer = -1;
};

class Description {
 public:
  Description() = default;
  explicit Description(dnnl_primitive_desc_t desc);
  /// What the library chose.
  Desc desc(dnnl_query_t which) const;
  dnnl_primitive_desc_t get() const { return desc_.get(); }

 private:
  std::shared_ptr<dnnl_primitive_desc> desc_;
};

/// What happens to each result before it is written.
class PostOps {
 public:
  PostOps();
  /// What results are multiplied by, before all else: one factor, or one for each index of their second dimension.
  void set_scales(std::vector<float> scales) { scales_ = std::move(scales); }
  void add_sum(double scale = 1);
  void add_eltwise(dnnl_alg_kind_t kind, double alpha, double beta, double scale = 1);
  dnnl_primitive_attr_t get();

 private:
  std::vector<float> scales_;
  std::shared_ptr<dnnl_post_ops> ops_;
  std::shared_ptr<dnnl_primitive_attr> attr_;
};

class Program {
 public:
  using Argument = std::pair<int, Tensor>;  // DNNL_ARG_..., and what it is

  int input(const Desc& desc);                       // given anew with each run
  int constant(const Desc& desc, const void* data);  // must stay
  Tensor temporary(const Desc& desc);
  bool is_temporary(const Tensor& tensor) const { return buffer(tensor).kind == Kind::Temporary; }
  /// True when the tensor lies inside its buffer.
  bool fits(const Tensor& tensor) const { return library().memory_desc_get_size(&tensor.desc) <= buffer(tensor).bytes; }
  bool is_constant(const Tensor& tensor) const { return buffer(tensor).kind == Kind::Constant; }

  static Description describe(const void* op_desc, dnnl_primitive_attr_t attr, const std::string& what);
  void add(const Description& description, const std::vector<Argument>& args);
  /// The tensor in another format; constants are changed at once, others with each run.
  Tensor reordered(const Tensor& tensor, const Desc& desc);
  void reorder_into(const Tensor& from, const Tensor& to);
  /// Makes a tensor a result of the program, in that format.
  void add_output(const Tensor& tensor, const Desc& desc);

  /// Gives temporary buffers their memory; nothing is added afterwards.
  void finish();
  void run(const std::vector<void*>& inputs, const std::vector<void*>& outputs);

 private:
  enum class Kind { Input, Constant, Temporary, Output };
  struct Buffer {
    Kind kind;
    size_t bytes;
    size_t first = SIZE_MAX, last = 0;  // steps that use it
    void* data = nullptr;
    std::vector<dnnl_memory_t> memories;
  };
  struct Step {
    std::shared_ptr<dnnl_primitive> primitive;
    std::vector<dnnl_exec_arg_t> args;
    std::vector<std::shared_ptr<dnnl_memory>> keep;
  };

  int add_buffer(Kind kind, size_t bytes);
  const Buffer& buffer(const Tensor& tensor) const { return buffers_[static_cast<size_t>(tensor.buffer)]; }
  Step step(const Description& description, const std::vector<Argument>& args);
  static void set_data(Buffer& buffer, void* data);

  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::vector<int> inputs_, outputs_;
  std::vector<std::unique_ptr<char[]>> owned_;
};

}  // namespace tessera::dnnl
#endif
