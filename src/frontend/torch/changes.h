#pragma once
// What a graph inside a node changes of what is seen outside of it: branches and loops make values of that.

#include "frontend/torch/scope.h"

namespace tessera::torch {

/// Notes what is changed while it lives, and then undoes it, unless it was committed.
class JournalScope {
 public:
  explicit JournalScope(Importer& importer) : importer_(importer), outer_(importer.journal) {
    importer.journal = &changes;
  }
  ~JournalScope() {
    undo();
    importer_.journal = outer_;
  }
  JournalScope(const JournalScope&) = delete;
  JournalScope& operator=(const JournalScope&) = delete;
  /// Everything is as it was.
  void undo();
  /// The changes stay, and the journal around this one has them.
  void commit();

  Journal changes;

 private:
  Importer& importer_;
  Journal* outer_;
};

/// Tensors and numbers in values, lists opened, as expressions.
void open_values(const Operation& in, const Values& values, std::vector<Expr>* out);
/// Values like these with other expressions.
Values close_values(const Values& like, const std::vector<Expr>& tensors, size_t* next);
/// Whether those expressions mean the same in both: lists have equal lengths, texts are equal.
bool have_same_form(const Value& a, const Value& b);
/// A value that nobody looks at, in the form of another.
Value unused_like(const Operation& in, const Value& like);

/// What one of two graphs did, seen when it ended.
class Outcome {
 public:
  Outcome(const Operation& in, const Visible& outside, Values results, const Journal& changes);

 private:
  friend Values merged(const Operation& in, const Expr& condition, const Outcome& yes, const Outcome& no);
  struct Seen {
    Value value;
    Expr now;
    std::vector<Seen> items;
  };
  friend class Merge;
  static Seen seen(const Operation& in, const Value& value);

  std::vector<Seen> results_;
  std::vector<std::pair<std::shared_ptr<Cell>, Expr>> tensors_;
  std::vector<Seen> lists_;  // with the lists themselves
};

/// The results of one or the other, as the condition says; what they changed is changed. Both must have been undone.
Values merged(const Operation& in, const Expr& condition, const Outcome& yes, const Outcome& no);

}  // namespace tessera::torch
