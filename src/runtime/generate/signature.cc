#include "runtime/generate/signature.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace tessera {
namespace {

struct KnownName {
  const char* name;
  DecoderInput kind;
};

/// Names that exporters give, in lower case.
constexpr KnownName kKnownNames[] = {
    {"input_ids", DecoderInput::Ids},
    {"decoder_input_ids", DecoderInput::Ids},
    {"ids", DecoderInput::Ids},
    {"tokens", DecoderInput::Ids},
    {"attention_mask", DecoderInput::Mask},
    {"position_ids", DecoderInput::Positions},
    {"cache_position", DecoderInput::Positions},
    {"past_sequence_length", DecoderInput::PastLength},
    {"past_seq_len", DecoderInput::PastLength},
    {"past_length", DecoderInput::PastLength},
    {"write_indices", DecoderInput::PastLength},
    {"total_sequence_length", DecoderInput::TotalLength},
    {"total_seq_len", DecoderInput::TotalLength},
    {"total_length", DecoderInput::TotalLength},
    {"nonpad_kv_seqlen", DecoderInput::TotalLength},
    {"seqlens_k", DecoderInput::LastPosition},
    {"seqlen_k", DecoderInput::LastPosition},
    {"use_cache_branch", DecoderInput::UsesCache},
};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Which layer a cache is of, and whether it holds values: "past_key_values.3.value" is (3, true).
struct CacheName {
  int64_t layer;
  bool is_value;
  bool operator==(const CacheName&) const = default;
};

std::optional<CacheName> cache_name(const std::string& name) {
  constexpr size_t kMaxDigits = 9;
  std::string text = lower(name);
  for (const char* both : {"past_key_values", "past_key_value", "present_key_values", "key_values"})
    if (size_t at = text.find(both); at != text.npos) text.erase(at, std::string_view(both).size());
  std::vector<std::string> words(1);
  for (char c : text) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c));
    const bool was_digit = !words.back().empty() && std::isdigit(static_cast<unsigned char>(words.back().back()));
    const bool is_part = std::isalnum(static_cast<unsigned char>(c));
    if (!words.back().empty() && (!is_part || is_digit != was_digit)) words.emplace_back();
    if (is_part) words.back() += c;
  }
  std::optional<int64_t> layer;
  std::optional<bool> is_value;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      if (!layer && word.size() <= kMaxDigits) layer = std::stoll(word);
    } else if (word == "key" || word == "keys" || word == "k") {
      is_value = false;
    } else if (word == "value" || word == "values" || word == "v") {
      is_value = true;
    }
  }
  if (!layer || !is_value) return std::nullopt;
  return CacheName{*layer, *is_value};
}

std::string list_of(const std::vector<TensorInfo>& infos) {
  std::string out;
  for (const TensorInfo& info : infos) out += (out.empty() ? "" : ", ") + info.name + " " + text_of(info);
  return out;
}

class Finder {
 public:
  Finder(const std::vector<TensorInfo>& inputs, const std::vector<TensorInfo>& outputs)
      : inputs_(inputs), outputs_(outputs) {}

  DecoderSignature find() {
    if (outputs_.empty()) fail("its outputs are known by a run alone");
    find_inputs();
    find_logits();
    find_caches();
    check_step();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ValueError) << "this model cannot generate tokens: " << why << "; its inputs are " << list_of(inputs_)
                            << " and its outputs " << list_of(outputs_);
  }

  void find_inputs() {
    size_t count = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      out_.inputs.push_back(kind_of(inputs_[i]));
      if (out_.inputs.back() != DecoderInput::Ids) continue;
      out_.ids = i;
      ++count;
    }
    if (count != 1) fail(count ? "two inputs look like the ids of tokens" : "no input is called input_ids");
    const TensorInfo& ids = inputs_[out_.ids];
    if (!ids.dtype.is_integral() || ids.shape.size() != 2 || (ids.shape[0] != 1 && ids.shape[0] != -1))
      fail("the ids of tokens are integers (batch, length), with a batch of 1 or a dynamic one");
    out_.step = ids.shape[1];
  }

  DecoderInput kind_of(const TensorInfo& info) const {
    const std::string name = lower(info.name);
    for (const KnownName& known : kKnownNames) {
      if (name != known.name) continue;
      const size_t rank = info.shape.size();
      const bool is_list = known.kind == DecoderInput::Mask || known.kind == DecoderInput::Positions;
      if (is_list ? rank < 1 || rank > 2 : known.kind != DecoderInput::Ids && rank > 1)
        fail("the shape of " + info.name + " is not the usual one");
      return known.kind;
    }
    if (info.dtype.is_floating() && info.shape.size() == 4 && cache_name(info.name)) return DecoderInput::Cache;
    fail("what the input " + info.name + " holds is not known");
  }

  void find_logits() {
    auto is_logits = [](const TensorInfo& info) { return lower(info.name) == "logits"; };
    auto it = std::find_if(outputs_.begin(), outputs_.end(), is_logits);
    if (it == outputs_.end())
      it = std::find_if(outputs_.begin(), outputs_.end(),
                        [](const TensorInfo& info) { return info.dtype.is_floating() && info.shape.size() == 3; });
    if (it == outputs_.end())
      fail("no output is called logits, and none is a float tensor (batch, length, vocabulary)");
    if (!it->dtype.is_floating() || it->shape.size() < 2 || it->shape.size() > 3)
      fail("the output " + it->name + " is no float tensor (batch, length, vocabulary)");
    out_.logits = static_cast<size_t>(it - outputs_.begin());
    out_.vocabulary = it->shape.back();
  }

  void find_caches() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (out_.inputs[i] != DecoderInput::Cache) continue;
      std::vector<size_t> found;
      for (size_t o = 0; o < outputs_.size(); ++o)
        if (o != out_.logits && cache_name(outputs_[o].name) == cache_name(inputs_[i].name)) found.push_back(o);
      if (found.size() != 1) fail("no single output continues the input " + inputs_[i].name);
      for (const CachePair& other : out_.caches)
        if (other.output == found[0]) fail("two inputs are continued by the output " + outputs_[found[0]].name);
      out_.caches.push_back({i, found[0], axis_of(inputs_[i], outputs_[found[0]])});
    }
  }

  /// The axis of tokens: behind the heads, unless only one before them is dynamic.
  size_t axis_of(const TensorInfo& past, const TensorInfo& present) const {
    if (present.dtype != past.dtype || present.shape.size() != past.shape.size())
      fail("the output " + present.name + " is not like the input " + past.name);
    if (past.shape[0] != 1 && past.shape[0] != -1) fail("the batch of " + past.name + " is neither 1 nor dynamic");
    const size_t axis = past.shape[2] >= 0 && past.shape[1] < 0 ? 1 : 2;
    for (size_t i = 1; i < 4; ++i)
      if (i != axis && past.shape[i] < 0) fail("the heads of " + past.name + " have no fixed number and size");
    return axis;
  }

  void check_step() const {
    if (out_.step == 0 || (out_.step > 1 && out_.caches.empty()))
      fail("a run takes exactly " + std::to_string(out_.step) + " tokens; export it with a dynamic length");
    if (out_.step > 1)
      fail("a run takes exactly " + std::to_string(out_.step) + " tokens; export it with a dynamic length, or with 1");
    if (out_.step == 1 && out_.caches.empty()) fail("a run takes one token, and no input holds those before it");
  }

  const std::vector<TensorInfo>&inputs_, &outputs_;
  DecoderSignature out_;
};

}  // namespace

DecoderSignature decoder_signature(const std::vector<TensorInfo>& inputs, const std::vector<TensorInfo>& outputs) {
  return Finder(inputs, outputs).find();
}

}  // namespace tessera
