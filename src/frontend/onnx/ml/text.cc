// Strings: joined, split, compared, and counted. All of them are known while importing.

#include "base/dtypes.h"
#include "frontend/onnx/ml/texts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "frontend/common/parts.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Both tensors broadcast to each other: the shape, and `visit(a, b)` for each pair of items in order.
template <class F>
std::vector<int64_t> broadcast_texts(Operation& in, const Texts& a, const Texts& b, F&& visit) {
  size_t rank = std::max(a.shape.size(), b.shape.size());
  std::vector<int64_t> shape(rank);
  auto extent = [&](const Texts& x, size_t i) {
    size_t missing = rank - x.shape.size();
    return i < missing ? int64_t{1} : x.shape[i - missing];
  };
  for (size_t i = 0; i < rank; ++i) {
    int64_t m = extent(a, i), n = extent(b, i);
    if (m != n && m != 1 && n != 1) in.invalid("shapes that cannot be broadcast to each other");
    shape[i] = m == 1 ? n : m;
  }
  auto offset_in = [&](const Texts& x, const std::vector<int64_t>& index) {
    size_t out = 0;
    for (size_t i = 0; i < rank; ++i) {
      int64_t own = extent(x, i);
      out = out * static_cast<size_t>(own) + static_cast<size_t>(own == 1 ? 0 : index[i]);
    }
    return out;
  };
  for (const std::vector<int64_t>& index : indices_of(shape))
    visit(a.items[offset_in(a, index)], b.items[offset_in(b, index)]);
  return shape;
}

Values string_concat(Operation& in) {
  Texts out;
  out.shape = broadcast_texts(in, in.texts(0), in.texts(1),
                              [&](const std::string& a, const std::string& b) { out.items.push_back(a + b); });
  return {Value::of(std::move(out))};
}

/// Without a delimiter, runs of white space part words.
std::vector<std::string> split_text(const std::string& text, const std::string& delimiter, int64_t most) {
  std::vector<std::string> out;
  const char* blanks = " \t\n\r\f\v";
  size_t at = delimiter.empty() ? text.find_first_not_of(blanks) : 0;
  while (at != std::string::npos) {
    bool is_last = most >= 0 && static_cast<int64_t>(out.size()) == most;
    size_t end = is_last             ? std::string::npos
                 : delimiter.empty() ? text.find_first_of(blanks, at)
                                     : text.find(delimiter, at);
    std::string part = text.substr(at, end == std::string::npos ? end : end - at);
    if (is_last && delimiter.empty()) part.erase(part.find_last_not_of(blanks) + 1);
    out.push_back(std::move(part));
    if (end == std::string::npos) break;
    at = delimiter.empty() ? text.find_first_not_of(blanks, end) : end + delimiter.size();
  }
  return out;
}

/// The parts in a new last dimension, filled up with empty strings, and how many there are of each.
Values string_split(Operation& in) {
  const Texts& x = in.texts(0);
  std::string delimiter = in.text("delimiter", "");
  int64_t most = in.integer("maxsplit", -1);
  std::vector<std::vector<std::string>> parts;
  std::vector<int64_t> counts;
  size_t longest = 0;
  for (const std::string& text : x.items) {
    parts.push_back(split_text(text, delimiter, most));
    counts.push_back(static_cast<int64_t>(parts.back().size()));
    longest = std::max(longest, parts.back().size());
  }
  Texts out{x.shape, {}};
  out.shape.push_back(static_cast<int64_t>(longest));
  for (std::vector<std::string>& row : parts) {
    row.resize(longest);
    out.items.insert(out.items.end(), row.begin(), row.end());
  }
  return {Value::of(std::move(out)), integers_of(counts, x.shape, DataType::Int(64))};
}

std::string with_case(Operation& in, std::string text, const std::string& action) {
  if (action == "NONE") return text;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) in.unsupported("upper and lower case of letters beyond ASCII");
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter) c = static_cast<char>(action == "LOWER" ? c | 0x20 : c & ~0x20);
  }
  return text;
}

/// Words that are no stop words, with another case. Nothing left is one empty word.
Values string_normalizer(Operation& in) {
  const Texts& x = in.texts(0);
  if (x.shape.size() > 2 || x.shape.empty() || (x.shape.size() == 2 && x.shape[0] != 1))
    in.invalid("the words are [n] or [1, n]");
  std::string action = in.text("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    in.invalid("case_change_action is NONE, LOWER or UPPER");
  bool is_sensitive = in.integer("is_case_sensitive", 0) != 0;
  std::vector<std::string> stops = in.texts("stopwords");
  auto key = [&](const std::string& word) { return is_sensitive ? word : with_case(in, word, "LOWER"); };
  for (std::string& word : stops) word = key(word);
  Texts out;
  for (const std::string& word : x.items) {
    bool is_stop = !stops.empty() && std::find(stops.begin(), stops.end(), key(word)) != stops.end();
    if (!is_stop) out.items.push_back(with_case(in, word, action));
  }
  if (out.items.empty()) out.items.emplace_back();
  out.shape = x.shape;
  out.shape.back() = static_cast<int64_t>(out.items.size());
  return {Value::of(std::move(out))};
}

/// Patterns are RE2's; what both it and ECMAScript understand is taken, look-around and back-references are rejected.
Values regex_full_match(Operation& in) {
  const Texts& x = in.texts(0);
  constexpr size_t kMaxLength = 4096;  // matching goes deeper with the length of a text
  std::string pattern = in.text("pattern", "");
  if (pattern.size() > kMaxLength) in.unsupported("a pattern of more than 4096 characters");
  if (std::regex_search(pattern, std::regex(R"(\(\?|\\[1-9AzQEpPCx]|\[\[:\^)")))
    in.unsupported("the pattern " + pattern);
  std::vector<int64_t> out;
  try {
    std::regex regex(pattern, std::regex::ECMAScript);
    for (const std::string& text : x.items) {
      if (text.size() > kMaxLength) in.unsupported("a text of more than 4096 characters");
      out.push_back(std::regex_match(text, regex));
    }
  } catch (const std::regex_error& error) {
    in.invalid("the pattern " + pattern + ": " + error.what());
  }
  return {integers_of(out, x.shape, DataType::Bool())};
}

// ---- n-grams --------------------------------------------------------------------------------------------------------

/// Words as the numbers they have in a pool; words that are in none get -1.
Expr numbered(const Texts& texts, const std::map<std::string, int64_t>& pool) {
  std::vector<int64_t> out;
  for (const std::string& word : texts.items) {
    auto found = pool.find(word);
    out.push_back(found == pool.end() ? -1 : found->second);
  }
  return integers_of(out, texts.shape, DataType::Int(64));
}

/// How often the n-grams of a pool stand in each row, with up to so many elements left out between their own.
Values tf_idf(Operation& in) {
  Ints pool = in.integers("pool_int64s"), begins = in.integers("ngram_counts"), columns = in.integers("ngram_indexes");
  Expr x;
  if (std::vector<std::string> words = in.texts("pool_strings"); !words.empty()) {
    std::map<std::string, int64_t> numbers;
    for (const std::string& word : words)
      pool.push_back(numbers.emplace(word, static_cast<int64_t>(numbers.size())).first->second);
    x = numbered(in.texts(0), numbers);
  } else {
    x = cast_if_needed(in, in[0], DataType::Int(64));
  }
  std::string mode = in.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") in.invalid("the mode is TF, IDF or TFIDF");
  int64_t shortest = in.integer("min_gram_length"), longest = in.integer("max_gram_length");
  int64_t most_skipped = in.integer("max_skip_count");
  bool is_vector = in.rank(x) == 1;
  if (is_vector) x = expand_dims(x, 0);
  Ints shape = in.static_shape(x, "n-grams");
  if (shape.size() != 2) in.invalid("the input has one or two dimensions");
  std::vector<float> weights = in.numbers("weights");
  int64_t width = columns.empty() ? 0 : *std::max_element(columns.begin(), columns.end()) + 1;
  Expr out = filled(0, {shape[0], width}, kFloat32);
  size_t first_gram = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    auto length = static_cast<int64_t>(i) + 1;
    int64_t end = i + 1 < begins.size() ? begins[i + 1] : static_cast<int64_t>(pool.size());
    int64_t count = (end - begins[i]) / length;
    if (count < 0 || begins[i] < 0 || end > static_cast<int64_t>(pool.size()) || (end - begins[i]) % length ||
        first_gram + static_cast<size_t>(count) > columns.size())
      in.invalid("ngram_counts does not fit the pool");
    std::vector<int64_t> grams(pool.begin() + begins[i], pool.begin() + end);
    auto first = static_cast<int64_t>(std::exchange(first_gram, first_gram + static_cast<size_t>(count)));
    if (length < shortest || length > longest || count == 0) continue;
    Expr found;  // (rows, n-grams)
    for (int64_t skipped = 0; skipped <= (length == 1 ? 0 : most_skipped); ++skipped) {
      std::vector<int64_t> positions;
      int64_t windows = shape[1] - (length - 1) * (skipped + 1);
      if (windows <= 0) break;
      for (int64_t at = 0; at < windows; ++at)
        for (int64_t j = 0; j < length; ++j) positions.push_back(at + j * (skipped + 1));
      Expr seen = reshape_to(take(x, make_ints(positions), 1), {shape[0], windows, 1, length});
      Expr is_same = equal(seen, integers_of(grams, {count, length}, DataType::Int(64)));
      Expr hits = sum(cast(reduce("all", is_same, int_array({3})), kFloat32), int_array({1}));
      found = found.defined() ? add(found, hits) : hits;
    }
    if (!found.defined()) continue;
    std::vector<double> spread(static_cast<size_t>(count * width), 0);  // where each n-gram is counted, and how much
    for (int64_t k = 0; k < count; ++k) {
      auto gram = static_cast<size_t>(first + k);
      if (columns[gram] < 0) in.invalid("ngram_indexes are not negative");
      double weight = mode == "TF" || weights.empty() ? 1 : weights.at(gram);
      spread[static_cast<size_t>(k * width + columns[gram])] = weight;
    }
    if (mode == "IDF") found = minimum(found, make_scalar(1, kFloat32));
    out = add(out, matmul_like_numpy(in, found, numbers_of(spread, {count, width}, kFloat32)));
  }
  return {is_vector ? reshape_to(out, {width}) : out};
}

}  // namespace

Expr equal_texts(Operation& in) {
  std::vector<int64_t> out;
  std::vector<int64_t> shape = broadcast_texts(
      in, in.texts(0), in.texts(1), [&](const std::string& a, const std::string& b) { out.push_back(a == b); });
  return integers_of(out, shape, DataType::Bool());
}

Expr integers_of(const std::vector<int64_t>& values, const std::vector<int64_t>& shape, DataType dtype) {
  NDArray out = NDArray::empty(shape, dtype);
  for (size_t i = 0; i < values.size(); ++i) write_int(dtype, values[i], out.data<char>() + i * size_t(dtype.bytes()));
  return make_constant(out);
}

Expr numbers_of_texts(Operation& in, const Texts& texts, DataType dtype) {
  NDArray out = NDArray::empty(texts.shape, dtype);
  char* at = out.data<char>();
  for (const std::string& text : texts.items) {
    size_t used = 0;
    try {
      if (is_float(dtype)) write_float(dtype, std::stod(text, &used), at);
      else write_int(dtype, std::stoll(text, &used), at);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != text.size()) in.invalid("\"" + text + "\" is no number");
    at += dtype.bytes();
  }
  return make_constant(out);
}

Texts texts_of_numbers(Operation& in, const Expr& x) {
  std::optional<NDArray> data = in.constant(x);
  if (!data) in.unknown("what becomes strings must be known", x);
  DataType dtype = data->dtype();
  std::span<const int64_t> shape = data->shape();
  Texts out{{shape.begin(), shape.end()}, {}};
  for (int64_t i = 0; i < data->size(); ++i) {
    const char* at = data->data<char>() + i * int64_t(dtype.bytes());
    if (!is_float(dtype)) {
      out.items.push_back(dtype == DataType::Bool() ? (*at ? "True" : "False") : std::to_string(read_int(dtype, at)));
      continue;
    }
    // The shortest digits that read back as the same number.
    double value = read_float(dtype, at);
    char text[64];
    for (int digits = 1; digits <= 17; ++digits) {
      std::snprintf(text, sizeof text, "%.*g", digits, value);
      double back = std::strtod(text, nullptr);
      if (back == value || (dtype == DataType::Float(32) && static_cast<float>(back) == static_cast<float>(value)))
        break;
    }
    out.items.push_back(std::isnan(value) ? "NaN" : std::isinf(value) ? (value > 0 ? "INF" : "-INF") : text);
  }
  return out;
}

Rows text_rows() {
  return {
      {"RegexFullMatch", 20, regex_full_match},
      {"StringConcat", 20, string_concat},
      {"StringNormalizer", 10, string_normalizer},
      {"StringSplit", 20, string_split},
      {"TfIdfVectorizer", 9, tf_idf},
  };
}

}  // namespace tessera::onnx
