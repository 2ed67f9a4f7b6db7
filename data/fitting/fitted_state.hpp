/// What an operator has learned from training rows: all that it needs to change
/// any other rows in the same way. A value; it is kept as two files, JSON that
/// can be read (which operator, on which columns of which types, how many rows,
/// which categories) and safetensors (the numbers, float64). Pure functions.
///
/// Errors: ballast_error{invalid_data} that names the file, or the column with
/// the type that was expected and the one that was found.
#pragma once

#include "runtime/graph/data_graph.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace arrow {
class Schema;
}

namespace ballast::data {

constexpr int state_version = 1;

/// A column that the operator was fitted on.
struct learned_column {
  std::string name;
  std::string type;     // as Arrow writes it
  uint64_t values = 0;  // of the training rows
  uint64_t missing = 0; // likewise
  std::vector<std::string> categories = {};
  std::map<std::string, std::vector<double>> numbers = {};
  /// How far the rank of a quantile may be off, as a part of all; 0: exact.
  double quantile_error = 0;
  /// Whether the operator keeps it; of one that selects some.
  bool kept = true;
  /// Only learned from: rows that are changed need not have it.
  bool target = false;
  std::string note = {}; // what a user should know

  bool operator==(const learned_column&) const = default;
};

struct fitted_state {
  int version = state_version;
  graph::node what;  // operator and options; its names
  std::string name;  // of the node, for messages
  uint64_t rows = 0; // that it was fitted on; 0: it learns nothing
  uint64_t seed = 0; // of its draws
  std::vector<learned_column> columns; // in the order of reading, targets last
  std::map<std::string, std::vector<double>> numbers; // of all columns

  bool operator==(const fitted_state&) const = default;
};

/// The two files, and the SHA-256 of both, one after another, as 64 hex digits.
struct state_bytes {
  std::string json;
  std::string numbers;
};
state_bytes bytes_of(const fitted_state& state);
std::string hash_of(const state_bytes& bytes);
/// `name`: of the files, for messages. Refuses other versions and operators
/// that this build does not have.
fitted_state read_state(const state_bytes& bytes, const std::string& name);

/// Refuses a schema that lacks a column of the state, or has it with another
/// type. `where`: what begins the message, such as the node's pointer.
void check_schema(const fitted_state& state, const arrow::Schema& schema,
                  const std::string& where);

} // namespace ballast::data
