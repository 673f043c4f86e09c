#pragma once
// Tables of a FlatBuffer by the slots of their fields. Nothing of the file is trusted: what is read is checked first, by the
// library's verifier, which also bounds how many tables there are and how deep they are nested.

// Without it the headers need a library for numbers in texts, which no model has.
#define FLATBUFFERS_LOCALE_INDEPENDENT 0
#include <flatbuffers/flatbuffers.h>

#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::tflite {

[[noreturn]] inline void damaged(const char* how) {
  throw Error(ValueError) << "this is no TFLite model, or it is damaged: " << how;
}

/// Any table, as the verifier walks over it.
struct AnyTable : flatbuffers::Table {
  bool Verify(flatbuffers::Verifier& verifier) const { return VerifyTableStart(verifier) && verifier.EndTable(); }
};

class TableView {
 public:
  TableView(const AnyTable* table, flatbuffers::Verifier* verifier) : table_(table), verifier_(verifier) {}
  explicit operator bool() const { return table_ != nullptr; }

  /// A number; `otherwise` where the file leaves it out.
  template <class T>
  T number(int slot, T otherwise) const {
    if (!table_) return otherwise;
    if (!table_->VerifyField<T>(*verifier_, field(slot), alignof(T))) damaged("a number lies outside of the file");
    return table_->GetField<T>(field(slot), otherwise);
  }

  template <class T>
  std::vector<T> numbers(int slot) const {
    auto* vector = vector_at<T>(slot);
    std::vector<T> out;
    if (vector) out.assign(vector->data(), vector->data() + vector->size());
    return out;
  }

  /// Bytes of the file itself.
  std::string_view bytes(int slot) const {
    auto* vector = vector_at<uint8_t>(slot);
    return vector ? std::string_view(reinterpret_cast<const char*>(vector->data()), vector->size())
                  : std::string_view();
  }
  std::string_view text(int slot) const {
    auto* string = pointer<flatbuffers::String>(slot);
    if (string && !verifier_->VerifyString(string)) damaged("a text lies outside of the file");
    return string ? std::string_view(string->c_str(), string->size()) : std::string_view();
  }

  /// Null where the file leaves it out.
  TableView table(int slot) const {
    auto* inner = pointer<AnyTable>(slot);
    if (inner && !inner->Verify(*verifier_)) damaged("a table lies outside of the file");
    return {inner, verifier_};
  }
  std::vector<TableView> tables(int slot) const {
    using Tables = flatbuffers::Vector<flatbuffers::Offset<AnyTable>>;
    auto* vector = pointer<Tables>(slot);
    if (vector && (!verifier_->VerifyVector(vector) || !verifier_->VerifyVectorOfTables(vector)))
      damaged("a list of tables lies outside of the file, or there are too many");
    std::vector<TableView> out;
    if (vector)
      for (flatbuffers::uoffset_t i = 0; i < vector->size(); ++i) out.emplace_back(vector->Get(i), verifier_);
    return out;
  }

 private:
  static flatbuffers::voffset_t field(int slot) { return static_cast<flatbuffers::voffset_t>(4 + 2 * slot); }

  template <class T>
  const T* pointer(int slot) const {
    if (!table_) return nullptr;
    if (!table_->VerifyOffset(*verifier_, field(slot))) damaged("an offset points out of the file");
    return table_->GetPointer<const T*>(field(slot));
  }
  template <class T>
  const flatbuffers::Vector<T>* vector_at(int slot) const {
    auto* vector = pointer<flatbuffers::Vector<T>>(slot);
    if (vector && !verifier_->VerifyVector(vector)) damaged("a list of numbers lies outside of the file");
    return vector;
  }

  const AnyTable* table_;
  flatbuffers::Verifier* verifier_;
};

}  // namespace tessera::tflite
