// Rows of features: a walk over the loops of a program, and a row for each buffer that is stored into.

#include "tune/auto_scheduler/feature/feature.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tune/auto_scheduler/feature/store_facts.h"

namespace tessera::auto_scheduler {
namespace {

constexpr size_t kBufferFeatures = 18, kPositions = 8;
enum Position : size_t { kPosNone = 0, kPosMixed = 7 };

/// The features of one buffer, group by group.
struct Row {
  std::vector<float> compute, buffers, intensity, rest;
  double outer_product = 0;
  double alloc_size = 0, alloc_product = 0, alloc_outer = 0, alloc_inner = 0;
  size_t loops = 0;
  int auto_unroll = 0;
};

class Extractor {
 public:
  explicit Extractor(const FeatureOptions& options) : options_(options) {}

  std::vector<std::vector<float>> run(const PrimFunc& function) {
    for (const auto& [param, buffer] : function->buffer_map) parameters_.push_back(buffer);
    visit(function->body);
    std::vector<std::vector<float>> out;
    for (size_t i = rows_.size(); i-- > 0;) out.push_back(flat(rows_[i].first, rows_[i].second));
    return out;
  }

 private:
  // ---- the walk --------------------------------------------------------------------------------------------

  void visit(const Stmt& stmt) {
    if (auto* seq = stmt.as<SeqStmt>()) {
      for (const Stmt& each : seq->seq) visit(each);
    } else if (auto* loop = stmt.as<For>()) {
      const int64_t* extent = as_int(loop->extent);
      const int64_t count = extent ? *extent : 1;
      std::vector<int64_t>* kind = loop->kind == LoopKind::Vectorized ? &vectorized_
                                   : loop->kind == LoopKind::Unrolled ? &unrolled_
                                   : loop->kind == LoopKind::Parallel ? &parallel_
                                                                      : nullptr;
      if (kind) kind->push_back(count);
      inside(loop->loop_var, loop->min, count, loop->body);
      if (kind) kind->pop_back();
    } else if (auto* attribute = stmt.as<AttrStmt>()) {
      visit_attribute(attribute);
    } else if (auto* branch = stmt.as<IfThenElse>()) {
      visit(branch->then_case);
      if (branch->else_case) visit(branch->else_case);
    } else if (auto* let = stmt.as<LetStmt>()) {
      visit(let->body);
    } else if (auto* realize = stmt.as<BufferRealize>()) {
      visit(realize->body);
      double elements = 1;
      for (const Range& range : realize->bounds)
        if (const int64_t* extent = as_int(range->extent)) elements *= static_cast<double>(*extent);
      note_allocation(realize->buffer, elements);
    } else if (auto* declared = stmt.as<DeclBuffer>()) {
      visit(declared->body);
      note_allocation(declared->buffer, elements_of(declared->buffer));
    } else if (auto* allocate = stmt.as<Allocate>()) {
      visit(allocate->body);
    } else if (auto* block = stmt.as<BlockRealize>()) {
      visit(block->block->body);
    } else if (auto* store = stmt.as<BufferStore>()) {
      visit_store(store);
    }
  }

  void inside(const Var& var, const PrimExpr& min, int64_t extent, const Stmt& body) {
    loops_.push_back(std::make_unique<LoopFacts>(LoopFacts{var, min, extent, {}}));
    outer_product_ *= static_cast<double>(extent);
    visit(body);
    outer_product_ /= static_cast<double>(extent);
    loops_.pop_back();
  }

  void visit_attribute(const AttrStmt* attribute) {
    const std::string& key = attribute->attr_key.str();
    if (key == attr::kThreadExtent || key == attr::kVirtualThread) {
      auto* axis = attribute->node.as<IterVarNode>();
      const int64_t* extent = as_int(attribute->value);
      if (!axis || !extent) return visit(attribute->body);
      double* length = thread_length(axis->thread_tag.empty() ? axis->var->name.str() : axis->thread_tag.str());
      const double before = *length;
      *length = key == attr::kVirtualThread ? before * static_cast<double>(*extent) : static_cast<double>(*extent);
      const bool was_gpu = std::exchange(is_gpu_, true);
      inside(axis->var, int_imm(axis->var->dtype, 0), *extent, attribute->body);
      *length = before;
      is_gpu_ = was_gpu;
    } else if (key == "pragma_auto_unroll_max_step") {
      const int64_t* steps = as_int(attribute->value);
      const int before = std::exchange(auto_unroll_, steps ? static_cast<int>(*steps) : 0);
      visit(attribute->body);
      auto_unroll_ = before;
    } else {
      visit(attribute->body);
    }
  }

  double* thread_length(const std::string& tag) {
    static constexpr const char* kTags[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                            "threadIdx.x", "threadIdx.y", "threadIdx.z"};
    for (size_t i = 0; i < 6; ++i)
      if (tag == kTags[i]) return &thread_lengths_[i];
    return &thread_lengths_[6];
  }

  // ---- a store ---------------------------------------------------------------------------------------------

  Row& row_of_buffer(const Buffer& buffer) {
    for (auto& [known, row] : rows_)
      if (known.same_as(buffer)) return row;
    return rows_.emplace_back(buffer, Row()).second;
  }

  void visit_store(const BufferStore* store) {
    const bool is_new =
        std::none_of(rows_.begin(), rows_.end(), [&](const auto& row) { return row.first.same_as(store->buffer); });
    Row& row = row_of_buffer(store->buffer);
    const OpCounts counts = count_ops(store->value);
    row.compute = compute_group(counts);
    buffer_groups(store, counts, &row);
    row.outer_product = outer_product_;
    row.loops = loops_.size();
    row.auto_unroll = auto_unroll_;
    const bool is_parameter = std::any_of(parameters_.begin(), parameters_.end(),
                                          [&](const Buffer& each) { return each.same_as(store->buffer); });
    if (is_parameter || is_new) set_allocation(&row, elements_of(store->buffer), bytes_of(store->buffer), 1);
  }

  static double elements_of(const Buffer& buffer) {
    double elements = 1;
    for (const PrimExpr& dim : buffer->shape)
      if (const int64_t* extent = as_int(dim)) elements *= static_cast<double>(*extent);
    return elements;
  }

  static double bytes_of(const Buffer& buffer) { return static_cast<double>(buffer->dtype.bytes()); }

  void note_allocation(const Buffer& buffer, double elements) {
    for (auto& [known, row] : rows_)
      if (known.same_as(buffer)) set_allocation(&row, elements, bytes_of(buffer), outer_product_);
  }

  static void set_allocation(Row* row, double elements, double bytes, double outer) {
    row->alloc_size = elements * bytes;
    row->alloc_product = elements * outer;
    row->alloc_outer = outer;
    row->alloc_inner = row->outer_product / outer;
  }

  /// Operations, and the loops that run by vectors, unrolled and in parallel.
  std::vector<float> compute_group(const OpCounts& counts) const {
    std::vector<float> out;
    auto add = [&](double value) { out.push_back(static_cast<float>(value)); };
    for (double count :
         {0.0, counts.float_addsub, counts.float_mul, counts.float_divmod, counts.float_cmp, counts.float_math,
          counts.float_other, 0.0, counts.int_addsub, counts.int_mul, counts.int_divmod, counts.int_cmp,
          counts.int_math, counts.int_other, counts.bool_op, counts.select_op})
      add(count * outer_product_);
    for (const std::vector<int64_t>* kind : {&vectorized_, &unrolled_, &parallel_}) {
      double product = kind->empty() ? 0 : 1;
      for (int64_t extent : *kind) product *= static_cast<double>(extent);
      add(static_cast<double>(kind->size()));
      add(product);
      add(kind->empty() ? 0 : static_cast<double>(kind->back()));
      for (size_t i = 0; i < kPositions; ++i) add(i == (kind->empty() ? kPosNone : kPosMixed) ? 1 : 0);
    }
    add(is_gpu_ ? 1 : 0);
    for (double length : thread_lengths_) add(length);
    return out;
  }

  void buffer_groups(const BufferStore* store, const OpCounts& counts, Row* row) {
    const std::vector<BufferAccess> accesses = accesses_of(store);
    arith::Analyzer analyzer;
    for (const auto& loop : loops_)
      analyzer.bind(loop->var, make_range(loop->min, int_imm(loop->min.dtype(), 1)), true);
    std::vector<double> memory, operations;
    std::vector<int64_t> written;  // the region of the buffer that is stored into
    double ops = counts.floats();
    for (size_t i = loops_.size(); i-- > 0;) {
      LoopFacts& loop = *loops_[i];
      analyzer.bind(loop.var, make_range(loop.min, int_imm(loop.min.dtype(), loop.extent)), true);
      double bytes = 0;
      for (const BufferAccess& access : accesses) {
        const std::vector<int64_t> region = touched_region(access, analyzer);
        if (&access == &accesses.front()) written = region;
        int64_t elements = 1;
        for (int64_t extent : region) elements *= extent;
        touch(&loop, access.buffer, elements);
        bytes += static_cast<double>(elements) * bytes_of(access.buffer);
      }
      memory.push_back(bytes);
      ops *= static_cast<double>(loop.extent);
      operations.push_back(ops);
    }
    row->intensity = intensity_curve(operations, memory);
    std::vector<std::vector<float>> groups;
    for (const BufferAccess& access : accesses) groups.push_back(access_features(access, written));
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      return std::pair(a[5], a[3]) > std::pair(b[5], b[3]);  // lines, then bytes
    });
    groups.resize(options_.max_buffers, std::vector<float>(kBufferFeatures, 0.0f));
    row->buffers.clear();
    for (const auto& group : groups) row->buffers.insert(row->buffers.end(), group.begin(), group.end());
  }

  static void touch(LoopFacts* loop, const Buffer& buffer, int64_t elements) {
    for (LoopFacts::Touched& each : loop->touched)
      if (each.buffer == buffer.get()) return each.elements.push_back(elements);
    loop->touched.push_back({buffer.get(), {elements}, static_cast<int64_t>(buffer->dtype.bytes())});
  }

  std::vector<float> access_features(const BufferAccess& access, const std::vector<int64_t>& written) const {
    const double element = bytes_of(access.buffer), line = options_.cache_line_bytes;
    const double bytes = outer_product_ * element;
    double unique = element, lines = 1, unique_lines = 1, stride = 0;
    std::vector<LoopFacts*> loops;
    for (const auto& loop : loops_) loops.push_back(loop.get());
    if (!loops.empty()) {
      unique = static_cast<double>(loops.front()->of(access.buffer.get())->elements.front()) * element;
      double repeated = 1, step = 0;
      size_t at = loops.size();
      while (at > 0) {
        step = static_cast<double>(stride_of(access, loops[--at]->var));
        if (step != 0) break;
        repeated *= static_cast<double>(loops.back()->extent);
      }
      lines = std::max(outer_product_ / repeated * std::min(1.0, step * element / line), 1.0);
      stride = at + 1 == loops.size() ? step : 0;
      double continuous = element;
      for (size_t i = std::min(written.size(), access.buffer->shape.size()); i-- > 0;) {
        const int64_t* extent = as_int(access.buffer->shape[i]);
        if (!extent || written[i] != *extent) continue;
        continuous *= static_cast<double>(*extent);
        break;
      }
      unique_lines = std::max(unique / std::min(continuous, line), 1.0);
    }
    const ReuseFacts reuse = reuse_of(access, loops);
    const double shared = reuse.count > 0.5 ? 1 / reuse.count : 2;
    std::vector<float> out;
    for (double value :
         {double(access.is_read && !access.is_write), double(!access.is_read && access.is_write),
          double(access.is_read && access.is_write), bytes, unique, lines, unique_lines,
          double(reuse.kind == Reuse::LoopMultipleRead), double(reuse.kind == Reuse::SerialMultipleReadWrite),
          double(reuse.kind == Reuse::None), reuse.distance_iterations, reuse.distance_bytes, reuse.count,
          bytes * shared, unique * shared, lines * shared, unique_lines * shared, stride})
      out.push_back(static_cast<float>(value));
    return out;
  }

  /// Operations for each byte, as loops are added from the innermost outwards: a curve over the operations, at even distances.
  static std::vector<float> intensity_curve(const std::vector<double>& operations, const std::vector<double>& memory) {
    std::vector<float> out(kCurveSamples, 0.0f);
    if (operations.empty() || operations.back() <= 0) return out;
    size_t at = 0;
    auto ratio = [&](size_t i) { return operations[i] / memory[i]; };
    for (size_t i = 0; i < kCurveSamples; ++i) {
      const double ops = operations.back() * static_cast<double>(i + 1) / kCurveSamples;
      while (at + 1 < operations.size() && operations[at] < ops - 1e-4) ++at;
      double value = ratio(at);
      if (at > 0 && operations[at] > operations[at - 1]) {
        const double slope = (ratio(at) - ratio(at - 1)) / (operations[at] - operations[at - 1]);
        value = ratio(at - 1) + slope * (ops - operations[at - 1]);
      }
      out[i] = static_cast<float>(value);
    }
    return out;
  }

  std::vector<float> flat(const Buffer&, const Row& row) const {
    std::vector<float> out = row.compute;
    out.insert(out.end(), row.buffers.begin(), row.buffers.end());
    out.insert(out.end(), row.intensity.begin(), row.intensity.end());
    for (double value : {row.alloc_size, row.alloc_product, row.alloc_outer, row.alloc_inner, row.outer_product,
                         static_cast<double>(row.loops), static_cast<double>(row.auto_unroll)})
      out.push_back(static_cast<float>(value));
    if (options_.log_scale)
      for (float& value : out) value = std::copysign(std::log2(std::abs(value) + 1), value);
    return out;
  }

  FeatureOptions options_;
  std::vector<Buffer> parameters_;
  std::vector<std::pair<Buffer, Row>> rows_;
  std::vector<std::unique_ptr<LoopFacts>> loops_;
  std::vector<int64_t> vectorized_, unrolled_, parallel_;
  std::array<double, 7> thread_lengths_{1, 1, 1, 1, 1, 1, 1};
  double outer_product_ = 1;
  bool is_gpu_ = false;
  int auto_unroll_ = 0;
};

}  // namespace

std::vector<std::vector<float>> features_of(const PrimFunc& function, const FeatureOptions& options) {
  return Extractor(options).run(function);
}

}  // namespace tessera::auto_scheduler
