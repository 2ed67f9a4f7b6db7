/// Where the rows come from that feature_rows hands out: tables of named
/// columns, or images. One owner, one thread. Errors: as of feature_rows.hpp.
#pragma once

#include "data/inference/feature_rows.hpp"
#include "data/inference/trained_run.hpp"

#include <memory>
#include <string>

namespace ballast::data {

class row_supply {
public:
  virtual ~row_supply() = default;
  /// Puts some rows behind those that are there; false: there are no more.
  virtual bool add(labelled_features& to) = 0;
  /// As feature_rows has them.
  virtual std::string version() const = 0;
  virtual void check_unchanged() const = 0;
};

/// csv, parquet, jsonl, arrow, orc, by the nodes of the run's graph.
std::unique_ptr<row_supply> table_supply(const trained_run& of,
                                         const input_terms& terms);
/// A file of idx, a folder of images or archives of them; all labels are read
/// where there are some.
std::unique_ptr<row_supply> picture_supply(const trained_run& of,
                                           const input_terms& terms);

} // namespace ballast::data
