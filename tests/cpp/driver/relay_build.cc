#include "driver/relay_build.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "relay/attrs/nn.h"
#include "runtime/graph_executor/graph_executor.h"

namespace tessera::relay {
namespace {

TensorType f32(Array<PrimExpr> shape) { return TensorType(std::move(shape), DataType::Float(32)); }

Expr dense(Expr x, Expr w) { return call_op("nn.dense", {std::move(x), std::move(w)}, make(DenseAttrs())); }

IRModule module_of(const Function& main) {
  GlobalVarNode name;
  name.name_hint = "main";
  return IRModule(Map<GlobalVar, BaseFunc>{{make(std::move(name)), main}});
}

NDArray filled(std::vector<int64_t> shape, std::function<float(int64_t)> value) {
  NDArray out = NDArray::empty(shape, DataType::Float(32));
  for (int64_t i = 0; i < out.size(); ++i) out.data<float>()[i] = value(i);
  return out;
}

TEST(RelayBuild, ASmallNetworkRuns) {
  constexpr int kRows = 3, kDepth = 20, kUnits = 18;
  Var x = make_local("x", f32({kRows, kDepth})), w = make_local("w", f32({kUnits, kDepth})),
      b = make_local("b", f32({kUnits}));
  Expr y = call_op("tanh", {call_op("add", {dense(x, w), b})});
  NDArray weights = filled({kUnits, kDepth}, [](int64_t i) { return 0.01f * static_cast<float>(i % 17); });
  NDArray bias = filled({kUnits}, [](int64_t i) { return static_cast<float>(i) - 9.0f; });
  NDArray data = filled({kRows, kDepth}, [](int64_t i) { return static_cast<float>(i % 5) - 2.0f; });
  for (int level : {0, 1, 2, 3}) {
    PassContextNode options;
    options.opt_level = level;
    WithPassContext context(PassContext::create(options));
    BuiltGraph built = build_graph(module_of(make_function({x, w, b}, y)), Target::parse("llvm"),
                                   {{"w", weights}, {"b", bias}}, "default");
    EXPECT_EQ(built.params.size(), 2u);
    EXPECT_EQ(built.graph_json.find("fused_nn_dense_add_tanh") != std::string::npos, level > 0) << built.graph_json;
    GraphExecutor graph(Graph::parse(built.graph_json), built.library, {cpu()}, built.params);
    graph.set_input(graph.input_index("x"), data.tensor());
    graph.run();
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kUnits; ++j) {
        double sum = bias.data<float>()[j];
        for (int k = 0; k < kDepth; ++k)
          sum += data.data<float>()[i * kDepth + k] * weights.data<float>()[j * kDepth + k];
        EXPECT_NEAR(graph.output(0).data<float>()[i * kUnits + j], std::tanh(sum), 1e-5);
      }
    }
  }
}

TEST(RelayBuild, EqualKernelsAreCompiledOnce) {
  Var x = make_local("x", f32({4, 4})), w = make_local("w", f32({4, 4}));
  Expr y = dense(call_op("exp", {dense(x, w)}), w);
  BuiltGraph built = build_graph(module_of(make_function({x, w}, call_op("exp", {y}))), Target::parse("llvm"), {}, "m");
  EXPECT_NE(built.graph_json.find("\"name\": \"tvmgen_m_fused_nn_dense_exp_1\""), std::string::npos)
      << built.graph_json;
  EXPECT_EQ(built.graph_json.find("\"func_name\": \"tvmgen_m_fused_nn_dense_exp_1\""), std::string::npos);
}

TEST(RelayBuild, ControlFlowNeedsTheVirtualMachine) {
  Var c = make_local("c", TensorType::scalar(DataType::Bool())), x = make_local("x", f32({4}));
  If branch;
  branch.cond = c, branch.true_branch = x, branch.false_branch = call_op("exp", {x});
  try {
    build_graph(module_of(make_function({c, x}, make(std::move(branch)))), Target::parse("llvm"), {}, "default");
    FAIL() << "no error";
  } catch (Error& error) {
    EXPECT_NE(error.message().find("virtual machine"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace tessera::relay
