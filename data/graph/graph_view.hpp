/// A job's data as a user sees it: the sources and nodes, who reads whom, with
/// which columns, and some rows. Reads the beginning of each source, so that
/// all that can be checked without reading the rows is. One thread; errors as
/// those of graph_stream.
#pragma once

#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

/// A source, or a node.
struct shown_node {
  std::string name; // of a split: of all its parts, "train, test"
  std::vector<std::string> parts;
  std::string what; // an operator, or a format
  std::vector<std::string> from;
  std::string detail; // its options, or where it is
  bool blocking = false;
  bool used = false; // by the training or the test set
  std::vector<std::pair<std::string, std::string>> columns; // name, type
  bool columns_are_learned = false; // so that `columns` has none yet
};

/// Sources first, then nodes, in order.
std::vector<shown_node> view_of(const job& what,
                                const store::work_watch& stop = {});

/// The first rows of a node or source, a JSON object in each line.
std::string first_rows(const job& what, const std::string& node, uint64_t count,
                       const store::work_watch& stop = {});

} // namespace ballast::data
