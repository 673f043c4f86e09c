#include "frontend/torch/pickled_tensors.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

namespace tessera::torch {

NDArray tensor_from_storage(const ZipMember& storage, const StoredTensor& stored, const std::string& what) {
  const auto bytes = static_cast<int64_t>(stored.dtype.bytes());
  auto fail = [&] { throw Error(ValueError) << what << " does not fit its storage of " << storage.size << " bytes"; };
  constexpr size_t kMaxDims = 64;
  if (stored.shape.size() > kMaxDims || stored.strides.size() != stored.shape.size() || stored.offset < 0) fail();
  int64_t last = stored.offset, count = 1;
  bool is_plain = stored.offset == 0;
  for (size_t i = stored.shape.size(); i-- > 0;) {
    const int64_t extent = stored.shape[i], stride = stored.strides[i];
    if (extent < 0 || stride < 0 || extent > (int64_t{1} << 40) || stride > (int64_t{1} << 40)) fail();
    is_plain &= extent == 1 || stride == count;
    int64_t reach = 0;
    if (__builtin_mul_overflow(count, extent, &count) || count > (int64_t{1} << 42)) fail();
    if (extent > 0 &&
        (__builtin_mul_overflow(extent - 1, stride, &reach) || __builtin_add_overflow(last, reach, &last)))
      fail();
  }
  if (count > 0 && (last >= (int64_t{1} << 42) || static_cast<uint64_t>((last + 1) * bytes) > storage.size)) fail();
  // Elements that share memory cannot ask for more than the file has.
  if (static_cast<uint64_t>(count) * static_cast<uint64_t>(bytes) > storage.size + 4096) fail();
  NDArray out = NDArray::empty(stored.shape, stored.dtype);
  if (count == 0) return out;
  if (is_plain && storage.size == static_cast<uint64_t>(count * bytes)) {
    unpack(storage, out.data<char>(), what);
    return out;
  }
  std::string all(static_cast<size_t>(storage.size), '\0');
  unpack(storage, all.data(), what);
  std::vector<int64_t> index(stored.shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = stored.offset;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * stored.strides[d];
    std::memcpy(out.data<char>() + i * bytes, all.data() + at * bytes, static_cast<size_t>(bytes));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < stored.shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

namespace {

constexpr size_t kMaxItems = 1'000'000;
constexpr int kMaxNested = 100;

struct Item;
using ItemRef = std::shared_ptr<Item>;
/// A value of the machine. What is called is noted, and done only where it makes a tensor.
struct Item {
  enum Kind { None, Int, Text, Tuple, Dict, Global, Called, Storage } kind = None;
  int64_t integer = 0;
  std::string text;            // of a Text; "module name" of a Global or what was Called
  std::vector<ItemRef> items;  // of a Dict: keys and values in turn
  int depth = 0;
};

class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& what) : left_(bytes), what_(what) {}

  ItemRef read() {
    for (;;) {
      if (stack_.size() > kMaxItems || memo_.size() > kMaxItems) fail("too many values");
      const auto op = static_cast<unsigned char>(take(1)[0]);
      if (op == '.') return pop();
      step(op);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ValueError) << what_ << ": its tensors cannot be read: " << why;
  }
  std::string_view take(size_t count) {
    if (count > left_.size()) fail("the pickle ends early");
    std::string_view out = left_.substr(0, count);
    left_.remove_prefix(count);
    return out;
  }
  uint64_t number(size_t bytes) {
    uint64_t out = 0;
    std::string_view from = take(bytes);
    for (size_t i = bytes; i-- > 0;) out = out << 8 | static_cast<unsigned char>(from[i]);
    return out;
  }
  std::string_view line() {
    size_t end = left_.find('\n');
    if (end == left_.npos) fail("the pickle ends early");
    std::string_view out = take(end + 1);
    return out.substr(0, end);
  }
  ItemRef make_item(Item::Kind kind) const {
    auto out = std::make_shared<Item>();
    out->kind = kind;
    return out;
  }
  void push(ItemRef item) { stack_.push_back(std::move(item)); }
  void push_int(int64_t value) {
    ItemRef item = make_item(Item::Int);
    item->integer = value;
    push(item);
  }
  void push_text(std::string_view text) {
    ItemRef item = make_item(Item::Text);
    item->text = text;
    push(item);
  }
  ItemRef pop() {
    if (stack_.empty()) fail("a value is missing");
    ItemRef out = stack_.back();
    stack_.pop_back();
    return out;
  }
  void push_tuple(size_t count) {
    ItemRef out = make_item(Item::Tuple);
    if (stack_.size() < count) fail("a value is missing");
    out->items.assign(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    for (ItemRef& item : out->items) {
      if (item->kind == Item::Dict) item = make_item(Item::None);  // so that nothing can hold itself; tensors need none
      out->depth = std::max(out->depth, item->depth + 1);
    }
    if (out->depth > kMaxNested) fail("values are nested too deep");
    push(out);
  }
  size_t since_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) fail("a mark is missing");
    size_t out = stack_.size() - marks_.back();
    marks_.pop_back();
    return out;
  }
  void add_to_dict(size_t count) {
    if (stack_.size() < count + 1 || count % 2) fail("a dictionary is missing");
    ItemRef dict = stack_[stack_.size() - count - 1];
    if (dict->kind != Item::Dict) fail("what gets items is no dictionary");
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i)
      if (stack_[i]->kind == Item::Dict) stack_[i] = make_item(Item::None);
    dict->items.insert(dict->items.end(), stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
  }
  void call() {
    ItemRef args = pop(), function = pop();
    if (function->kind != Item::Global || args->kind != Item::Tuple)
      fail("something else than a known function is called");
    ItemRef out = make_item(function->text == "collections OrderedDict" ? Item::Dict : Item::Called);
    out->text = function->text;
    if (out->kind == Item::Called) out->items = args->items, out->depth = args->depth + 1;
    push(out);
  }

  void step(unsigned char op) {
    switch (op) {
      case 0x80: take(1); break;  // protocol
      case 0x95: take(8); break;  // frame
      case '(': marks_.push_back(stack_.size()); break;
      case 'N': push(make_item(Item::None)); break;
      case 0x88: push_int(1); break;
      case 0x89: push_int(0); break;
      case 'K': push_int(static_cast<int64_t>(number(1))); break;
      case 'M': push_int(static_cast<int64_t>(number(2))); break;
      case 'J': push_int(static_cast<int32_t>(number(4))); break;
      case 0x8a: {  // a long
        const auto size = static_cast<size_t>(number(1));
        if (size > 8) fail("an integer is too large");
        uint64_t bits = number(size);
        if (size > 0 && size < 8 && (bits >> (8 * size - 1)) & 1) bits |= ~uint64_t{0} << (8 * size);
        push_int(static_cast<int64_t>(bits));
        break;
      }
      case 'G': take(8), push(make_item(Item::None)); break;  // a float: no tensor has one
      case 'X': push_text(take(static_cast<size_t>(number(4)))); break;
      case 0x8c: push_text(take(static_cast<size_t>(number(1)))); break;
      case ')': push_tuple(0); break;
      case 0x85: push_tuple(1); break;
      case 0x86: push_tuple(2); break;
      case 0x87: push_tuple(3); break;
      case 't': push_tuple(since_mark()); break;
      case ']': push(make_item(Item::Tuple)); break;
      case '}': push(make_item(Item::Dict)); break;
      case 's': add_to_dict(2); break;
      case 'u': add_to_dict(since_mark()); break;
      case 'c': {
        ItemRef item = make_item(Item::Global);
        item->text = std::string(line());
        item->text += " " + std::string(line());
        push(item);
        break;
      }
      case 'q': memo_[number(1)] = top(); break;
      case 'r': memo_[number(4)] = top(); break;
      case 0x94: {
        const uint64_t at = memo_.size();
        memo_[at] = top();
        break;
      }
      case 'h': push(remembered(number(1))); break;
      case 'j': push(remembered(number(4))); break;
      case 'R': call(); break;
      case 'Q': {  // a storage, told by a tuple
        ItemRef id = pop(), out = make_item(Item::Storage);
        if (id->kind != Item::Tuple) fail("a storage is not told by a tuple");
        out->items = id->items;
        out->depth = id->depth;
        push(out);
        break;
      }
      case 'b': pop(); break;  // an attribute of a dictionary: nothing that tensors need
      case '0': pop(); break;
      default: fail("the instruction " + std::to_string(op) + " is not one that tensors are written with");
    }
  }
  ItemRef top() {
    if (stack_.empty()) fail("a value is missing");
    return stack_.back();
  }
  ItemRef remembered(uint64_t at) {
    auto it = memo_.find(at);
    if (it == memo_.end()) fail("a value is missing");
    return it->second;
  }

  std::string_view left_;
  const std::string& what_;
  std::vector<ItemRef> stack_;
  std::vector<size_t> marks_;
  std::map<uint64_t, ItemRef> memo_;
};

DataType storage_type(const std::string& name) {
  constexpr std::pair<const char*, const char*> types[] = {
      {"FloatStorage", "float32"}, {"DoubleStorage", "float64"},   {"HalfStorage", "float16"}, {"LongStorage", "int64"},
      {"IntStorage", "int32"},     {"ShortStorage", "int16"},      {"CharStorage", "int8"},    {"ByteStorage", "uint8"},
      {"BoolStorage", "bool"},     {"BFloat16Storage", "bfloat16"}};
  for (const auto& [own, dtype] : types)
    if (name == std::string("torch ") + own) return DataType(dtype);
  throw Error(NotImplementedError) << "tensors of " << name << " are not supported";
}

class TensorArchive {
 public:
  TensorArchive(std::string_view bytes, const std::string& what) : members_(read_zip(bytes, what)), what_(what) {}

  const ZipMember& member(const std::string& end) const {
    for (const ZipMember& one : members_)
      if (one.name == end || one.name.ends_with("/" + end)) return one;
    throw Error(ValueError) << what_ << ": " << end << " is not there";
  }
  std::vector<int64_t> ints(const Item& tuple) const {
    std::vector<int64_t> out;
    for (const ItemRef& item : tuple.items) out.push_back(item->integer);
    return out;
  }
  NDArray tensor(const Item& item) const {
    const bool is_parameter = item.text == "torch._utils _rebuild_parameter";
    if (is_parameter && !item.items.empty() && item.items[0]->kind == Item::Called &&
        item.items[0]->text == "torch._utils _rebuild_tensor_v2")
      return tensor(*item.items[0]);
    if (item.kind != Item::Called || item.text != "torch._utils _rebuild_tensor_v2" || item.items.size() < 4 ||
        item.items[0]->kind != Item::Storage || item.items[0]->items.size() < 3)
      throw Error(ValueError) << what_ << ": what stands for a tensor is none";
    const std::vector<ItemRef>& storage = item.items[0]->items;
    StoredTensor stored{storage_type(storage[1]->text), ints(*item.items[2]), ints(*item.items[3]),
                        item.items[1]->integer};
    return tensor_from_storage(member("data/" + storage[2]->text), stored, what_ + ": a tensor");
  }

 private:
  std::vector<ZipMember> members_;
  const std::string& what_;
};

}  // namespace

std::vector<std::pair<std::string, NDArray>> read_pickled_tensors(std::string_view bytes, const std::string& what) {
  TensorArchive archive(bytes, what);
  const ZipMember& program = archive.member("data.pkl");
  constexpr uint64_t kMaxPickle = uint64_t{1} << 28;
  if (program.size > kMaxPickle) throw Error(ValueError) << what << ": data.pkl is too large";
  std::string text(static_cast<size_t>(program.size), '\0');
  unpack(program, text.data(), what);
  ItemRef root = PickleReader(text, what).read();
  std::vector<std::pair<std::string, NDArray>> out;
  if (root->kind == Item::Called) {
    out.emplace_back("", archive.tensor(*root));
    return out;
  }
  if (root->kind != Item::Dict) throw Error(ValueError) << what << ": its tensors are in no dictionary";
  for (size_t i = 0; i + 1 < root->items.size(); i += 2)
    if (root->items[i]->kind == Item::Text && root->items[i + 1]->kind == Item::Called)
      out.emplace_back(root->items[i]->text, archive.tensor(*root->items[i + 1]));
  return out;
}

}  // namespace tessera::torch
