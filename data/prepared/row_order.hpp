/// How the rows of a set lie in its files, kept beside its manifest for sets
/// that are made of it: order.json, and of a graph's rows tested.rows.
#pragma once

#include "data/store/chunk.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

struct row_order {
  std::string train; // hashes: sets that have the same may share the file
  std::string test;
  /// Of a graph whose rows were divided into training and test set: which of
  /// them, as they came, went to the test set, ascending. Sample i is the i-th
  /// of the others. Nothing: they came in the order of their source rows.
  std::optional<std::vector<uint64_t>> tested = {};

  const std::string& of(data_part part) const {
    return part == data_part::train ? train : test;
  }
};

/// ballast_error as refuse_write().
void write_order(const std::filesystem::path& folder, const row_order& order);
/// Without `tested`; nothing: a set of an earlier build, or what is no order.
std::optional<row_order> read_order(const std::filesystem::path& folder);
/// Nothing: there is none. ballast_error{invalid_data}: it is damaged.
std::optional<std::vector<uint64_t>>
read_tested(const std::filesystem::path& folder);

} // namespace ballast::data
