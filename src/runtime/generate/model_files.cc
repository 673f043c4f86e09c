#include "runtime/generate/model_files.h"

#include <filesystem>
#include <optional>

#include "base/json.h"
#include "runtime/archive/files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// A JSON object of a file, of which parts may be missing but not of another type.
class Settings {
 public:
  Settings(ObjectRef value, std::string where) : value_(std::move(value)), where_(std::move(where)) {}

  Settings at(const char* name) const {
    if (!value_) return {nullptr, where_};
    auto* map = value_.as<MapNode>();
    if (!map) fail("is no object");
    Map<String, ObjectRef> all{Ref<MapNode>(map)};
    return {all.count(name) ? all[name] : ObjectRef(), where_ + ": \"" + name + "\""};
  }
  void read(int64_t* out) const {
    if (value_ && *out < 0) *out = integer(value_);
  }
  /// A number, or a list of them.
  void read(std::vector<int64_t>* out) const {
    if (!value_ || !out->empty()) return;
    auto* list = value_.as<ArrayNode>();
    if (!list) return out->push_back(integer(value_));
    for (const ObjectRef& item : list->items) out->push_back(integer(item));
  }
  std::optional<std::string> text() const {
    if (!value_) return std::nullopt;
    auto* found = value_.as<StringNode>();
    if (!found) fail("is no text");
    return found->text;
  }

 private:
  [[noreturn]] void fail(const char* what) const { throw Error(ValueError) << where_ << " " << what; }
  int64_t integer(const ObjectRef& value) const {
    int64_t out = 0;
    if (!value || !number_boxes.unbox_int(value.get(), &out) || out < 0) fail("is no number from 0 on");
    return out;
  }

  ObjectRef value_;  // null: not there
  std::string where_;
};

std::optional<Settings> read_settings(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  try {
    return Settings(parse_json(MappedFile(file.string(), "the configuration").bytes()), file.string());
  } catch (const Error& error) {
    throw Error(ValueError) << "cannot read " << file.string() << ": " << error.message();
  }
}

}  // namespace

LanguageModelFiles language_model_files(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {.model = path};
  const fs::path folder = path;
  LanguageModelFiles out;
  if (auto settings = read_settings(folder / "genai_config.json")) {
    Settings model = settings->at("model");
    model.at("eos_token_id").read(&out.eos);
    model.at("vocab_size").read(&out.vocabulary);
    model.at("context_length").read(&out.context);
    if (std::optional<std::string> name = model.at("decoder").at("filename").text()) {
      if (name->empty() || *name == "." || *name == ".." || name->find_first_of(std::string("/\\\0", 3)) != name->npos)
        throw Error(ValueError) << (folder / "genai_config.json").string()
                                << ": the decoder's \"filename\" is no name of a file "
                                << "in this folder";
      out.model = (folder / *name).string();
    }
  }
  for (const char* name : {"generation_config.json", "config.json"}) {
    auto settings = read_settings(folder / name);
    if (!settings) continue;
    settings->at("eos_token_id").read(&out.eos);
    settings->at("vocab_size").read(&out.vocabulary);
    settings->at("max_position_embeddings").read(&out.context);
  }
  if (out.model.empty())
    for (const char* name : {"model.onnx", "onnx/model.onnx"})
      if (out.model.empty() && fs::is_regular_file(folder / name, ignored)) out.model = (folder / name).string();
  if (out.model.empty())
    throw Error(ValueError) << "the folder " << path
                            << " has no model.onnx, and no genai_config.json that names a model";
  return out;
}

}  // namespace tessera
