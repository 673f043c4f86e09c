#include "frontend/keras/hdf5.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace tessera::keras {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr int64_t kMaxVisited = 4'000'000;
constexpr int kMaxTreeDepth = 20;
enum MessageType {
  kDataspace = 1,
  kLinkInfo = 2,
  kDatatype = 3,
  kLink = 6,
  kLayout = 8,
  kFilters = 11,
  kAttribute = 12,
  kContinuation = 16,
  kSymbolTable = 17,
  kAttributeInfo = 21
};

uint64_t rounded_up(uint64_t size) { return (size + 7) / 8 * 8; }

}  // namespace

void Hdf5File::damaged(const std::string& how) const {
  throw Error(ValueError) << what_ << " is damaged, or is of a form of HDF5 that cannot be read: " << how;
}

void Hdf5File::count() {
  if (++visited_ > kMaxVisited) damaged("its parts lead to each other without end");
}

std::string_view Hdf5File::bytes(uint64_t at, uint64_t size) const {
  if (at > bytes_.size() || size > bytes_.size() - at) damaged("a part lies outside of the file");
  return bytes_.substr(at, size);
}

uint64_t Hdf5File::number(uint64_t at, uint64_t size) const {
  std::string_view digits = bytes(at, size);
  uint64_t out = 0;
  for (uint64_t i = 0; i < size; ++i) out |= uint64_t(static_cast<unsigned char>(digits[i])) << (8 * i);
  return out;
}

bool Hdf5File::is_hdf5(std::string_view bytes) { return bytes.substr(0, kSignature.size()) == kSignature; }

Hdf5File::Hdf5File(std::string_view bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {
  if (!is_hdf5(bytes_)) throw Error(ValueError) << what_ << " is no HDF5 file";
  const uint64_t version = number(8, 1);
  if (version > 3) damaged("version " + std::to_string(version) + " of its beginning");
  offset_size_ = number(version < 2 ? 13 : 9, 1), length_size_ = number(version < 2 ? 14 : 10, 1);
  for (uint64_t size : {offset_size_, length_size_})
    if (size != 4 && size != 8) damaged("offsets or lengths of " + std::to_string(size) + " bytes");
  if (version >= 2) {
    base_ = offset(12);
    root_ = offset(12 + 3 * offset_size_);
    return;
  }
  const uint64_t addresses = version == 0 ? 24 : 28;
  base_ = offset(addresses);
  root_ = offset(addresses + 5 * offset_size_);  // after four addresses and the offset of the root's name
}

// ---- object headers -------------------------------------------------------------------------------------------------

void Hdf5File::messages_in(uint64_t begin, uint64_t end, bool is_old, int flags, std::vector<Message>* out, int depth) {
  if (depth > 1000) damaged("a header has too many parts");
  const uint64_t head = is_old ? 8 : flags & 4 ? 6 : 4;
  while (begin + head <= end) {
    count();
    Message message;
    message.type = static_cast<int>(number(begin, is_old ? 2 : 1));
    message.size = number(begin + (is_old ? 2 : 1), 2);
    message.begin = begin + head;
    bytes(message.begin, message.size);
    begin = message.begin + message.size;
    if (message.type != kContinuation) {
      out->push_back(message);
      continue;
    }
    uint64_t at = base_ + offset(message.begin), size = length(message.begin + offset_size_);
    bytes(at, size);
    if (is_old) {
      messages_in(at, at + size, is_old, flags, out, depth + 1);
    } else {
      if (size < 8 || bytes(at, 4) != "OCHK") damaged("a part of a header has no mark");
      messages_in(at + 4, at + size - 4, is_old, flags, out, depth + 1);
    }
  }
}

std::vector<Hdf5File::Message> Hdf5File::messages(uint64_t header) {
  std::vector<Message> out;
  count();
  if (bytes(header, 4) != "OHDR") {
    if (number(header, 1) != 1) damaged("an object has no header");
    const uint64_t size = number(header + 8, 4);
    bytes(header + 16, size);
    messages_in(header + 16, header + 16 + size, true, 0, &out, 0);
    return out;
  }
  const int flags = static_cast<int>(number(header + 5, 1));
  uint64_t at = header + 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
  const uint64_t digits = uint64_t(1) << (flags & 3), size = number(at, digits);
  at += digits;
  bytes(at, size);
  messages_in(at, at + size, false, flags, &out, 0);
  return out;
}

// ---- groups ---------------------------------------------------------------------------------------------------------

void Hdf5File::links_of_tree(uint64_t node, uint64_t heap, int depth,
                             std::vector<std::pair<std::string, uint64_t>>* out) {
  count();
  if (depth > kMaxTreeDepth) damaged("a group is too deep");
  if (bytes(node, 4) == "SNOD") {
    const uint64_t entries = number(node + 6, 2), step = 2 * offset_size_ + 24;
    for (uint64_t i = 0; i < entries; ++i) {
      count();
      const uint64_t entry = node + 8 + i * step, name = heap + offset(entry);
      if (name > bytes_.size()) damaged("a name lies outside of the file");
      std::string_view rest = bytes_.substr(name, 4096);
      out->emplace_back(std::string(rest.substr(0, rest.find('\0'))), base_ + offset(entry + offset_size_));
    }
    return;
  }
  if (bytes(node, 4) != "TREE") damaged("a group has no tree");
  const uint64_t entries = number(node + 6, 2), first = node + 8 + 2 * offset_size_ + length_size_;
  for (uint64_t i = 0; i < entries; ++i)
    links_of_tree(base_ + offset(first + i * (offset_size_ + length_size_)), heap, depth + 1, out);
}

std::vector<std::pair<std::string, uint64_t>> Hdf5File::links(uint64_t header) {
  std::vector<std::pair<std::string, uint64_t>> out;
  const uint64_t nowhere = offset_size_ == 8 ? ~uint64_t(0) : 0xffffffff;
  for (const Message& message : messages(header)) {
    if (message.type == kSymbolTable) {
      const uint64_t heap = base_ + offset(message.begin + offset_size_);
      if (bytes(heap, 4) != "HEAP") damaged("a group has no names");
      links_of_tree(base_ + offset(message.begin), base_ + offset(heap + 8 + 2 * length_size_), 0, &out);
    } else if (message.type == kLinkInfo) {
      const uint64_t flags = number(message.begin + 1, 1);
      if (offset(message.begin + 2 + (flags & 1 ? 8 : 0)) != nowhere) damaged("a group keeps its members in a heap");
    } else if (message.type == kLink) {
      uint64_t at = message.begin + 2, flags = number(message.begin + 1, 1);
      const uint64_t kind = flags & 8 ? number(at++, 1) : 0;
      at += (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0);
      const uint64_t digits = uint64_t(1) << (flags & 3), size = number(at, digits);
      std::string name(bytes(at + digits, size));
      if (kind == 0) out.emplace_back(std::move(name), base_ + offset(at + digits + size));
    }
  }
  return out;
}

std::optional<uint64_t> Hdf5File::find(const std::string& path) {
  uint64_t at = root_ + base_;
  size_t begin = 0;
  while (begin < path.size()) {
    size_t end = std::min(path.find('/', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    auto members = links(at);
    auto member = std::find_if(members.begin(), members.end(), [&](auto& one) { return one.first == name; });
    if (member == members.end()) return std::nullopt;
    at = member->second;
  }
  return at;
}

bool Hdf5File::has(const std::string& path) { return find(path).has_value(); }

std::vector<std::string> Hdf5File::names(const std::string& path) {
  std::vector<std::string> out;
  if (std::optional<uint64_t> at = find(path))
    for (auto& [name, header] : links(*at)) out.push_back(name);
  return out;
}

// ---- values ---------------------------------------------------------------------------------------------------------

Hdf5File::Element Hdf5File::element_at(uint64_t at) const {
  Element out;
  const uint64_t kind = number(at, 1) & 15, bits = number(at + 1, 3);
  out.size = number(at + 4, 4);
  out.is_big_endian = bits & 1;
  if (kind == 0) out.kind = bits & 8 ? Element::Int : Element::UInt;
  else if (kind == 1) out.kind = Element::Float;
  else if (kind == 3) out.kind = Element::Text, out.is_big_endian = false;
  else if (kind == 9 && (bits & 15) == 1) out.kind = Element::VariableText, out.is_big_endian = false;
  return out;
}

std::vector<int64_t> Hdf5File::shape_at(uint64_t at) const {
  const uint64_t version = number(at, 1), rank = number(at + 1, 1);
  if (version != 1 && version != 2) damaged("a shape of version " + std::to_string(version));
  if (version == 2 && number(at + 3, 1) == 2) return {0};  // no elements
  std::vector<int64_t> out;
  for (uint64_t i = 0; i < rank; ++i) {
    const uint64_t extent = length(at + (version == 1 ? 8 : 4) + i * length_size_);
    if (extent > INT32_MAX) damaged("a dimension of extent " + std::to_string(extent));
    out.push_back(static_cast<int64_t>(extent));
  }
  return out;
}

NDArray Hdf5File::dataset(const std::string& path) {
  std::optional<uint64_t> header = find(path);
  if (!header) throw Error(ValueError) << what_ << " has no dataset " << path;
  std::optional<Element> element;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::string_view> data;
  bool is_filled = false;
  for (const Message& message : messages(*header)) {
    if (message.type == kDataspace) shape = shape_at(message.begin);
    if (message.type == kDatatype) element = element_at(message.begin);
    if (message.type == kFilters) damaged("the dataset " + path + " is compressed; write it without, as Keras does");
    if (message.type != kLayout) continue;
    const uint64_t version = number(message.begin, 1), kind = number(message.begin + 1, 1);
    if (version < 3 || version > 4 || kind > 1)
      damaged("the dataset " + path + " is in chunks; write it in one piece, as Keras does");
    if (kind == 0) {
      data = bytes(message.begin + 4, number(message.begin + 2, 2));
    } else {
      const uint64_t at = offset(message.begin + 2), size = length(message.begin + 2 + offset_size_);
      is_filled = size == 0 || at == (offset_size_ == 8 ? ~uint64_t(0) : 0xffffffff);
      data = is_filled ? std::string_view() : bytes(base_ + at, size);
    }
  }
  if (!element || !shape || !data) damaged(path + " is no dataset");
  const bool fits = element->size == 1 || element->size == 2 || element->size == 4 || element->size == 8;
  const int bits = fits ? static_cast<int>(element->size) * 8 : 0;
  if (!fits || element->kind > Element::Float || element->is_big_endian ||
      (element->kind == Element::Float && bits == 8))
    damaged("the dataset " + path + " has elements of a type that cannot be read");
  const DataType dtype = element->kind == Element::Float ? DataType::Float(bits)
                         : element->kind == Element::Int ? DataType::Int(bits)
                                                         : DataType::UInt(bits);
  uint64_t count = element->size;
  for (int64_t extent : *shape) {
    if (extent && count > bytes_.size() / static_cast<uint64_t>(extent))
      damaged("the dataset " + path + " is larger than the file");
    count *= static_cast<uint64_t>(extent);
  }
  if (count > data->size()) damaged("the dataset " + path + " has fewer elements than its shape");
  NDArray out = NDArray::empty(*shape, dtype);
  std::memcpy(out.data<char>(), data->data(), count);
  return out;
}

std::string Hdf5File::text_in_heap(uint64_t at) {
  const uint64_t wanted = number(at, 4), heap = base_ + offset(at + 4), index = number(at + 4 + offset_size_, 4);
  if (wanted == 0) return "";
  if (bytes(heap, 4) != "GCOL") damaged("a text lies in no heap");
  const uint64_t end = heap + length(heap + 8);
  for (uint64_t object = heap + 8 + length_size_; object + 8 + length_size_ <= end;) {
    count();
    const uint64_t size = length(object + 8), begin = object + 8 + length_size_;
    if (number(object, 2) == index) return std::string(bytes(begin, std::min(wanted, size)));
    bytes(begin, size);
    if (number(object, 2) == 0) break;  // free space
    object = begin + rounded_up(size);
  }
  damaged("a text is not in its heap");
}

std::optional<std::vector<std::string>> Hdf5File::texts(const std::string& path, const std::string& attribute) {
  std::optional<uint64_t> header = find(path);
  if (!header) return std::nullopt;
  for (const Message& message : messages(*header)) {
    if (message.type == kAttributeInfo) {
      const uint64_t flags = number(message.begin + 1, 1), heap = offset(message.begin + 2 + (flags & 1 ? 2 : 0));
      if (heap != (offset_size_ == 8 ? ~uint64_t(0) : 0xffffffff)) damaged("an object keeps its attributes in a heap");
    }
    if (message.type != kAttribute) continue;
    const uint64_t version = number(message.begin, 1), name_size = number(message.begin + 2, 2);
    if (version < 1 || version > 3) damaged("an attribute of version " + std::to_string(version));
    auto padded = [&](uint64_t size) { return version == 1 ? rounded_up(size) : size; };
    uint64_t at = message.begin + (version == 3 ? 9 : 8);
    std::string_view name = bytes(at, name_size);
    if (name.substr(0, name.find('\0')) != attribute) continue;
    const uint64_t type = at + padded(name_size), space = type + padded(number(message.begin + 4, 2)),
                   data = space + padded(number(message.begin + 6, 2));
    const Element element = element_at(type);
    const bool is_fixed = element.kind == Element::Text;
    const uint64_t step = is_fixed ? element.size : 8 + offset_size_;
    uint64_t items = 1;
    for (int64_t extent : shape_at(space)) {
      if (extent && items > bytes_.size() / static_cast<uint64_t>(extent))
        damaged("the attribute " + attribute + " is larger than the file");
      items *= static_cast<uint64_t>(extent);
    }
    std::vector<std::string> out;
    if (items == 0) return out;  // of whatever type
    if (element.kind != Element::Text && element.kind != Element::VariableText)
      damaged("the attribute " + attribute + " is no text");
    for (uint64_t i = 0; i < items; ++i) {
      count();
      if (!is_fixed) {
        out.push_back(text_in_heap(data + i * step));
        continue;
      }
      std::string_view text = bytes(data + i * step, element.size);
      out.emplace_back(text.substr(0, text.find('\0')));
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace tessera::keras
