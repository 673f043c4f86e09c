#include "runtime/module/module.h"

#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "expect_error.h"
#include "runtime/module/compiled_code.h"
#include "runtime/module/library_module.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// A module whose functions return numbers; saved as its name and numbers.
class NumbersModule : public ModuleBody {
 public:
  NumbersModule(std::map<std::string, int> numbers, bool is_code = false)
      : numbers_(std::move(numbers)), is_code_(is_code) {}
  std::string type_key() const override { return "test_numbers"; }
  PackedFunc get_function(const std::string& name, const Module& self) override {
    auto it = numbers_.find(name);
    if (it == numbers_.end()) return nullptr;
    return PackedFunc([number = it->second, self](Args, Any* result) { *result = Any(number); });
  }
  void save_to_binary(ByteWriter& out) override {
    out.write(uint64_t{numbers_.size()});
    for (const auto& [name, number] : numbers_) {
      out.write(name);
      out.write(number);
    }
  }
  bool is_dso_exportable() const override { return is_code_; }
  static Module load(void* stream) {
    auto& in = *static_cast<ByteReader*>(stream);
    std::map<std::string, int> numbers;
    size_t count = in.read_count(12, "the number of functions");
    for (size_t i = 0; i < count; ++i) {
      std::string name = in.read_string("a name");
      numbers[name] = in.read<int>("a number");
    }
    return make_module<NumbersModule>(numbers);
  }

 private:
  std::map<std::string, int> numbers_;
  bool is_code_;
};

Globals globals{{"runtime.module.loadbinary_test_numbers", NumbersModule::load}};

Module numbers(std::map<std::string, int> of, bool is_code = false) { return make_module<NumbersModule>(of, is_code); }

TEST(Module, AsksItsImportsWhenTold) {
  Module root = numbers({{"one", 1}}), middle = numbers({}), leaf = numbers({{"two", 2}});
  middle.import_module(leaf);
  root.import_module(middle);
  EXPECT_EQ(root.get_function("one")().to<int>(), 1);
  EXPECT_FALSE(root.get_function("two"));
  EXPECT_EQ(root.get_function("two", true)().to<int>(), 2);
  EXPECT_FALSE(root.get_function("three", true));
  EXPECT_TRUE(get_global("runtime.ModuleImplementsFunction")(root, "two", true).to<bool>());
}

TEST(Module, ImportsCannotGoInACircle) {
  Module a = numbers({}), b = numbers({});
  a.import_module(b);
  EXPECT_THAT(error_of([&] { b.import_module(a); }), testing::HasSubstr("cannot go in a circle"));
  EXPECT_THAT(error_of([&] { a.import_module(a); }), testing::HasSubstr("cannot go in a circle"));
}

TEST(Module, LivesAsLongAsItsFunctions) {
  PackedFunc function;
  const ModuleNode* node;
  {
    Module module = numbers({{"f", 3}});
    node = module.get();
    function = module.get_function("f");
    EXPECT_EQ(node->use_count(), 2);
  }
  EXPECT_EQ(node->use_count(), 1);
  EXPECT_EQ(function().to<int>(), 3);
}

TEST(Module, SaysWhatItCannotDo) {
  Module module = numbers({});
  EXPECT_EQ(error_of([&] { module->save_to_file("x.o", ""); }),
            "TVMError: Module[test_numbers] cannot be saved as the file x.o");
}

TEST(Module, CompiledCodeFindsFunctionsInImportsThenGlobals) {
  Module root = numbers({});
  root.import_module(numbers({{"test.module.f", 5}}));
  register_global("test.module.f", typed("f", [] { return 6; }), true);
  register_global("test.module.g", typed("g", [] { return 7; }), true);
  EXPECT_EQ(PackedFunc(root.get()->function_of_environment("test.module.f"))().to<int>(), 5);
  EXPECT_EQ(PackedFunc(root.get()->function_of_environment("test.module.g"))().to<int>(), 7);
  EXPECT_THAT(error_of([&] { root.get()->function_of_environment("test.module.h"); }),
              testing::HasSubstr("Cannot find function test.module.h in the imported modules or global registry"));
}

// ---- packed imports ----

TEST(ModuleBlob, TheImportTreeComesBack) {
  Module root = numbers({}, true), device = numbers({{"kernel", 9}}), second = numbers({{"other", 4}}, true);
  root.import_module(device);
  root.import_module(second);
  second.import_module(device);
  Module library = numbers({{"host", 1}});
  Module back = unpack_imports(pack_imports(root), library, "a test");
  EXPECT_TRUE(back.same_as(library));
  ASSERT_EQ(back.imports().size(), 1u);
  EXPECT_EQ(back.get_function("kernel", true)().to<int>(), 9);
}

TEST(ModuleBlob, ARootThatIsNoCodeStaysTheRoot) {
  Module root = numbers({{"factory", 1}}), code = numbers({}, true), device = numbers({{"kernel", 9}});
  root.import_module(code);
  code.import_module(device);
  Module library = numbers({{"host", 2}});
  Module back = unpack_imports(pack_imports(root), library, "a test");
  EXPECT_EQ(back.get_function("factory")().to<int>(), 1);
  EXPECT_EQ(back.get_function("host", true)().to<int>(), 2);
  EXPECT_EQ(back.get_function("kernel", true)().to<int>(), 9);
  EXPECT_EQ(library.imports().size(), 1u);
}

TEST(ModuleBlob, CodeMergedIntoOneLibraryMakesNoCircle) {
  Module root = numbers({}, true), device = numbers({{"kernel", 9}}), inner = numbers({}, true);
  root.import_module(device);
  device.import_module(inner);
  Module library = numbers({});
  Module back = unpack_imports(pack_imports(root), library, "a test");
  EXPECT_EQ(back.get_function("kernel", true)().to<int>(), 9);
}

TEST(ModuleBlob, DamagedDataIsAnErrorNeverACrash) {
  Module root = numbers({}, true), device = numbers({{"kernel", 9}});
  root.import_module(device);
  device.import_module(numbers({{"x", 1}}));
  std::string data = pack_imports(root);
  for (size_t length = 0; length < data.size(); ++length)
    EXPECT_NE(error_of([&] { unpack_imports(std::string_view(data).substr(0, length), numbers({}), "a test"); }),
              "no error");
  for (size_t at = 0; at < data.size(); ++at)
    for (int value : {0, 1, 2, 3, 0x7f, 0xff}) {
      std::string copy = data;
      copy[at] = static_cast<char>(value);
      error_of([&] { unpack_imports(copy, numbers({}), "a test"); });
    }
}

TEST(ModuleBlob, ACircleInTheTreeIsRejected) {
  ByteWriter out;
  out.write(uint64_t{3});
  out.write("_lib");
  out.write("test_numbers");
  out.write(uint64_t{0});
  out.write("_import_tree");
  out.write(std::vector<uint64_t>{0, 1, 2});
  out.write(std::vector<uint64_t>{1, 0});
  EXPECT_THAT(error_of([&] { unpack_imports(out.take(), numbers({}), "a test"); }),
              testing::HasSubstr("corrupt a test: the import tree"));
}

TEST(ByteStream, PartsThatAreHandedOnAreWhatIsCollected) {
  auto fill = [](ByteWriter& out) {
    out.write(uint8_t{7});
    out.write(std::string(200'000, 'a'));  // longer than what is collected
    for (int i = 0; i < 70'000; ++i) out.write(static_cast<uint8_t>(i));
    write_sized(out, [](ByteWriter& to) { to.write(std::vector<uint64_t>{1, 2, 3}); });
  };
  ByteWriter whole;
  fill(whole);
  std::string parts;
  ByteWriter stream([&](std::string_view part) { parts.append(part); });
  fill(stream);
  stream.flush();
  EXPECT_EQ(stream.size(), whole.size());
  EXPECT_EQ(parts, whole.take());
}

TEST(ModuleBlob, AnUnknownKindIsNamed) {
  ByteWriter out;
  out.write(uint64_t{1});
  out.write("quantum");
  EXPECT_THAT(error_of([&] { unpack_imports(out.take(), numbers({}), "a test"); }),
              testing::HasSubstr("cannot load a module of type \"quantum\""));
}

// ---- libraries ----

/// Compiles C sources to a shared library in a folder of its own.
class LibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string library(const std::string& source) const {
    write("lib.c", source);
    std::string command = "cc -shared -fPIC -o " + path("lib.so") + " " + path("lib.c");
    EXPECT_EQ(std::system(command.c_str()), 0);
    return path("lib.so");
  }

 private:
  std::string folder_;
};

// As a code generator writes it: pointers that the loader fills, functions of the compiled signature.
constexpr const char* kSource = R"(
#include <stdint.h>
#include <stddef.h>
typedef union { int64_t i; double d; void* p; const char* s; } Value;
void* __tvm_module_ctx = NULL;
int (*__TVMFuncCall)(void*, Value*, int*, int, Value*, int*) = NULL;
void (*__TVMAPISetLastError)(const char*) = NULL;
int (*__TVMBackendGetFuncFromEnv)(void*, const char*, void**) = NULL;
void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = NULL;
int (*__TVMBackendFreeWorkspace)(int, int, void*) = NULL;
const char __tvm_main__[] = "add_one";
int add_one(Value* args, int* codes, int n, Value* ret, int* ret_code, void* resource) {
  if (n != 1 || codes[0] != 0) {
    __TVMAPISetLastError("TypeError: add_one takes one integer");
    return -1;
  }
  ret->i = args[0].i + 1;
  *ret_code = 0;
  return 0;
}
int call_global(Value* args, int* codes, int n, Value* ret, int* ret_code, void* resource) {
  void* f;
  if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "test.library.callee", &f) != 0) return -1;
  return __TVMFuncCall(f, args, codes, n, ret, ret_code);
}
int scratch(Value* args, int* codes, int n, Value* ret, int* ret_code, void* resource) {
  char* data = __TVMBackendAllocWorkspace(1, 0, 1000, 2, 32);
  if (!data) return -1;
  data[999] = 1;
  return __TVMBackendFreeWorkspace(1, 0, data);
}
)";

TEST_F(LibraryTest, ItsFunctionsAreCalledAndCallBack) {
  Module module = load_module(library(kSource));
  EXPECT_EQ(module->type_key(), "library");
  EXPECT_EQ(module.get_function("add_one")(41).to<int>(), 42);
  EXPECT_EQ(module.get_function(kModuleMain)(1).to<int>(), 2);
  EXPECT_EQ(error_of([&] { module.get_function("add_one")("x"); }), "TypeError: add_one takes one integer");
  EXPECT_FALSE(module.get_function("no_such"));
  EXPECT_TRUE(module.get_function("scratch")().is_null());
}

TEST_F(LibraryTest, AnErrorOfACalleeKeepsItsKindThroughCompiledCode) {
  Module module = load_module(library(kSource));
  PackedFunc call = module.get_function("call_global");
  EXPECT_THAT(error_of([&] { call(); }), testing::HasSubstr("Cannot find function test.library.callee"));
  register_global("test.library.callee",
                  typed("callee",
                        [](int x) -> int {
                          if (x < 0) throw Error(ValueError) << "negative";
                          return x * 2;
                        }),
                  true);
  EXPECT_EQ(call(4).to<int>(), 8);
  EXPECT_EQ(error_of([&] { call(-1); }), "ValueError: negative");
}

TEST_F(LibraryTest, AFunctionKeepsTheCodeLoaded) {
  PackedFunc function = load_module(library(kSource)).get_function("add_one");
  EXPECT_EQ(function(1).to<int>(), 2);
}

TEST_F(LibraryTest, PackedModulesAreLoadedWithIt) {
  Module root = numbers({}, true);
  root.import_module(numbers({{"kernel", 9}}));
  std::string blob = get_global("runtime.ModulePackImportsToC")(root, false).to<std::string>();
  Module module = load_module(library(kSource + blob));
  EXPECT_EQ(module.get_function("add_one")(1).to<int>(), 2);
  EXPECT_EQ(module.get_function("kernel", true)().to<int>(), 9);
}

TEST_F(LibraryTest, AForgedBlobSizeIsRejected) {
  std::string path = library("const unsigned char __tvm_dev_mblob[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};");
  EXPECT_THAT(error_of([&] { load_module(path); }), testing::HasSubstr("announces 281474976710655 bytes"));
}

TEST_F(LibraryTest, FilesThatAreMissingOrDamagedAreNamed) {
  EXPECT_THAT(error_of([&] { load_module(path("none.so")); }),
              testing::AllOf(testing::StartsWith("FileNotFoundError"), testing::HasSubstr(path("none.so")),
                             testing::HasSubstr("No such file")));
  write("bad.so", "this is no library");
  EXPECT_THAT(error_of([&] { load_module(path("bad.so")); }), testing::HasSubstr(path("bad.so")));
  write("bad.xyz", "");
  EXPECT_THAT(
      error_of([&] { load_module(path("bad.xyz")); }),
      testing::AllOf(testing::HasSubstr("Loader for `.xyz` files is not registered"), testing::HasSubstr(" .so")));
  EXPECT_THAT(error_of([&] { load_module(path("nosuffix")); }), testing::HasSubstr("give a format"));
}

TEST_F(LibraryTest, ALibraryCutShortIsAnErrorNotACrash) {
  std::string whole = library(kSource), data;
  {
    std::ostringstream bytes;
    bytes << std::ifstream(whole, std::ios::binary).rdbuf();
    data = bytes.str();
  }
  // The section headers at the end are not needed to load it, and a few bytes less than whole do no harm.
  for (size_t length = 0; length < data.size() / 2; length += 61) {
    write("cut.so", data.substr(0, length));
    EXPECT_THAT(error_of([&] { load_module(path("cut.so")); }), testing::HasSubstr(path("cut.so") + ": it")) << length;
  }
  for (size_t length = data.size() / 2; length < data.size(); length += 61) {
    write("cut.so", data.substr(0, length));
    error_of([&] { load_module(path("cut.so")); });
  }
}

TEST_F(LibraryTest, ALibraryWithADamagedHeaderIsAnErrorNotACrash) {
  std::ostringstream bytes;
  bytes << std::ifstream(library(kSource), std::ios::binary).rdbuf();
  const std::string data = bytes.str();
  // All of the header, and the segments other than code and data: in those, other bytes would be as good.
  std::vector<size_t> offsets;
  for (size_t at = 0; at < sizeof(Elf64_Ehdr); ++at) offsets.push_back(at);
  Elf64_Ehdr header;
  std::memcpy(&header, data.data(), sizeof header);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    size_t start = header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, data.data() + start, sizeof segment);
    if (segment.p_type == PT_LOAD) continue;
    for (size_t at = start; at < start + sizeof segment; ++at) offsets.push_back(at);
  }
  for (size_t at : offsets)
    for (int value : {0x00, 0x01, 0x7f, 0xff}) {
      std::string damaged = data;
      damaged[at] = static_cast<char>(value);
      write("damaged.so", damaged);
      error_of([&] { load_module(path("damaged.so")); });
    }
}

TEST_F(LibraryTest, AnObjectFileIsNoLibrary) {
  library(kSource);
  std::string command = "cc -c -o " + path("x.so") + " " + path("lib.c");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(error_of([&] { load_module(path("x.so")); }), testing::HasSubstr("link it with -shared"));
}

TEST_F(LibraryTest, AnObjectFileIsCarriedButNotCalled) {
  write("x.o", "object code");
  Module module = get_global("runtime.ModuleLoadStaticLibrary")(path("x.o"), Array<String>{"f"}).to<Module>();
  EXPECT_TRUE(module->is_dso_exportable());
  EXPECT_TRUE(module->implements_function("f", module));
  EXPECT_FALSE(module.get_function("g"));
  EXPECT_THAT(error_of([&] { module.get_function("f"); }), testing::HasSubstr("not linked yet"));
  module->save_to_file(path("y.o"), "");
  std::ostringstream copy;
  copy << std::ifstream(path("y.o")).rdbuf();
  EXPECT_EQ(copy.str(), "object code");
}

TEST(SystemLibrary, OffersLinkedInFunctions) {
  static TesseraCompiledFunc seven = [](TesseraValue*, int*, int, TesseraValue* ret, int* code, void*) {
    ret->v_int64 = 7;
    *code = kTesseraInt;
    return 0;
  };
  register_system_symbol("test_seven", reinterpret_cast<void*>(seven));
  Module module = get_global("runtime.SystemLib")().to<Module>();
  EXPECT_EQ(module.get_function("test_seven")().to<int>(), 7);
  EXPECT_TRUE(get_global("runtime.SystemLib")().to<Module>().same_as(module));
}

TEST(TimeEvaluator, GivesOneMeanPerRepeat) {
  std::atomic<int> calls{0};
  register_global("test.time.count", PackedFunc([&](Args, Any*) { ++calls; }), true);
  Any evaluator = get_global("runtime.RPCTimeEvaluator")(nullptr, "test.time.count", 1, 0, 10, 3, 0, 100, 0, 1, "");
  std::string blob = evaluator.to<PackedFunc>()().to<Bytes>().str();
  ASSERT_EQ(blob.size(), 3 * sizeof(double));
  EXPECT_EQ(calls.load(), 1 + 3 * 10);
  for (int i = 0; i < 3; ++i) {
    double seconds;
    std::memcpy(&seconds, blob.data() + i * sizeof(double), sizeof(double));
    EXPECT_GT(seconds, 0);
    EXPECT_LT(seconds, 0.1);
  }
  remove_global("test.time.count");
}

TEST(TimeEvaluator, CallsMoreOftenUntilTheTimeIsReached) {
  std::atomic<int> calls{0};
  register_global("test.time.count", PackedFunc([&](Args, Any*) { ++calls; }), true);
  Any evaluator = get_global("runtime.RPCTimeEvaluator")(nullptr, "test.time.count", 1, 0, 1, 1, 5, 100, 0, 1, "");
  evaluator.to<PackedFunc>()();
  EXPECT_GT(calls.load(), 1000);
  remove_global("test.time.count");
}

}  // namespace
}  // namespace tessera
