/// New rows as a trained model wants them: read from a file, changed by the
/// nodes of the run's graph and what they have learned, the model's columns
/// taken by name; or images, as an evaluation of the run sees them. Every row
/// of the input comes out once, in its order. Includes no Arrow.
///
/// One owner, one thread. Errors: ballast_error{invalid_data} names file, row
/// and column; {invalid_job} of a graph or a format that takes no new rows;
/// {stopped}.
#pragma once

#include "data/inference/trained_run.hpp"
#include "store/work_watch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// Some rows, one after another.
struct labelled_features {
  size_t rows = 0;
  std::vector<float> features; // rows x row_shape.features
  /// Classes or targets; empty: nobody asked for them.
  std::vector<float> labels;
  /// The value of input_terms::by in each row; empty: nobody asked for it.
  std::vector<std::string> slices;
};

struct input_terms {
  std::string file;        // a path, a glob or a URI
  std::string format;      // a word of source_format; empty: by its name
  std::string labels_file; // of idx; empty: none is named
  bool labels = false;     // the label column is there, and read
  std::string by;          // of tables: a column that is read, too
  store::work_watch stop = {};
};

class feature_rows {
public:
  /// Looks at the columns; reads no more than it needs for that. `of` stays as
  /// long as this.
  feature_rows(const trained_run& of, const input_terms& terms);
  ~feature_rows();

  /// The next rows, so many unless they end; then fewer, or none.
  labelled_features next(size_t rows);
  /// Of all files, as far as they tell: their names, sizes and times.
  std::string version() const;
  /// The input is as it was when this was made; else ballast_error.
  void check_unchanged() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace ballast::data
