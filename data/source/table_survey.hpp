/// Looks at every row of a source with named columns that the job takes:
/// what each column holds, how the job uses it, and everything that a run would
/// refuse, all at once, with a change of the job that mends it. One thread;
/// memory O(columns), and a bit for each row where the job has a condition.
#pragma once

#include "data/source/source_table.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ballast::data {

/// Texts of a column that are told apart; of more, only that there are.
constexpr size_t surveyed_texts_max = 64;

/// A cell, and how a user finds it: "people.csv: row 12 (line 14)".
struct surveyed_cell {
  std::string place;
  std::string text;
};

enum class column_use : uint8_t { label, feature, balanced, left_out };
std::string to_string(column_use what);

struct column_survey {
  std::string name;
  column_use use = column_use::left_out;
  std::string why; // it is used so
  uint64_t missing = 0;
  uint64_t numbers = 0;
  uint64_t texts = 0;
  /// Numbers that are NaN, or do not fit into a float32.
  uint64_t unusable = 0;
  uint64_t misfits = 0; // that are not of the type that the job states
  bool numeric = false; // its first cell that is not missing is a number
  bool whole = true;    // all usable numbers are
  double least = 0;     // of the usable numbers
  double most = 0;
  std::string lacking;                   // the first file without it
  bool later = false;                    // that is the first of all
  std::map<std::string, uint64_t> words; // texts and how often, the first some
  surveyed_cell first_missing, first_text, first_number, first_unusable,
      first_misfit;
  /// What a run refuses, and why.
  std::vector<std::string> problems = {};
};

struct table_survey {
  std::string pointer; // of the source in the job
  std::vector<std::string> files;
  uint64_t rows = 0;
  std::vector<column_survey> columns; // in the order of the first file
  bool clean() const;
};

/// ballast_error: what cannot be read as a table at all, and columns of the job
/// that are not there. `request.label` and `request.pointer` count. With
/// `request.faults` rows that cannot be read are told there, and passed over.
table_survey survey(const source_spec& spec, const source_request& request);

/// Fields to put into the job at `pointer`, which then trains on what is sound;
/// null: nothing is wrong, or no change of the job mends it.
nlohmann::json fix_of(const source_spec& spec, const table_survey& found);

/// For people: a line for each column, then the problems, then the change.
std::string describe(const table_survey& found, const nlohmann::json& fix);
nlohmann::json to_json(const table_survey& found, const nlohmann::json& fix);

} // namespace ballast::data
