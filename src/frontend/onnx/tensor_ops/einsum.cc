// Einsum: operands are contracted from left to right, each pair as a matmul.

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/importer.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/rule.h"

#include <algorithm>

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// A tensor whose dimensions have names. Those that "..." stands for are digits, counted from the right.
struct Named {
  Expr tensor;
  std::string axes;
  std::vector<PrimExpr> shape;
};

bool contains(const std::string& text, char letter) { return text.find(letter) != std::string::npos; }

Named named(Operation& in, const Expr& x, const std::string& term) {
  const Array<PrimExpr> shape = in.shape(x);
  Named out{x, "", {shape.begin(), shape.end()}};
  size_t dots = term.find("..."), letters = term.size() - (dots == std::string::npos ? 0 : 3);
  if (letters > out.shape.size() || (dots == std::string::npos && letters != out.shape.size()))
    in.invalid("the term " + term + " does not fit a tensor of " + std::to_string(out.shape.size()) + " dimensions");
  for (size_t i = 0; i < term.size(); ++i) {
    if (i != dots) {
      out.axes += term[i];
      continue;
    }
    for (size_t rest = out.shape.size() - letters; rest > 0; --rest) out.axes += static_cast<char>('0' + rest - 1);
    i += 2;
  }
  return out;
}

/// Keeps the diagonal where a name stands twice.
void take_diagonals(Operation& in, Named* x) {
  for (size_t i = 0; i < x->axes.size(); ++i)
    for (size_t j = x->axes.find(x->axes[i], i + 1); j != std::string::npos; j = x->axes.find(x->axes[i], i + 1)) {
      if (!may_equal(x->shape[i], x->shape[j])) in.invalid("the diagonal of dimensions that differ");
      auto positions = [&](size_t axis) {
        int behind = static_cast<int>(x->shape.size() - axis) - 1;
        Expr numbers = positions_along(in, x->tensor, static_cast<int>(axis));
        return behind ? expand_dims(numbers, 1, behind) : numbers;
      };
      Expr is_diagonal = equal(positions(i), positions(j));
      Expr kept = where(is_diagonal, x->tensor, make_scalar(0, in.dtype(x->tensor)));
      x->tensor = sum(kept, int_array({static_cast<int64_t>(j)}));
      x->axes.erase(j, 1);
      x->shape.erase(x->shape.begin() + static_cast<int64_t>(j));
    }
}

/// Sums over dimensions that nothing else needs.
void sum_away(Named* x, const std::string& needed) {
  std::vector<int64_t> gone;
  Named out{x->tensor, "", {}};
  for (size_t i = 0; i < x->axes.size(); ++i) {
    if (contains(needed, x->axes[i])) {
      out.axes += x->axes[i];
      out.shape.push_back(x->shape[i]);
    } else {
      gone.push_back(static_cast<int64_t>(i));
    }
  }
  if (!gone.empty()) out.tensor = sum(x->tensor, int_array(gone));
  *x = std::move(out);
}

/// Dimensions of extent one that the other broadcasts are left out.
void drop_ones(Named* x, const Named& other) {
  Named out{x->tensor, "", {}};
  std::vector<int64_t> gone;
  for (size_t i = 0; i < x->axes.size(); ++i) {
    size_t at = other.axes.find(x->axes[i]);
    if (is_one(x->shape[i]) && at != std::string::npos && !is_one(other.shape[at])) {
      gone.push_back(static_cast<int64_t>(i));
      continue;
    }
    out.axes += x->axes[i];
    out.shape.push_back(x->shape[i]);
  }
  if (!gone.empty()) out.tensor = squeeze(x->tensor, int_array(gone));
  *x = std::move(out);
}

PrimExpr extent_of(const Named& x, char letter) { return x.shape[x.axes.find(letter)]; }

void order(Named* x, const std::string& axes) {
  if (x->axes == axes) return;
  std::vector<int64_t> permutation;
  std::vector<PrimExpr> shape;
  for (char letter : axes) {
    permutation.push_back(static_cast<int64_t>(x->axes.find(letter)));
    shape.push_back(extent_of(*x, letter));
  }
  *x = Named{transpose(x->tensor, int_array(permutation)), axes, shape};
}

/// Groups of dimensions, each as one.
Expr grouped(Expr x, const std::vector<size_t>& sizes) {
  int at = 0;
  for (size_t size : sizes) {
    if (size == 0) x = expand_dims(x, at);
    else x = merged(x, at, at + static_cast<int>(size));
    ++at;
  }
  return x;
}

/// Dimension `at` of `x` as `count` dimensions of `like`, from `begin` on.
Expr ungrouped(const Expr& x, size_t at, const Named& like, size_t begin, size_t count) {
  if (count == 0) return squeeze(x, int_array({static_cast<int64_t>(at)}));
  if (count == 1) return x;
  return reshaped_as(x, static_cast<int>(at), static_cast<int>(at) + 1, like.tensor, static_cast<int>(begin),
                     static_cast<int>(begin + count));
}

/// Contracts two: shared dimensions that are needed later are the batch, the other shared ones are summed over.
Named contract(Operation& in, Named a, Named b, const std::string& needed) {
  sum_away(&a, needed + b.axes);
  sum_away(&b, needed + a.axes);
  drop_ones(&a, b);
  drop_ones(&b, a);
  std::string batch, inner, rows, columns;
  for (char letter : a.axes) {
    if (!contains(b.axes, letter)) rows += letter;
    else (contains(needed, letter) ? batch : inner) += letter;
  }
  for (char letter : b.axes)
    if (!contains(a.axes, letter)) columns += letter;
  for (char letter : batch + inner)
    if (!may_equal(extent_of(a, letter), extent_of(b, letter))) in.invalid("dimensions of one name differ");
  order(&a, batch + rows + inner);
  order(&b, batch + inner + columns);
  Named out{nullptr, batch + rows + columns, {}};
  for (char letter : batch + rows) out.shape.push_back(extent_of(a, letter));
  for (char letter : columns) out.shape.push_back(extent_of(b, letter));
  std::optional<std::vector<int64_t>> left = in.fixed_shape(a.tensor), right = in.fixed_shape(b.tensor);
  if (!left || !right) {
    Expr product = matmul_like_numpy(in, grouped(a.tensor, {batch.size(), rows.size(), inner.size()}),
                                     grouped(b.tensor, {batch.size(), inner.size(), columns.size()}));
    product = ungrouped(product, 2, b, batch.size() + inner.size(), columns.size());
    product = ungrouped(product, 1, a, batch.size(), rows.size());
    out.tensor = ungrouped(product, 0, a, 0, batch.size());
    return out;
  }
  auto count = [](const std::vector<int64_t>& shape, size_t begin, size_t size) {
    return product_of({shape.begin() + int64_t(begin), shape.begin() + int64_t(begin + size)});
  };
  size_t nb = batch.size(), nr = rows.size(), ni = inner.size(), nc = columns.size();
  std::vector<int64_t> result(left->begin(), left->begin() + int64_t(nb + nr));
  result.insert(result.end(), right->begin() + int64_t(nb + ni), right->end());
  Expr of_rows = reshape_to(a.tensor, {count(*left, 0, nb), count(*left, nb, nr), count(*left, nb + nr, ni)});
  Expr of_columns = reshape_to(b.tensor, {count(*right, 0, nb), count(*right, nb, ni), count(*right, nb + ni, nc)});
  out.tensor = reshape_to(matmul_like_numpy(in, of_rows, of_columns), result);
  return out;
}

Values einsum(Operation& in) {
  std::string equation = in.text("equation", "");
  std::erase_if(equation, [](char letter) { return letter == ' '; });
  size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (char letter : left) {
    if (letter == ',') terms.emplace_back();
    else terms.back() += letter;
  }
  if (terms.size() != in.size()) in.invalid("the equation has not as many terms as there are inputs");
  std::vector<Named> operands;
  std::string dots;
  for (size_t i = 0; i < terms.size(); ++i) {
    operands.push_back(named(in, in[i], terms[i]));
    std::string own;
    for (char letter : operands.back().axes)
      if (letter >= '0' && letter <= '9') own += letter;
    if (own.size() > dots.size()) dots = own;
    take_diagonals(in, &operands.back());
  }
  std::string result;
  if (arrow == std::string::npos) {  // all names that stand once, by the alphabet
    result = dots;
    std::string letters = left;
    std::sort(letters.begin(), letters.end());
    for (char letter : letters)
      if (std::isalpha(static_cast<unsigned char>(letter)) && std::count(left.begin(), left.end(), letter) == 1)
        result += letter;
  } else {
    result = equation.substr(arrow + 2);
    if (size_t at = result.find("..."); at != std::string::npos) result.replace(at, 3, dots);
  }
  Named out = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string needed = result;
    for (size_t j = i + 1; j < operands.size(); ++j) needed += operands[j].axes;
    out = contract(in, out, operands[i], needed);
  }
  sum_away(&out, result);
  for (char letter : result)
    if (!contains(out.axes, letter)) in.invalid(std::string("no input has the dimension ") + letter);
  order(&out, result);
  return {out.tensor};
}

}  // namespace

Rows einsum_rows() { return {{"Einsum", 12, einsum}}; }

}  // namespace tessera::onnx
