#include "topi/gpu/wgmma_parts.h"

#include "ir/prim/ops.h"
#include "topi/gpu/gemm_tiles.h"
#include "topi/gpu/nest.h"

namespace tessera::topi {
namespace {

/// Registers of threads that copy, and of those that multiply, where `groups` warp groups do: all have as many at first, and
/// that is enough for one.
struct RoleRegisters {
  int64_t copy, multiply;
};
constexpr RoleRegisters kRoleRegisters[kMaxMultiplyGroups + 1] = {{0, 0}, {0, 0}, {40, 232}, {32, 160}};

const char* ptx_type(DataType dtype) {
  if (dtype.is_integral()) return dtype.is_uint() ? "u8" : "s8";
  return dtype.is_bfloat() ? "bf16" : dtype.bits == 32 ? "tf32" : "f16";
}

}  // namespace

Stmt ptx(const char* name, Array<PrimExpr> args) {
  return evaluate(make_call(DataType::Int(32), std::string("tir.ptx_") + name, std::move(args)));
}

std::string wgmma_form(int64_t columns, DataType a, DataType b) {
  return "m64n" + std::to_string(columns) + "k" + std::to_string(kWgmmaStepBytes / a.bytes()) +
         (a.is_floating() ? ".f32." : ".s32.") + ptx_type(a) + "." + ptx_type(b);
}

Stmt wgmma_roles(const PrimExpr& thread, int64_t groups, Stmt copies, Stmt multiplies) {
  const RoleRegisters registers = kRoleRegisters[groups];
  if (registers.copy) {
    copies = sequence({ptx("set_registers", {number(registers.copy), number(0)}), copies});
    multiplies = sequence({ptx("set_registers", {number(registers.multiply), number(1)}), multiplies});
  }
  return make(
      IfThenElse{.condition = thread < number(kWarpGroupThreads), .then_case = copies, .else_case = multiplies});
}

Stmt store_wgmma_sums(const GpuContraction& c, const WgmmaSums& sums, const PrimExpr& thread, const PrimExpr& batch,
                      const PrimExpr& row, const PrimExpr& column) {
  const PrimExpr lane = floormod(thread, number(32)), warp = floormod(floordiv(thread, number(32)), number(4));
  const Buffer eight = memory_of("eight", c.sum, 8, "local");
  const bool is_wide = wide_store_lanes(c) > 1 && c.n.known % 8 == 0;
  Stmt body = unrolled_loop("rows", 2 * sums.parts, [&](const PrimExpr& half) {
    const PrimExpr part = floordiv(half, number(2)), odd = floormod(half, number(2));
    const PrimExpr my_row =
        row + part * number(kWgmmaRows) + warp * number(16) + odd * number(8) + floordiv(lane, number(4));
    return unrolled_loop("columns", sums.columns / kStoredColumns, [&](const PrimExpr& columns) {
      const PrimExpr from = part * number(sums.columns / 2) + columns * number(16) + odd * number(2);
      const PrimExpr my_column = column + columns * number(kStoredColumns) + floormod(lane, number(4)) * number(8);
      auto element = [&](const PrimExpr& i) { return c.store(batch, my_row, my_column + i, make_load(eight, {i})); };
      PrimExpr inside = bool_imm(true);
      if (!sums.rows_are_inside) inside = my_row < number(c.m.known);
      Stmt stores;
      if (is_wide) {
        if (!sums.columns_are_inside) inside = logical_and(inside, my_column < number(c.n.known));
        stores = each_lane(8, element);
      } else {
        stores = unrolled_loop("i", 8, [&](const PrimExpr& i) {
          return guarded(sums.columns_are_inside ? PrimExpr(bool_imm(true)) : my_column + i < number(c.n.known),
                         element(i));
        });
      }
      return sequence(
          {ptx("exchange_pairs", {sums.memory->data, from, eight->data, number(0)}), guarded(inside, stores)});
    });
  });
  return all_allocated({eight}, body);
}

}  // namespace tessera::topi
