#include "runtime/package/portable_package.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "base/json.h"
#include "runtime/cpu/features.h"
#include "runtime/package/file_seal.h"
#include "runtime/package/params.h"

namespace tessera {
namespace {

constexpr size_t kMinShared = 4096;  // bytes of a weight that is worth a member of its own

/// Parts of portable.json, of which nothing is believed.
class PortableReader {
 public:
  explicit PortableReader(const TarReader& archive) : archive_(archive) {}

  std::vector<Package::Variant> read() const {
    std::vector<Package::Variant> out;
    auto root = expect<Map<ObjectRef, ObjectRef>>(parse_json(archive_[kPortable]), "is not an object");
    for (const ObjectRef& each : expect<Array<ObjectRef>>(root.get_or_null(String("cpus")), "has no list of CPUs")) {
      auto row = expect<Map<ObjectRef, ObjectRef>>(each, "has a CPU that is not an object");
      out.push_back({text(row.get_or_null(String("cpu"))), {}, {}});
      for (const ObjectRef& needs :
           expect<Array<ObjectRef>>(row.get_or_null(String("needs")), "does not say what is needed"))
        out.back().needs.push_back(text(needs));
      for (const auto& [name, member] :
           expect<Map<ObjectRef, ObjectRef>>(row.get_or_null(String("weights")), "has no weights"))
        out.back().weights[text(name)] = text(member);
    }
    if (out.empty()) fail("names no CPU");
    return out;
  }

 private:
  [[noreturn]] void fail(const char* problem) const {
    throw Error(ValueError) << "corrupt package " << archive_.path() << ": its " << kPortable << " " << problem;
  }
  template <class T>
  T expect(const ObjectRef& value, const char* otherwise) const {
    if (!value || !value->is_a(T::Node::info)) fail(otherwise);
    return T(static_cast<const typename T::Node*>(value.get()));
  }
  std::string text(const ObjectRef& value) const {
    return expect<String>(value, "has something other than a text").str();
  }

  const TarReader& archive_;
};

/// Weights of several models, each of which is kept once.
class WeightPool {
 public:
  /// The index of an equal tensor that was added before, or a new one.
  size_t add(const NDArray& tensor) {
    std::string_view bytes(tensor.data<char>(), tensor.bytes());
    std::vector<size_t>& alike = by_hash_[content_hash(bytes)];
    for (size_t index : alike)
      if (is_equal(weights_[index].tensor, tensor)) return weights_[index].uses += 1, index;
    alike.push_back(weights_.size());
    weights_.push_back({tensor, 1});
    return weights_.size() - 1;
  }
  bool is_shared(size_t index) const { return weights_[index].uses > 1; }

  std::vector<TarEntry> members() const {
    std::vector<TarEntry> out;
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (!is_shared(i)) continue;
      out.push_back({member(i), "", "", [tensor = weights_[i].tensor](const Sink& to) { write_tensor(to, tensor); }});
    }
    return out;
  }
  static std::string member(size_t index) { return "weights/" + std::to_string(index); }

 private:
  struct Weight {
    NDArray tensor;
    int uses;
  };
  static bool is_equal(const NDArray& a, const NDArray& b) {
    return a.dtype() == b.dtype() && std::ranges::equal(a.shape(), b.shape()) &&
           std::memcmp(a.data<char>(), b.data<char>(), a.bytes()) == 0;
  }

  std::vector<Weight> weights_;
  std::unordered_map<uint64_t, std::vector<size_t>> by_hash_;
};

}  // namespace

std::vector<Package::Variant> read_variants(const TarReader& archive) { return PortableReader(archive).read(); }

void write_portable_package(const std::string& path, std::vector<PackagePart> parts) {
  struct Row {
    PackagePart part;
    std::vector<std::string> needs;
    std::map<std::string, size_t> pooled;
  };
  std::vector<Row> rows;
  WeightPool pool;
  for (PackagePart& part : parts) {
    Row row{std::move(part), {}, {}};
    row.needs = cpu_needs_of(MappedFile(row.part.library_file, "the library").bytes());
    for (const auto& [name, tensor] : row.part.params)
      if (tensor.device().device_type == kDLCPU && tensor.bytes() >= kMinShared)
        row.pooled[name.str()] = pool.add(tensor);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater(), [](const Row& row) {
    size_t features = 0;
    for (const std::string& text : row.needs) features += count_cpu_features(text);
    return features;
  });

  std::vector<TarEntry> entries(1);
  Array<ObjectRef> cpus;
  for (const Row& row : rows) {
    const std::string folder = row.part.cpu + "/", stem = row.part.graph.empty() ? "lib" : "mod";
    Map<String, ObjectRef> shared;
    Map<String, NDArray> own = row.part.params;
    for (const auto& [name, index] : row.pooled) {
      if (!pool.is_shared(index)) continue;
      shared.set(String(name), String(WeightPool::member(index)));
      own.erase(String(name));
    }
    entries.push_back({folder + stem + ".so", "", row.part.library_file});
    if (!row.part.graph.empty()) entries.push_back({folder + "mod.json", row.part.graph, ""});
    entries.push_back({folder + stem + ".params", "", "", [own](const Sink& out) { write_params(out, own); }});
    Array<ObjectRef> needs;
    for (const std::string& text : row.needs) needs.push_back(String(text));
    cpus.push_back(Map<String, ObjectRef>{{"cpu", String(row.part.cpu)}, {"needs", needs}, {"weights", shared}});
  }
  entries[0] = {kPortable, to_json(Map<String, ObjectRef>{{"cpus", cpus}}), ""};
  for (TarEntry& weight : pool.members()) entries.push_back(std::move(weight));
  write_tar(path, entries);
}

}  // namespace tessera
