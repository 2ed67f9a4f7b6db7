/// What to say of a line of JSON that Arrow's parser does not take: the column,
/// what was expected there, and what to do. Includes Arrow; for source files of
/// data/ only. A value; pure.
#pragma once

#include "data/source/json_block.hpp"

#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ballast::data {

struct json_advice {
  std::string pointer; // the job's source
  bool given = false;  // the columns are those of another file
  size_t told_by = 0;  // else of so many rows
  /// `words`: Arrow's; `schema`: null while it is looked for.
  json_complaint of(std::string_view line,
                    const std::shared_ptr<arrow::Schema>& schema,
                    const std::string& words) const;
  /// "the first 812 rows, which tell the columns, do".
  std::string those_who_tell() const;

private:
  std::string first_rows() const;
  std::string remedy(const arrow::Field& field, std::string_view line) const;
  json_complaint of_new_key(std::string_view line,
                            const arrow::Schema& schema) const;
  json_complaint of_words(const std::string& words) const;
};

} // namespace ballast::data
