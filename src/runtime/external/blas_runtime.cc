// Modules of the types "cblas_json" and "mkl_json": graphs of one matmul. They call tvm.contrib.<library>.matmul, which users may replace.

#include "runtime/external/blas_runtime.h"

#include "runtime/external/blas.h"
#include "runtime/external/json_runtime.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

template <bool is_mkl>
class BlasRuntime final : public JsonRuntime {
 public:
  using JsonRuntime::JsonRuntime;
  std::string type_key() const override { return is_mkl ? "mkl_json" : "cblas_json"; }

 protected:
  void initialize(const std::vector<NDArray>&) override {
    const JsonGraph::Node& node = kernel();
    const bool is_dense = node.name == "nn.dense";
    trans_a_ = !is_dense && node.number("transpose_a", 0);
    trans_b_ = is_dense || node.number("transpose_b", 0);
  }

  void run(const std::vector<DLTensor*>& inputs, const std::vector<DLTensor*>& outputs) override {
    const bool is_batch = kernel().name == "nn.batch_matmul";
    const std::string library = is_mkl ? "tvm.contrib.mkl." : "tvm.contrib.cblas.";
    PackedFunc multiply = find_global(library + (is_batch ? "batch_matmul" : "matmul"));
    auto argument = [&](size_t i) {
      for (size_t k = 0; k < inputs.size(); ++k)
        if (graph().inputs[k] == kernel().inputs[i].node) return inputs[k];
      throw Error(ValueError) << "BLAS: an operand that is no argument";
    };
    if (multiply) multiply(argument(0), argument(1), outputs[0], trans_a_, trans_b_);
    else blas_matmul(is_mkl, argument(0), argument(1), outputs[0], trans_a_, trans_b_);
  }

 private:
  const JsonGraph::Node& kernel() const {
    const JsonGraph::Node& node = graph().nodes[graph().heads[0].node];
    if (node.kind != JsonGraph::Node::Kind::Kernel || node.inputs.size() != 2 || graph().heads.size() != 1)
      throw Error(ValueError) << "BLAS: the graph is not one matmul";
    return node;
  }

  bool trans_a_ = false, trans_b_ = false;
};

Globals blas_runtime_globals{
    {"runtime.module.loadbinary_cblas_json", load_json_runtime<BlasRuntime<false>>},
    {"runtime.module.loadbinary_mkl_json", load_json_runtime<BlasRuntime<true>>},
};

}  // namespace

Module make_blas_json(bool is_mkl, std::string symbol, std::string json) {
  return is_mkl ? make_module<BlasRuntime<true>>(std::move(symbol), std::move(json), Array<String>())
                : make_module<BlasRuntime<false>>(std::move(symbol), std::move(json), Array<String>());
}

}  // namespace tessera
