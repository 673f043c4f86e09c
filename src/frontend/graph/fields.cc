#include "frontend/graph/fields.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "frontend/errors.h"

namespace tessera::frontend {
namespace {

std::string_view stripped(std::string_view text) {
  constexpr const char* kSpace = " \t\n\r";
  size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<double> number_in(std::string_view text) {
  text = stripped(text);
  if (text == "True" || text == "true") return 1;
  if (text == "False" || text == "false") return 0;
  if (!text.empty() && text.back() == 'L') text.remove_suffix(1);  // a long number of Python 2
  double out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::optional<double> as_number(const ObjectRef& value) {
  if (auto* text = value.as<StringNode>()) return number_in(text->text);
  if (int64_t integer = 0; value && number_boxes.unbox_int(value.get(), &integer)) return static_cast<double>(integer);
  if (double number = 0; value && number_boxes.unbox_float(value.get(), &number)) return number;
  return std::nullopt;
}

std::optional<int64_t> as_integer(const ObjectRef& value) {
  if (int64_t integer = 0; value && !value.as<StringNode>() && number_boxes.unbox_int(value.get(), &integer))
    return integer;
  if (auto* text = value.as<StringNode>()) {
    std::string_view digits = stripped(text->text);
    int64_t out = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (!digits.empty() && error == std::errc() && end == digits.data() + digits.size()) return out;
  }
  std::optional<double> number = as_number(value);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 9e15) return std::nullopt;
  return static_cast<int64_t>(*number);
}

/// The parts of "(1, 2)" or "[1, 2]"; of "3" one.
std::vector<ObjectRef> parts_of(std::string_view text) {
  text = stripped(text);
  if (text.size() >= 2 && (text.front() == '(' || text.front() == '[')) text = text.substr(1, text.size() - 2);
  std::vector<ObjectRef> out;
  while (!stripped(text).empty()) {
    size_t comma = text.find(',');
    out.push_back(String(std::string(stripped(text.substr(0, comma)))));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return out;
}

bool is_nothing(const ObjectRef& value) {
  if (!value) return true;
  auto* text = value.as<StringNode>();
  return text && text->text == "None";
}

}  // namespace

int64_t integer_of(const ObjectRef& value, const std::string& what) {
  if (std::optional<int64_t> out = as_integer(value)) return *out;
  throw Error(OpAttributeInvalid) << what << " must be a whole number";
}

double number_of(const ObjectRef& value, const std::string& what) {
  if (std::optional<double> out = as_number(value)) return *out;
  throw Error(OpAttributeInvalid) << what << " must be a number";
}

std::string text_of(const ObjectRef& value, const std::string& what) {
  if (auto* text = value.as<StringNode>()) return text->text;
  throw Error(OpAttributeInvalid) << what << " must be a text";
}

std::vector<ObjectRef> list_of(const ObjectRef& value, const std::string& what) {
  if (auto* array = value.as<ArrayNode>()) return {array->items.begin(), array->items.end()};
  if (auto* text = value.as<StringNode>()) return parts_of(text->text);
  if (as_number(value)) return {value};
  throw Error(OpAttributeInvalid) << what << " must be a list";
}

Fields::Fields(const ObjectRef& value, std::string owner) : owner_(std::move(owner)) {
  if (is_nothing(value)) return;
  auto* map = value.as<MapNode>();
  if (map)
    for (const auto& [key, item] : map->entries)
      if (!key.as<StringNode>()) map = nullptr;
  if (!map) throw Error(OpAttributeInvalid) << (owner_.empty() ? "this" : owner_) << " must be a map of names";
  map_ = Map<String, ObjectRef>(map);
}

void Fields::wrong(std::string_view name, const char* wanted) const {
  throw Error(OpAttributeInvalid) << (owner_.empty() ? "" : owner_ + ": ") << "\"" << std::string(name) << "\" must be "
                                  << wanted;
}

ObjectRef Fields::get(std::string_view name) const { return map_.get_or_null(String(std::string(name))); }
bool Fields::has(std::string_view name) const { return !is_nothing(get(name)); }

int64_t Fields::integer(std::string_view name, int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}
int64_t Fields::integer(std::string_view name) const {
  if (!has(name))
    throw Error(OpAttributeRequired) << (owner_.empty() ? "" : owner_ + ": ") << "\"" << std::string(name)
                                     << "\" is missing";
  std::optional<int64_t> out = as_integer(get(name));
  if (!out) wrong(name, "a whole number");
  return *out;
}

bool Fields::flag(std::string_view name, bool otherwise) const { return integer(name, otherwise) != 0; }

double Fields::number(std::string_view name, double otherwise) const {
  if (!has(name)) return otherwise;
  std::optional<double> out = as_number(get(name));
  if (!out) wrong(name, "a number");
  return *out;
}

std::string Fields::text(std::string_view name, std::string otherwise) const {
  if (!has(name)) return otherwise;
  auto value = get(name);
  auto* text = value.as<StringNode>();
  if (!text) wrong(name, "a text");
  return text->text;
}

std::vector<ObjectRef> Fields::list(std::string_view name) const {
  if (!has(name)) return {};
  return list_of(get(name), (owner_.empty() ? "\"" : owner_ + ": \"") + std::string(name) + "\"");
}

Ints Fields::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  if (!has(name)) return otherwise;
  Ints out;
  for (const ObjectRef& item : list(name)) {
    std::optional<int64_t> one = as_integer(item);
    if (!one) wrong(name, "whole numbers");
    out.push_back(*one);
  }
  return out;
}

std::vector<double> Fields::numbers(std::string_view name, std::vector<double> otherwise) const {
  if (!has(name)) return otherwise;
  std::vector<double> out;
  for (const ObjectRef& item : list(name)) {
    std::optional<double> one = as_number(item);
    if (!one) wrong(name, "numbers");
    out.push_back(*one);
  }
  return out;
}

std::vector<std::string> Fields::texts(std::string_view name) const {
  std::vector<std::string> out;
  for (const ObjectRef& item : list(name)) {
    auto* text = item.as<StringNode>();
    if (!text) wrong(name, "texts");
    out.push_back(text->text);
  }
  return out;
}

Fields Fields::object(std::string_view name) const {
  return Fields(get(name), (owner_.empty() ? "" : owner_ + ": ") + std::string(name));
}

}  // namespace tessera::frontend
