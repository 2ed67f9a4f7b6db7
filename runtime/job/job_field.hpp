/// The description of one job field: its place in the JSON document, its place
/// in the struct, its type, bounds and documentation. The list of all of them
/// (job_fields) is the only source of parsing, defaults, validation, `--set`,
/// JSON Schema and the job reference. Pure values.
#pragma once

#include "runtime/job/job.hpp"

#include <functional>
#include <limits>
#include <variant>

namespace ballast {

/// The member of the job that stores the value; its type is the type of the
/// field. monostate: the value is fixed and nothing is stored.
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

/// What a text means.
enum class text_kind : uint8_t {
  plain,
  name,         // letters, digits, . _ -; becomes part of a folder's name
  path,         // relative paths are resolved against the folder of the job
  uri,          // a path, glob or file:// URI; relative paths as above
  path_or_word, // a word of `allowed`, else a path
};

struct job_field {
  std::string pointer; // of the field; list items by index
  field_access at;
  std::string doc; // one sentence or two, for the reference and the schema

  field_range range;
  /// Bounds of a list's length; for a table (a list of lists) they hold for
  /// both.
  size_t items_min = 0;
  size_t items_max = 4096;
  /// Accepted texts (empty: any), and texts that a later version accepts; all
  /// others are mistakes. With `later_open`, any other text counts as one of a
  /// later version.
  std::vector<std::string> allowed;
  std::vector<std::string> later;
  bool later_open = false;
  text_kind text = text_kind::plain;
  bool required = false;
  /// Overrides the value of a default-constructed struct.
  nlohmann::json default_value;
  /// The field exists only if the sibling key `when` has one of the values
  /// `when_is`, or if the sibling key `without` is absent.
  std::string when;
  std::vector<std::string> when_is;
  std::string without;

  // Builder functions, so that the table reads as sentences.
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

/// Appends a field; the returned reference is valid until the next append.
job_field& add_field(std::vector<job_field>& fields, std::string pointer,
                     field_access at, std::string doc);

/// The properties of a document that determine which fields exist.
struct job_form {
  bool test = false;         // has data.test
  size_t pipeline_steps = 0; // length of data.pipeline
};

/// Every field of a job of this form; a selector comes before the fields that
/// it selects.
std::vector<job_field> job_fields(const job_form& form);
/// A part of the table, in a file of its own to bound file sizes.
void add_data_fields(std::vector<job_field>& fields, const job_form& form);

// -- one field at a time (job_value.cpp) --------------------------------------

/// "an integer from 1 to 64", "one of 'sgd', 'adam', 'adamw'", ...
std::string allowed_values(const job_field& field);
/// The type in terms of JSON Schema: "integer", "number", "string", "boolean",
/// "array"; with `of_item` the type of a list's items.
std::string json_type(const job_field& field, bool of_item = false);
bool is_nullable(const job_field& field);
/// A list of lists.
bool is_table(const job_field& field);
/// A text that defaults to "".
bool may_be_empty(const job_field& field);

/// Stores `value`; returns the mistakes, in which case nothing is stored.
std::vector<failure> store_value(const job_field& field,
                                 const nlohmann::json& value, job& into);
/// The value in `from`, which is not changed.
nlohmann::json load_value(const job_field& field, job& from);
nlohmann::json default_of(const job_field& field);

/// The last part of a pointer, and the part before it.
std::string key_of(const std::string& pointer);
std::string parent_of(const std::string& pointer);
/// The value at the pointer, or null.
const nlohmann::json* find_value(const nlohmann::json& document,
                                 const std::string& pointer);
/// Whether the field exists in this document, according to `when` and
/// `without`.
bool applies(const job_field& field, const std::vector<job_field>& fields,
             const nlohmann::json& document);

// -- the document as a whole
// ---------------------------------------------------

/// Applies --set strings to a document (job_set.cpp).
failure apply_sets(const std::vector<std::string>& sets,
                   nlohmann::json& document);
/// The rules that involve several fields (job_rules.cpp). A rule is skipped if
/// one of its fields has a mistake already.
void check_rules(const job& in, std::vector<failure>& mistakes);
/// Makes relative paths absolute against `base_folder` (job_rules.cpp).
void resolve_paths(const std::vector<job_field>& fields,
                   const std::string& base_folder, job& in);

} // namespace ballast
