/// A document beside the table of its fields: which keys it may have, what it
/// must have, and where its values go. One way for every document that users
/// write, so that all mistakes read alike: with their JSON pointer, and with
/// what was probably meant. Pure functions.
#pragma once

#include "runtime/job/field.hpp"

#include <string>
#include <vector>

namespace ballast {

/// A list of objects whose fields are described, one by one.
struct described_list {
  std::string pointer;
  size_t items_max = 0;
};

/// One kind of document, beside its fields.
struct document_kind {
  std::string name; // "job: expected an object, found 7"
  errc mistake = errc::invalid_job;
  /// Pointers of keys that are known though no field describes them.
  std::vector<std::string> also;
  std::vector<described_list> lists;
  /// ` in "pause"`: behind "unknown key" and "is required"; may be empty.
  std::string place;
  bool quotes_keys = false; // where the known ones are listed
};

/// Checks the keys of `document` and reads its fields into `into`. Selectors
/// stand before the fields that they select. Returns every mistake.
std::vector<failure> read_document(const document_kind& kind,
                                   const nlohmann::json& document,
                                   const std::vector<field>& fields,
                                   object_ref into);

/// "POINTER: expected an object, found 7".
failure wrong_type(const document_kind& kind, const std::string& pointer,
                   const std::string& expected, const nlohmann::json& found);
/// "; did you mean "pause"?", or nothing if no candidate is near.
std::string did_you_mean(const std::string& word,
                         const std::vector<std::string>& candidates);
/// "an integer from 1 to 64", `noun` with what a number may be.
std::string range_text(const field& of, const std::string& noun);
/// "one of 'sgd', 'adam'", "a path", ...: what a text may be.
std::string allowed_texts(const field& of);
/// "a", "b"
std::string quoted_list(const std::vector<std::string>& words);

} // namespace ballast
