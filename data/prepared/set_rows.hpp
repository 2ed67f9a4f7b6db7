/// The rows of a prepared set as if its sources were read again: another set of
/// the same rows, placed or cut in another way, is made of them. Labels are in
/// memory; features stay where they are, which costs 4 bytes a row where that
/// is another order than the table's.
///
/// damaged_set: the set cannot be read; whoever has the sources reads these.
#pragma once

#include "data/prepared/chunk_writer.hpp"
#include "data/prepared/prepared_set.hpp"
#include "data/source/source_table.hpp"
#include "data/store/chunk_file.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ballast::data {

class damaged_set : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Holds the set as long as it lives. Any thread reads.
class set_source {
public:
  enum class samples : uint8_t { needed, not_needed };
  /// damaged_set.
  set_source(std::shared_ptr<const prepared_set> set, samples wanted);
  set_source(const set_source&) = delete;

  /// With the samples, if they are needed.
  const ledger::manifest& about() const { return about_; }
  const std::vector<ledger::chunk_info>& chunks(data_part part) const {
    return part == data_part::train ? about_.train : about_.test;
  }
  const chunk_files& files() const { return *files_; }
  std::filesystem::path folder() const { return set_->folder(); }
  std::filesystem::path path(data_part part) const {
    return set_->folder() / (to_string(part) + ".arrow");
  }

private:
  std::shared_ptr<const prepared_set> set_;
  ledger::manifest about_;
  std::optional<chunk_files> files_;
};

struct tables_of_set {
  source_table train;
  std::optional<source_table> test; // of a job that names one

  /// `test_apart`: the test set has a source of its own; else its rows are some
  /// of the only source. The shape of a row is that behind the pipeline.
  tables_of_set(const std::shared_ptr<const set_source>& set, bool test_apart,
                const write_options& how);
};

/// ballast_error{invalid_data} of reading a set becomes damaged_set.
template <class Work>
auto or_damaged(Work work) {
  try {
    return work();
  } catch (const ballast_error& error) {
    if (error.what_failed().code != errc::invalid_data)
      throw;
    throw damaged_set(error.what());
  }
}

} // namespace ballast::data
