/// The rows of a prepared set as if its sources were read again: another set of
/// the same rows, placed or cut in another way, is made of them. In memory if
/// they fit; else they stay where they are, and each costs 4 bytes beside its
/// label for its place there. Holds the set as long as it lives.
///
/// damaged_set: the set cannot be read; whoever has the sources reads these.
#pragma once

#include "data/prepared/chunk_writer.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/source/source_table.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace ballast::data {

class damaged_set : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct tables_of_set {
  source_table train;
  std::optional<source_table> test; // of a job that names one

  /// `test_apart`: the test set has a source of its own; else its rows are some
  /// of the only source. The shape of a row is that behind the pipeline.
  tables_of_set(std::shared_ptr<const prepared_set> set, bool test_apart,
                const write_options& how);
};

} // namespace ballast::data
