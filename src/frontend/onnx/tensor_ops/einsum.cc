// Einsum: operands are contracted from left to right, each pair as a matmul.

#include "frontend/common/parts.h"
#include "frontend/onnx/importer.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// A tensor whose dimensions have names. Those that "..." stands for are digits, counted from the right.
struct Named {
  Expr tensor;
  std::string axes;
  std::vector<int64_t> shape;
};

bool contains(const std::string& text, char letter) { return text.find(letter) != std::string::npos; }

Named named(Operation& in, const Expr& x, const std::string& term) {
  Named out{x, "", in.static_shape(x, "Einsum")};
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
      if (x->shape[i] != x->shape[j]) in.invalid("the diagonal of dimensions that differ");
      std::vector<int64_t> row(x->shape.size(), 1), column(x->shape.size(), 1), numbers;
      row[i] = x->shape[i];
      column[j] = x->shape[i];
      for (int64_t k = 0; k < x->shape[i]; ++k) numbers.push_back(k);
      Expr is_diagonal = equal(reshape_to(make_ints(numbers), row), reshape_to(make_ints(numbers), column));
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
  for (size_t i = 0; i < x->axes.size(); ++i) {
    size_t at = other.axes.find(x->axes[i]);
    if (x->shape[i] == 1 && at != std::string::npos && other.shape[at] != 1) continue;
    out.axes += x->axes[i];
    out.shape.push_back(x->shape[i]);
  }
  if (out.axes.size() != x->axes.size()) out.tensor = reshape_to(x->tensor, out.shape);
  *x = std::move(out);
}

int64_t extent_of(const Named& x, char letter) { return x.shape[x.axes.find(letter)]; }

void order(Named* x, const std::string& axes) {
  if (x->axes == axes) return;
  std::vector<int64_t> permutation, shape;
  for (char letter : axes) {
    permutation.push_back(static_cast<int64_t>(x->axes.find(letter)));
    shape.push_back(extent_of(*x, letter));
  }
  *x = Named{transpose(x->tensor, int_array(permutation)), axes, shape};
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
  auto count = [&](const Named& x, const std::string& letters) {
    int64_t out = 1;
    for (char letter : letters) out *= extent_of(x, letter);
    return out;
  };
  for (char letter : batch + inner)
    if (extent_of(a, letter) != extent_of(b, letter)) in.invalid("dimensions of one name differ");
  order(&a, batch + rows + inner);
  order(&b, batch + inner + columns);
  Named out{nullptr, batch + rows + columns, {}};
  for (char letter : batch + rows) out.shape.push_back(extent_of(a, letter));
  for (char letter : columns) out.shape.push_back(extent_of(b, letter));
  Expr left = reshape_to(a.tensor, {count(a, batch), count(a, rows), count(a, inner)});
  Expr right = reshape_to(b.tensor, {count(b, batch), count(b, inner), count(b, columns)});
  out.tensor = reshape_to(matmul_like_numpy(in, left, right), out.shape);
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
