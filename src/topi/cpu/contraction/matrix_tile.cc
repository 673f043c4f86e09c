#include "topi/cpu/contraction/matrix_tile.h"

#include <algorithm>

#include "codegen/target_cpu.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

constexpr int64_t kRegisters = 8, kRegisterBytes = 64;  // a row of them
const DataType kInt32 = DataType::Int(32), kInt64 = DataType::Int(64);

/// The instructions, one row a type.
struct MatrixDot {
  DataType a, b, sum;
  const char *feature, *intrinsic;
};
const MatrixDot kMatrixDots[] = {
    {DataType::UInt(8), DataType::Int(8), DataType::Int(32), "amx-int8", "llvm.x86.tdpbusd"},
    {DataType::BFloat(16), DataType::BFloat(16), DataType::Float(32), "amx-bf16", "llvm.x86.tdpbf16ps"},
};

const MatrixDot* find(const Dot& dot) {
  for (const MatrixDot& row : kMatrixDots)
    if (row.a == dot.a && row.b == dot.b && row.sum == dot.c) return &row;
  return nullptr;
}

/// Which register holds what: the sums, row after row, then A, and B in turns in those that are left.
struct Registers {
  int64_t rows, vectors;

  int64_t sum(int64_t row, int64_t vector) const { return row * vectors + vector; }
  int64_t a(int64_t row) const { return rows * vectors + row; }
  int64_t left() const { return kRegisters - rows * vectors - rows; }
  int64_t b(int64_t vector) const { return rows * vectors + rows + vector % left(); }
};

PrimExpr number_of(int64_t index) { return make_const(DataType::Int(8), index); }

Stmt instruction(const char* name, const Array<PrimExpr>& args) {
  Array<PrimExpr> all{make_const(DataType::UInt(32), codegen::llvm_intrinsic_id(name)),
                      make_const(DataType::UInt(32), static_cast<int64_t>(args.size()))};
  for (const PrimExpr& arg : args) all.push_back(arg);
  return evaluate(make_call(DataType::Void(), "tir.call_llvm_intrin", all));
}

PrimExpr address(const Buffer& buffer, const PrimExpr& index) {
  return make_call(DataType::Handle(), builtin::address_of(), {make_load(buffer, {index})});
}

Stmt moved(const char* name, int64_t index, const Buffer& buffer, const PrimExpr& first, int64_t stride) {
  const int64_t bytes = stride * buffer->dtype.bytes();
  return instruction(name, {number_of(index), address(buffer, first), make_const(kInt64, bytes)});
}

}  // namespace

bool has_matrix_tiles(const Machine& machine, const Dot& dot) {
  const MatrixDot* row = find(dot);
  auto has = [&](std::string_view wanted) {
    return std::any_of(machine->features.begin(), machine->features.end(),
                       [&](const String& feature) { return std::string_view(feature) == wanted; });
  };
  return row && has("amx-tile") && has(row->feature);
}

bool fits_matrix_registers(const RegisterTile& tile) {
  return Registers{MatrixRows(tile.rows).registers, tile.vectors}.left() > 0;
}

double matrix_tile_cost(const RegisterTile& tile, int64_t steps) {
  // An instruction takes a cycle for each of its rows, in which two vectors could be multiplied. A register is loaded in eight,
  // most of them while others multiply.
  constexpr double kRow = 2, kLoad = 16, kVisibleLoad = 4, kStore = 6;
  const int64_t loads = MatrixRows(tile.rows).registers + tile.vectors, whole = steps / kMatrixGroups,
                rest = steps % kMatrixGroups;
  const auto sums = static_cast<double>(tile.sums());
  const auto loaded = static_cast<double>(loads);
  const double step = std::max(kRow * sums + kVisibleLoad * loaded, kLoad * loaded);
  return step * static_cast<double>(whole) + TileCosts::tile + kStore * sums +
         static_cast<double>(rest * (tile.sums() + 2 * tile.rows));
}

MatrixRows::MatrixRows(int64_t count)
    : rows(count), registers(ceil_div(count, kMatrixRows)), height(ceil_div(count, registers)) {}

PrimExpr MatrixRows::height_of(int64_t index, const PrimExpr& m) const {
  const int64_t first = index * height, most = std::min(height, rows - first);
  if (const int64_t* known = as_int(m)) return number(std::clamp<int64_t>(*known - first, 1, most));
  return max(min(m - number(first), number(most)), number(1));
}

Stmt with_matrix_registers(const MatrixRows& rows, int64_t vectors, const PrimExpr& m, const Stmt& body) {
  const Registers registers{rows.registers, vectors};
  std::vector<PrimExpr> heights(kRegisters, number(kMatrixRows));  // of B
  for (int64_t r = 0; r < rows.registers; ++r) {
    heights[static_cast<size_t>(registers.a(r))] = rows.height_of(r, m);
    for (int64_t v = 0; v < vectors; ++v) heights[static_cast<size_t>(registers.sum(r, v))] = rows.height_of(r, m);
  }
  // 64 bytes: the palette, from byte 16 on the bytes of a row of each register, from byte 48 on their rows
  constexpr int64_t kWords = 16, kFirstWidth = 4, kFirstHeight = 12;
  Buffer config = decl_buffer({number(kWords)}, kInt32, "matrix_registers", "local");
  auto store = [&](int64_t word, const PrimExpr& value) {
    return make(BufferStore{.buffer = config, .value = value, .indices = {number(word)}});
  };
  std::vector<Stmt> parts{store_vector(config, number(0), make_broadcast(make_zero(kInt32), kWords)),
                          store(0, number(1))};
  for (int64_t pair = 0; pair < kRegisters / 2; ++pair)
    parts.push_back(store(kFirstWidth + pair, number(kRegisterBytes << 16 | kRegisterBytes)));
  for (int64_t four = 0; four < kRegisters / 4; ++four) {
    PrimExpr word = 0;
    for (int64_t i = 4; i-- > 0;) word = word * number(256) + heights[static_cast<size_t>(4 * four + i)];
    parts.push_back(store(kFirstHeight + four, word));
  }
  parts.push_back(instruction("llvm.x86.ldtilecfg", {address(config, number(0))}));
  parts.push_back(body);
  parts.push_back(instruction("llvm.x86.tilerelease", {}));
  return allocated(config, sequence(parts));
}

Stmt matrix_tile(const MatrixTile& tile, int64_t vectors) {
  const Registers registers{tile.rows.registers, vectors};
  const MatrixDot* dot = find(*tile.dot);
  ICHECK(dot) << "has_matrix_tiles was asked for these types";
  auto each_sum = [&](const std::function<Stmt(int64_t r, int64_t v)>& body) {
    std::vector<Stmt> out;
    for (int64_t v = 0; v < tile.vectors; ++v)
      for (int64_t r = 0; r < tile.rows.registers; ++r) out.push_back(body(r, v));
    return sequence(out);
  };
  Stmt clear = each_sum(
      [&](int64_t r, int64_t v) { return instruction("llvm.x86.tilezero", {number_of(registers.sum(r, v))}); });
  Stmt steps = loop_over("k", tile.depth, [&](const PrimExpr& k) {
    std::vector<Stmt> parts;
    if (tile.beside) parts.push_back(tile.beside(k));
    for (int64_t r = 0; r < tile.rows.registers; ++r)
      parts.push_back(moved("llvm.x86.tileloadd64", registers.a(r), tile.a, tile.a_at(r, k), tile.a_stride));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      parts.push_back(moved("llvm.x86.tileloadd64", registers.b(v), tile.b, tile.b_at(k, v), tile.b_stride));
      for (int64_t r = 0; r < tile.rows.registers; ++r)
        parts.push_back(instruction(
            dot->intrinsic, {number_of(registers.sum(r, v)), number_of(registers.a(r)), number_of(registers.b(v))}));
    }
    return sequence(parts);
  });
  Stmt store = each_sum([&](int64_t r, int64_t v) {
    PrimExpr first = number(r * tile.rows.height * tile.sums_stride + v * kMatrixRows);
    return moved("llvm.x86.tilestored64", registers.sum(r, v), tile.sums, first, tile.sums_stride);
  });
  return sequence({clear, steps, store});
}

}  // namespace tessera::topi
