/// One described field of the job: where it stands in the JSON document, where
/// in the struct, and everything that is to be said about it. The list of all
/// of them (job_fields) is the one source of parsing, defaults, validation,
/// `--set`, JSON Schema and the job reference. Pure values.
#pragma once

#include "runtime/job/job.hpp"

#include <functional>
#include <limits>
#include <variant>

namespace ballast {

/// Where a value lives in a job; its type is the type of the field.
/// monostate: the value is fixed, there is nothing to store.
using field_place =
    std::variant<std::monostate, bool*, int*, uint32_t*, uint64_t*, double*,
                 std::string*, std::optional<double>*, std::optional<uint64_t>*,
                 std::vector<std::string>*, std::vector<uint32_t>*,
                 std::vector<double>*, std::vector<std::vector<double>>*>;
using field_access = std::function<field_place(job&)>;

/// Bounds of a number, of each item of a list, or of the length of a text.
struct field_range {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool high_excluded = false;
};

/// What a text is, beyond text.
enum class text_kind : uint8_t {
  plain,
  name,         // letters, digits, . _ -; becomes part of a folder's name
  path,         // relative: to the folder of the job file
  uri,          // a path, glob or file:// URI; relative paths as above
  path_or_word, // a word of `allowed`, else a path
};

struct job_field {
  std::string pointer; // of the field; list items have their index in it
  field_access at;
  std::string doc; // one sentence or two, for the reference and the schema

  field_range range;
  /// Of a list; of a table (a list of lists) for both.
  size_t items_min = 0;
  size_t items_max = 4096;
  /// Texts that are allowed (empty: any), and texts that a later version
  /// knows; others are mistakes. `later_open`: any other text is taken for
  /// something of a later version.
  std::vector<std::string> allowed;
  std::vector<std::string> later;
  bool later_open = false;
  text_kind text = text_kind::plain;
  bool required = false;
  /// Instead of what a fresh struct holds.
  nlohmann::json default_value;
  /// The field exists only where the sibling key `when` has one of `when_is`,
  /// or where the sibling `without` is absent.
  std::string when;
  std::vector<std::string> when_is;
  std::string without;

  // Builder, so that the table reads as sentences.
  job_field& between(double low, double high);
  job_field& above(double low, double high); // low excluded
  job_field& below(double low, double high); // high excluded
  job_field& items(size_t least, size_t most);
  job_field& one_of(std::vector<std::string> now,
                    std::vector<std::string> in_later_builds = {});
  job_field& is(text_kind kind);
  job_field& must();
  job_field& otherwise(nlohmann::json value);
  job_field& only_with(std::string key, std::vector<std::string> values);
  job_field& only_without(std::string key);
};

/// Appends a field; the reference holds until the next is appended.
job_field& add_field(std::vector<job_field>& fields, std::string pointer,
                     field_access at, std::string doc);

/// What of a job's form decides which fields there are.
struct job_form {
  bool test = false;         // has data.test
  size_t pipeline_steps = 0; // length of data.pipeline
};

/// Every field of a job of this form; selectors stand before what they select.
std::vector<job_field> job_fields(const job_form& form);
/// A part of it, kept apart for the size of the files.
void add_data_fields(std::vector<job_field>& fields, const job_form& form);

// -- one field at a time (job_value.cpp) --------------------------------------

/// "an integer from 1 to 64", "one of 'sgd', 'adam', 'adamw'", ...
std::string allowed_values(const job_field& field);
/// The type as JSON Schema calls it: "integer", "number", "string", "boolean",
/// "array"; of the items of a list with `of_item`.
std::string json_type(const job_field& field, bool of_item = false);
bool is_nullable(const job_field& field);
/// A list of lists.
bool is_table(const job_field& field);
/// A text that is "" where nothing is given.
bool may_be_empty(const job_field& field);

/// Stores `value`; returns what is wrong with it (then nothing is stored).
std::vector<failure> store_value(const job_field& field,
                                 const nlohmann::json& value, job& into);
/// The value in `from`, which stays as it is.
nlohmann::json load_value(const job_field& field, job& from);
nlohmann::json default_of(const job_field& field);

/// Last part of a pointer, and what stands before it.
std::string key_of(const std::string& pointer);
std::string parent_of(const std::string& pointer);
/// The value there, or null if there is none.
const nlohmann::json* find_value(const nlohmann::json& document,
                                 const std::string& pointer);
/// Whether the field exists in this document, going by `when` and `without`.
bool applies(const job_field& field, const std::vector<job_field>& fields,
             const nlohmann::json& document);

// -- the document as a whole
// ---------------------------------------------------

/// Applies --set strings to a document (job_set.cpp).
failure apply_sets(const std::vector<std::string>& sets,
                   nlohmann::json& document);
/// The rules that tie several fields together (job_rules.cpp). A rule is
/// silent where one of its fields has a mistake already.
void check_rules(const job& in, std::vector<failure>& mistakes);
/// Makes relative paths absolute against `base_folder` (job_rules.cpp).
void resolve_paths(const std::vector<job_field>& fields,
                   const std::string& base_folder, job& in);

} // namespace ballast
