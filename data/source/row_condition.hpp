/// Which rows of a source are taken: the job's `where`. Its mistakes name the
/// field of the job. Includes Arrow; for source files of data/ only.
#pragma once

#include "data/expression/expression.hpp"
#include "runtime/job/job_words.hpp"

#include <arrow/type_fwd.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class record_stream;

class row_condition {
public:
  /// `pointer`: of the field. ballast_error{invalid_job}.
  row_condition(const std::string& text, std::string pointer);

  /// Of the columns that it reads, their indices in a file's schema. Checks all
  /// that can be checked before a row is read: ballast_error{invalid_job,
  /// invalid_data}, which names the file unless that is empty.
  std::vector<int> columns(const std::shared_ptr<arrow::Schema>& of,
                           const std::string& file = {}) const;
  /// For batches with these columns of the file, which must hold those that it
  /// reads.
  bound_expression bind(const arrow::Schema& of,
                        const std::vector<int>& columns,
                        const std::string& file = {}) const;

  /// Of a file whose columns have no types: those that the condition reads are
  /// read as in the files before, and one of which no cell says what it is as
  /// the condition wants it. `fixed`: columns whose types are known.
  void read_alike(record_stream& file, const std::vector<size_t>& fixed);
  /// The types of those columns there, a letter for each; empty where columns
  /// have types.
  std::string types_of(record_stream& file) const;
  /// Whether that is how the files before were read.
  bool is_read_alike(const std::string& types) const;

private:
  template <class Work>
  auto of_file(const std::string& file, Work work) const;
  bool fits(record_stream& file) const;

  std::string pointer_;
  expression what_;
  std::map<std::string, column_type> types_; // of the files before
};

} // namespace ballast::data
