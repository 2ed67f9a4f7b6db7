/// How many rows each source and node of a graph has given, so that a user whom
/// nothing is left is told where the rows ended. The streams count; any thread.
#pragma once

#include "data/operators/operator_context.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace ballast::data {

class node_counts {
public:
  /// All rows of a split, before they are divided.
  static constexpr size_t all_parts = SIZE_MAX;

  /// Where one stream of `what` counts: of several, as where two nodes read a
  /// source, each gives the same rows.
  std::shared_ptr<rows_given> of(const graph::output& what);

  /// `what` gave no row: throws ballast_error{invalid_data} at the node, or the
  /// source, that gave none of what came in. `left_out`: rows that were left
  /// out because something is wrong with them, by the last of which `last`
  /// says.
  [[noreturn]] void refuse_no_rows(const data_spec& data,
                                   const graph::wiring& wires,
                                   graph::output what, uint64_t left_out,
                                   const std::string& last) const;

  uint64_t rows(const graph::output& what) const;

private:
  using key = std::tuple<bool, size_t, size_t>;
  static key key_of(const graph::output& what) {
    return {what.of_source, what.index, what.port};
  }
  bool is_empty(const graph::output& what) const;

  /// Of the streams of an output, what the longest has given.
  struct output_counts {
    uint64_t rows = 0; // of those that are no more
    bool ended = false;
    std::vector<std::shared_ptr<rows_given>> streams = {};
  };
  output_counts find(const graph::output& what) const;
  static output_counts longest(const output_counts& of);

  mutable std::mutex mutex_; // guards the map: a repeat begins nodes again
  std::map<key, output_counts> counts_;
};

} // namespace ballast::data
