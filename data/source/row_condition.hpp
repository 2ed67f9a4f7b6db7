/// Which rows of a source are taken: the job's `where`. Its mistakes name the
/// field of the job. Includes Arrow; for source files of data/ only.
#pragma once

#include "data/expression/expression.hpp"

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class row_condition {
public:
  /// `pointer`: of the field. ballast_error{invalid_job}.
  row_condition(const std::string& text, std::string pointer);

  /// Of the columns that it reads, their indices in a file's schema. Checks all
  /// that can be checked before a row is read: ballast_error{invalid_job,
  /// invalid_data}.
  std::vector<int> columns(const std::shared_ptr<arrow::Schema>& of) const;
  /// For batches with these columns of the file, which must hold those that it
  /// reads.
  bound_expression bind(const arrow::Schema& of,
                        const std::vector<int>& columns) const;

private:
  std::string pointer_;
  expression what_;
};

} // namespace ballast::data
