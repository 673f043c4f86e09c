// Many threads on one model. The library is written in C++, so that this also runs without the compiler, under the
// thread sanitizer.

#include "runtime/package/model.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "expect_error.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr int64_t kSize = 64;
constexpr int kSteps = 6;

struct Doubling {
  const float* in;
  const float* weight;
  float* out;
};

/// step(x, w) = 2x + w, in parallel, as a compiled kernel would do it.
int doubling_task(int task, TesseraParallelGroupEnv* env, void* data) {
  auto* work = static_cast<Doubling*>(data);
  for (int64_t i = task; i < kSize; i += env->num_task) work->out[i] = 2 * work->in[i] + work->weight[i];
  return 0;
}

class Library final : public ModuleBody {
 public:
  std::string type_key() const override { return "test_library"; }
  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "fail")
      return PackedFunc([self](Args, Any*) { throw Error(ValueError) << "the kernel does not like this"; });
    if (name != "step") return nullptr;
    return PackedFunc([self](Args args, Any*) {
      auto at = [&](int i) { return static_cast<float*>(data_of(args[i].to<DLTensor*>())); };
      Doubling work{at(0), at(1), at(2)};
      if (parallel_launch(doubling_task, &work, 4) != 0) throw_last_error();
    });
  }
};

std::string quoted_list(const std::string& item, int count) {
  std::string out = item;
  for (int i = 1; i < count; ++i) out += ", " + item;
  return out;
}

/// `x` through a chain of steps that all use the parameter `w`; every second step shares its memory.
Module chain_model(const std::string& kernel = "step") {
  std::string nodes = R"({"op":"null","name":"x","inputs":[]},{"op":"null","name":"w","inputs":[]})", storages = "0,1";
  std::string rows = "0,1,2";
  for (int i = 0; i < kSteps; ++i) {
    nodes += fmt::format(
        R"(,{{"op":"tvm_op","name":"s{}","inputs":[[{},0,0],[1,0,0]],"attrs":{{"func_name":"{}","num_inputs":"2",)"
        R"("num_outputs":"1","flatten_data":"0"}}}})",
        i, i == 0 ? 0 : i + 1, kernel);
    storages += fmt::format(",{}", 2 + i % 2);
    rows += fmt::format(",{}", i + 3);
  }
  std::string json = fmt::format(
      R"({{"nodes":[{}],"arg_nodes":[0,1],"heads":[[{},0,0]],"node_row_ptr":[{}],"attrs":{{"shape":["list_shape",[{}]],)"
      R"("dltype":["list_str",[{}]],"storage_id":["list_int",[{}]]}}}})",
      nodes, kSteps + 1, rows, quoted_list(fmt::format("[{}]", kSize), kSteps + 2),
      quoted_list("\"float32\"", kSteps + 2), storages);
  NDArray weight = NDArray::empty({&kSize, 1}, DataType::Float(32));
  for (int64_t i = 0; i < kSize; ++i) weight.data<float>()[i] = static_cast<float>(i);
  return get_global("tvm.graph_executor_factory.create")(json, make_module<Library>(), "net", "w", weight).to<Module>();
}

NDArray filled(float value, int64_t size = kSize) {
  NDArray out = NDArray::empty({&size, 1}, DataType::Float(32));
  for (int64_t i = 0; i < size; ++i) out.data<float>()[i] = value;
  return out;
}

float expected(float value, int64_t i) {
  for (int step = 0; step < kSteps; ++step) value = 2 * value + static_cast<float>(i);
  return value;
}

TEST(Model, DescribesItsInputsWithoutParameters) {
  Model model(chain_model());
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].shape, std::vector<int64_t>{kSize});
  EXPECT_EQ(model.outputs().size(), 1u);
  EXPECT_EQ(model.device().device_type, kDLCPU);
}

TEST(Model, ManyThreadsRunItAtOnceAndEachGetsItsOwnAnswer) {
  Model model(chain_model());
  constexpr int kThreads = 8, kRuns = 100;
  std::atomic<int> wrong = 0, ready = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      std::vector<NDArray> kept;  // results stay what they were while others run
      for (int run = 0; run < kRuns; ++run) {
        NDArray x = filled(static_cast<float>(t * kRuns + run) / 64);
        kept.push_back(model.run({&x, 1})[0]);
      }
      for (int run = 0; run < kRuns; ++run)
        for (int64_t i = 0; i < kSize; ++i)
          wrong +=
              kept[static_cast<size_t>(run)].data<float>()[i] != expected(static_cast<float>(t * kRuns + run) / 64, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(model.executors(), static_cast<size_t>(kThreads));
}

TEST(Model, RunsOneAfterTheOtherNeedOneExecutor) {
  Model model(chain_model());
  NDArray x = filled(1);
  for (int i = 0; i < 5; ++i) model.run({&x, 1});
  EXPECT_EQ(model.executors(), 1u);
}

TEST(Model, AnExecutorWhoseRunFailedIsUsedAgain) {
  Model model(chain_model("fail"));
  NDArray x = filled(1);
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(error_of([&] { model.run({&x, 1}); }), testing::HasSubstr("the kernel does not like this"));
  EXPECT_EQ(model.executors(), 1u);
}

TEST(Model, WrongInputsAreNamed) {
  Model model(chain_model());
  NDArray small = filled(1, 3), right = filled(1), missing;
  EXPECT_THAT(error_of([&] { model.run({&small, 1}); }),
              testing::HasSubstr("input \"x\" is (64,) float32, but the tensor given is (3,) float32"));
  EXPECT_THAT(error_of([&] { model.run({&missing, 1}); }),
              testing::HasSubstr("input \"x\" is missing; it is (64,) float32"));
  EXPECT_THAT(error_of([&] { model.run({}); }), testing::HasSubstr("input \"x\" is missing"));
  NDArray two[] = {right, right};
  EXPECT_THAT(error_of([&] { model.run(two); }), testing::HasSubstr("the model takes 1 inputs, got 2"));
  EXPECT_THAT(error_of([&] { model.input_index("w"); }),
              testing::HasSubstr("the model has no input \"w\"; its inputs are x"));
}

TEST(Executable, RunsIntoGivenTensorsAndTellsItsMemory) {
  std::unique_ptr<Executable> chain = make_executable(chain_model(), {cpu()});
  EXPECT_STREQ(chain->kind(), "graph");
  EXPECT_GE(chain->memory(), 2 * kSize * sizeof(float));
  NDArray x = filled(1), out = filled(0);
  std::vector<NDArray> results = chain->run({&x, 1}, {&out, 1});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].same_as(out));
  EXPECT_EQ(out.data<float>()[0], Model(chain_model()).run({&x, 1})[0].data<float>()[0]);
  EXPECT_EQ(chain->profile({&x, 1}, profiling::Collectors())->calls.size(), static_cast<size_t>(kSteps));
  EXPECT_THAT(error_of([&] { make_executable(chain_model(), {}); }), testing::HasSubstr("needs a device"));
}

TEST(Model, AModuleThatIsNoModelIsRejected) {
  EXPECT_THAT(error_of([&] { Model(make_module<Library>()); }),
              testing::HasSubstr("the test_library module is no compiled model"));
}

}  // namespace
}  // namespace tessera
