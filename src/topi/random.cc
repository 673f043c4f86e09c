#include "topi/random.h"

#include <numbers>

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "te/reduce.h"
#include "topi/program.h"
#include "topi/search.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

const DataType kWord = DataType::UInt(64);
PrimExpr word(int64_t value) { return make_const(kWord, value); }
PrimExpr top_bit() { return word(1) << word(63); }
PrimExpr rotated(const PrimExpr& value, int bits) { return (value << word(bits)) | (value >> word(64 - bits)); }
PrimExpr at(const Buffer& buffer, int i) { return make_load(buffer, {PrimExpr(i)}); }
Stmt put(const Buffer& buffer, int i, const PrimExpr& value) { return store(buffer, value, {PrimExpr(i)}); }

/// Enciphers the four words of `state` in index under the first four words of `key`.
Stmt encipher(const Buffer& state, const Buffer& key) {
  constexpr int kRotations[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37}, {25, 33}, {46, 12}, {58, 22}, {32, 32}};
  PrimExpr parity = word(0x1BD11BDAA9FC1A22);
  for (int i = 0; i < 4; ++i) parity = parity ^ at(key, i);
  auto key_word = [&](int i) { return i % 5 == 4 ? parity : at(key, i % 5); };
  std::vector<Stmt> out;
  auto inject = [&](int step) {
    for (int i = 0; i < 4; ++i) {
      PrimExpr sum = at(state, i) + key_word(step + i);
      out.push_back(put(state, i, i == 3 ? sum + word(step) : sum));
    }
  };
  auto mix = [&](int a, int b, int rotation) {
    out.push_back(put(state, a, at(state, a) + at(state, b)));
    out.push_back(put(state, b, rotated(at(state, b), rotation) ^ at(state, a)));
  };
  inject(0);
  for (int round = 0; round < 20; ++round) {
    const int* rotation = kRotations[round % 8];
    bool swapped = round % 2;
    mix(0, swapped ? 3 : 1, rotation[0]);
    mix(2, swapped ? 1 : 3, rotation[1]);
    if (round % 4 == 3) inject(round / 4 + 1);
  }
  return sequence(out);
}

Stmt copy_words(const Buffer& from, const Buffer& to, int begin, int end) {
  std::vector<Stmt> out;
  for (int i = begin; i < end; ++i) out.push_back(put(to, i, at(from, i)));
  return sequence(out);
}

Stmt set_words(const Buffer& to, int begin, const std::vector<PrimExpr>& values) {
  std::vector<Stmt> out;
  for (size_t i = 0; i < values.size(); ++i) out.push_back(put(to, begin + static_cast<int>(i), values[i]));
  return sequence(out);
}

/// The mark moved one bit on, from the first word into the second.
std::vector<PrimExpr> moved_mark(const Buffer& key) {
  return {at(key, 8) >> word(1), (at(key, 9) >> word(1)) | ((at(key, 8) & word(1)) << word(63))};
}

PrimExpr is_path_full(const Buffer& key) { return equal(at(key, 8) | at(key, 9), word(0)); }

/// `to` becomes the key that `from` enciphers from `counter`, with an empty path.
Stmt new_key(const Buffer& from, const Buffer& to, const std::vector<PrimExpr>& counter) {
  return with_memory(kWord, 4, [&](const Buffer& state) {
    return sequence({set_words(state, 0, counter), encipher(state, from), copy_words(state, to, 0, 4),
                     set_words(to, 4, {word(0), word(0), word(0), word(0), top_bit(), word(0)})});
  });
}

PrimExpr element_count(const Indices& shape) {
  PrimExpr out = make_const(DataType::Int(64), 1);
  for (const PrimExpr& extent : shape) out = out * cast(DataType::Int(64), extent);
  return out;
}

}  // namespace

Array<te::Tensor> threefry_generate(const te::Tensor& key, const Array<PrimExpr>& shape) {
  PrimExpr count = element_count(shape),
           blocks = floordiv(count + make_const(count.dtype(), 3), make_const(count.dtype(), 4));
  Array<te::Tensor> flat = program(
      "threefry_generate", {key}, {{{PrimExpr(10)}, kWord}, {{count}, kWord}},
      [&](const Buffers& in, const Buffers& out) {
        PrimExpr all_ones = word(0) - word(1), taken = cast(kWord, count);
        // The key that is used: with no room left in the counter, the next of the path; with no room there, a new one.
        Stmt next_path = sequence(
            {copy_words(in[0], out[0], 0, 4),
             set_words(out[0], 4, {at(in[0], 4) | at(in[0], 8), at(in[0], 5) | at(in[0], 9), word(0), word(0)}),
             set_words(out[0], 8, moved_mark(in[0]))});
        Stmt renewed =
            when(is_path_full(in[0]), new_key(in[0], out[0], {all_ones, all_ones, all_ones, all_ones}), next_path);
        Stmt choose = when(at(in[0], 7) < all_ones - taken, copy_words(in[0], out[0], 0, 10), renewed);
        Stmt numbers = loop(
            blocks,
            [&](const PrimExpr& block) {
              return with_memory(kWord, 4, [&](const Buffer& state) {
                std::vector<Stmt> stmts{
                    set_words(state, 0,
                              {at(out[0], 4), at(out[0], 5), at(out[0], 6), at(out[0], 7) + cast(kWord, block)}),
                    encipher(state, out[0])};
                for (int i = 0; i < 4; ++i) {
                  PrimExpr index = block * make_const(block.dtype(), 4) + make_const(block.dtype(), i);
                  stmts.push_back(when(index < count, store(out[1], at(state, i), {index})));
                }
                return sequence(stmts);
              });
            },
            LoopKind::Parallel);
        return sequence({choose, numbers, put(out[0], 7, at(out[0], 7) + taken)});
      });
  return {flat[0], reshape(flat[1], shape)};
}

Array<te::Tensor> threefry_split(const te::Tensor& key) {
  std::vector<Result> keys(2, Result{{PrimExpr(10)}, kWord});
  return program("threefry_split", {key}, keys, [&](const Buffers& in, const Buffers& out) {
    std::vector<PrimExpr> mark = moved_mark(in[0]);
    Stmt fresh =
        sequence({new_key(in[0], out[0], {at(in[0], 4), at(in[0], 5), at(in[0], 6), at(in[0], 7)}),
                  put(out[0], 8, word(1) << word(62)), copy_words(out[0], out[1], 0, 10), put(out[1], 4, top_bit())});
    Stmt longer = sequence(
        {copy_words(in[0], out[0], 0, 6), set_words(out[0], 6, {word(0), word(0), mark[0], mark[1]}),
         copy_words(in[0], out[1], 0, 4),
         set_words(out[1], 4,
                   {at(in[0], 4) | at(in[0], 8), at(in[0], 5) | at(in[0], 9), word(0), word(0), mark[0], mark[1]})});
    return when(is_path_full(in[0]), fresh, longer);
  });
}

namespace {

/// Numbers in [0, 1): random bits are the fraction of a float between 1 and 2.
Array<te::Tensor> unit(const te::Tensor& key, const Array<PrimExpr>& shape, DataType dtype) {
  if (dtype != DataType::Float(32) && dtype != DataType::Float(64))
    throw Error(TypeError) << "random numbers are float32 or float64, not " << dtype;
  int fraction = dtype.bits == 32 ? 23 : 52;
  DataType bits = DataType::UInt(dtype.bits);
  PrimExpr exponent = make_const(bits, dtype.bits == 32 ? int64_t{0x7f} << 23 : int64_t{0x3ff} << 52);
  Array<te::Tensor> random = threefry_generate(key, shape);
  te::Tensor values = compute(
      shape, "ax",
      [&](const Indices& indices) {
        PrimExpr value = tessera::cast(bits, te::load(random[1], indices)) >> make_const(bits, dtype.bits - fraction);
        return tessera::reinterpret(dtype, value | exponent) - make_const(dtype, 1);
      },
      "unit", kElementwise);
  return {random[0], values};
}

}  // namespace

Array<te::Tensor> uniform(const te::Tensor& key, const PrimExpr& low, const PrimExpr& high,
                          const Array<PrimExpr>& shape, DataType dtype) {
  Array<te::Tensor> random = unit(key, shape, dtype);
  PrimExpr first = tessera::cast(dtype, low), width = tessera::cast(dtype, high) - first;
  return {random[0], compute(
                         shape, "ax", [&](const Indices& i) { return te::load(random[1], i) * width + first; },
                         "uniform", kElementwise)};
}

Array<te::Tensor> normal(const te::Tensor& key, const PrimExpr& mean, const PrimExpr& deviation,
                         const Array<PrimExpr>& shape, DataType dtype) {
  Array<te::Tensor> first = unit(key, shape, dtype), second = unit(first[0], shape, dtype);
  return {second[0], compute(
                         shape, "ax",
                         [&](const Indices& i) {  // Box and Muller: a random angle, and the radius that belongs to it
                           PrimExpr rest = make_const(dtype, 1) - te::load(first[1], i);  // never 0
                           PrimExpr radius =
                               unary_intrin("tir.sqrt", make_const(dtype, -2) * unary_intrin("tir.log", rest));
                           PrimExpr angle = make_const(dtype, 2 * std::numbers::pi) * te::load(second[1], i);
                           PrimExpr value = radius * unary_intrin("tir.cos", angle);
                           return value * tessera::cast(dtype, deviation) + tessera::cast(dtype, mean);
                         },
                         "normal", kElementwise)};
}

Array<te::Tensor> multinomial(const te::Tensor& key, const te::Tensor& probabilities, const PrimExpr& count) {
  const int last = static_cast<int>(probabilities->shape.size()) - 1;
  DataType dtype = probabilities->dtype;
  te::Tensor sums = scan(probabilities, last, false, false, dtype);
  Array<PrimExpr> shape(probabilities->shape.begin(), probabilities->shape.end() - 1);
  shape.push_back(count);
  Array<te::Tensor> random = unit(key, shape, dtype);
  PrimExpr outcomes = probabilities->shape[last], end = outcomes - make_const(outcomes.dtype(), 1);
  IterVar k = te::reduce_axis(make_range(make_zero(outcomes.dtype()), end), "k");
  te::Tensor chosen = compute(
      shape, "ax",
      [&](const Indices& i) {  // how many sums a random part of the whole passes
        Indices row(i.begin(), i.end() - 1), whole = row;
        row.push_back(k->var);
        whole.push_back(end);
        PrimExpr passes = te::load(sums, row) <= te::load(random[1], i) * te::load(sums, whole);
        return te::sum(tessera::cast(DataType::Int(32), passes), {k});
      },
      "multinomial", kReduce);
  return {random[0], chosen};
}

namespace {

Globals random_globals{
    {"topi.random.threefry_generate", threefry_generate},
    {"topi.random.threefry_split", threefry_split},
    {"topi.random.uniform", uniform},
    {"topi.random.normal", normal},
    {"topi.random.multinomial", multinomial},
};

}  // namespace
}  // namespace tessera::topi
