#include "topi/einsum.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "te/reduce.h"

namespace tessera::topi {
namespace {

using Indices = Array<PrimExpr>;

[[noreturn]] void reject(const std::string& equation, const std::string& why) {
  throw Error(TypeError) << "the equation \"" << equation << "\" " << why;
}

std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == ',') out.emplace_back();
    else out.back() += c;
  }
  return out;
}

/// `term` with its ellipsis as `count` digits that end with `last` - 1, so that trailing dimensions meet.
std::string without_ellipsis(const std::string& equation, std::string term, size_t count, size_t last) {
  size_t at = term.find("...");
  if (at == std::string::npos) return term;
  std::string digits;
  for (size_t i = last - count; i < last; ++i) digits += static_cast<char>('0' + i);
  term.replace(at, 3, digits);
  if (term.find('.') != std::string::npos) reject(equation, "has a point that is no part of an ellipsis");
  return term;
}

}  // namespace

Einsum::Einsum(const std::string& given, const std::vector<size_t>& ranks) {
  std::string equation = given;
  std::erase(equation, ' ');
  size_t arrow = equation.find("->");
  inputs = terms_of(equation.substr(0, arrow));
  if (inputs.size() != ranks.size())
    reject(equation,
           "has " + std::to_string(inputs.size()) + " terms for " + std::to_string(ranks.size()) + " operands");
  size_t longest = 0;
  std::vector<size_t> extra(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    bool has_ellipsis = inputs[i].find("...") != std::string::npos;
    size_t letters = inputs[i].size() - (has_ellipsis ? 3 : 0);
    if (has_ellipsis ? letters > ranks[i] : letters != ranks[i])
      reject(equation, "names " + std::to_string(letters) + " dimensions of operand " + std::to_string(i) +
                           ", which has " + std::to_string(ranks[i]));
    extra[i] = has_ellipsis ? ranks[i] - letters : 0;
    longest = std::max(longest, extra[i]);
  }
  if (longest > 10) reject(equation, "stands for more than ten dimensions by its ellipsis");
  std::map<char, int> times;
  for (size_t i = 0; i < ranks.size(); ++i) {
    inputs[i] = without_ellipsis(equation, inputs[i], extra[i], longest);
    for (char letter : inputs[i]) ++times[letter];
  }
  if (arrow != std::string::npos) {
    output = without_ellipsis(equation, equation.substr(arrow + 2), longest, longest);
  } else {
    for (const auto& [letter, count] : times)
      if (isdigit(letter) || count == 1) output += letter;
  }
  for (char letter : output) {
    if (!times.count(letter)) reject(equation, std::string("has ") + letter + " in its result alone");
    if (std::count(output.begin(), output.end(), letter) > 1)
      reject(equation, std::string("has ") + letter + " twice in its result");
  }
  for (const auto& [letter, count] : times)
    if (output.find(letter) == std::string::npos) summed += letter;
}

namespace {

std::map<char, PrimExpr> extents_of(const Einsum& einsum, const std::vector<Array<PrimExpr>>& shapes) {
  std::map<char, PrimExpr> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      PrimExpr extent = shapes[i][d];
      PrimExpr& known = out[einsum.inputs[i][d]];
      if (!known || is_one(known) || known.as<AnyDim>()) {
        if (!known || !extent.as<AnyDim>()) known = extent;
        continue;
      }
      const int64_t *a = as_int(known), *b = as_int(extent);
      if (a && b && *a != *b && *b != 1)
        throw Error(TypeError) << "the dimension " << einsum.inputs[i][d] << " of an equation has the extents " << known
                               << " and " << extent;
      if (!a && b && *b != 1) known = extent;
    }
  }
  return out;
}

}  // namespace

Array<PrimExpr> einsum_shape(const Einsum& einsum, const std::vector<Array<PrimExpr>>& shapes) {
  std::map<char, PrimExpr> extents = extents_of(einsum, shapes);
  Array<PrimExpr> out;
  for (char letter : einsum.output) out.push_back(extents[letter]);
  return out;
}

te::Tensor einsum(const std::string& equation, const Array<te::Tensor>& operands) {
  std::vector<size_t> ranks;
  std::vector<Array<PrimExpr>> shapes;
  for (const te::Tensor& operand : operands) ranks.push_back(operand->shape.size()), shapes.push_back(operand->shape);
  Einsum parsed(equation, ranks);
  std::map<char, PrimExpr> extents = extents_of(parsed, shapes), index_of;
  Array<IterVar> axes;
  for (char letter : parsed.summed) {
    PrimExpr extent = extents[letter];
    axes.push_back(te::reduce_axis(make_range(make_zero(extent.dtype()), extent), std::string(1, letter)));
    index_of[letter] = axes.back()->var;
  }
  return compute(
      einsum_shape(parsed, shapes), "ax",
      [&](const Indices& at) {
        for (size_t i = 0; i < at.size(); ++i) index_of[parsed.output[i]] = at[i];
        PrimExpr product;
        for (size_t i = 0; i < operands.size(); ++i) {
          Indices source;
          for (size_t d = 0; d < ranks[i]; ++d) {
            bool is_broadcast = is_one(shapes[i][d]) && !is_one(extents[parsed.inputs[i][d]]);
            source.push_back(is_broadcast ? make_zero(shapes[i][d].dtype()) : index_of[parsed.inputs[i][d]]);
          }
          PrimExpr element = te::load(operands[i], source);
          product = product ? product * element : element;
        }
        return axes.empty() ? product : te::sum(product, axes);
      },
      "T_einsum", "einsum");
}

te::Tensor stft(const te::Tensor& x, const te::Tensor& window, int size, int step, bool normalized,
                const Array<PrimExpr>& shape) {
  DataType dtype = x->dtype;
  const int64_t* length = as_int(window->shape[0]);
  if (!length) throw Error(ValueError) << "stft: the length of the window must be a constant";
  int first = static_cast<int>((size - *length) / 2);
  IterVar k = te::reduce_axis(make_range(PrimExpr(0), window->shape[0]), "k");
  double scale = normalized ? 1 / std::sqrt(static_cast<double>(size)) : 1;
  return compute(
      shape, "ax",
      [&](const Indices& at) {
        PrimExpr sample = k->var + PrimExpr(first);
        PrimExpr turn = floormod(at[1] * sample, PrimExpr(size));  // whole turns do not count
        PrimExpr angle = tessera::cast(dtype, turn) * make_const(dtype, 2 * std::numbers::pi / size);
        PrimExpr value = te::load(x, {at[0], at[2] * PrimExpr(step) + sample}) *
                         tessera::cast(dtype, te::load(window, {k->var})) * make_const(dtype, scale);
        PrimExpr wave = select(equal(at[3], PrimExpr(0)), unary_intrin("tir.cos", angle),
                               make_zero(dtype) - unary_intrin("tir.sin", angle));
        return te::sum(value * wave, {k});
      },
      "stft_generic", "stft_generic");
}

namespace {

Globals einsum_globals{
    {"topi.einsum", [](String equation, Array<te::Tensor> operands) { return einsum(equation.str(), operands); }},
    {"topi.stft", [](te::Tensor x, te::Tensor window, int size, int step, bool normalized,
                     Array<PrimExpr> shape) { return stft(x, window, size, step, normalized, shape); }},
};

}  // namespace
}  // namespace tessera::topi
