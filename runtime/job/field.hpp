/// One described field of a document that users write: where it stands in the
/// JSON, where in the struct that holds it, and everything there is to say
/// about it. A table of fields is the one source of parsing, defaults, errors
/// with their pointer, JSON Schema and documentation; jobs (job_field.hpp) and
/// control messages (messages/control_request.hpp) have such tables. Pure
/// values; mistakes are returned as failures.
#pragma once

#include "runtime/base/check.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/job/list_or_word.hpp"
#include "runtime/job/number_or_word.hpp"
#include "runtime/job/word_place.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace ballast {

struct job;

/// Where a value lives in a struct; its type is the type of the field.
/// monostate: the value is fixed, there is nothing to store. A map: an object
/// of texts by any names. job*: an object that is read by the table of jobs.
using field_place =
    std::variant<std::monostate, bool*, int*, uint32_t*, uint64_t*, double*,
                 std::string*, word_place, std::optional<bool>*,
                 std::optional<double>*, std::optional<uint64_t>*,
                 std::optional<std::string>*, std::vector<std::string>*,
                 std::vector<uint32_t>*, std::vector<double>*,
                 std::vector<std::vector<double>>*, list_or_word,
                 number_or_word, std::map<std::string, std::string>*, job*>;

/// The struct that a document is read into. Tables of different structs have
/// one type, so this one remembers which struct it refers to.
class object_ref {
public:
  template <class T>
  requires(!std::is_same_v<std::remove_const_t<T>, object_ref>)
      object_ref(T& object)
      : object_(&object), type_(&typeid(T)) {} // NOLINT
  template <class T>
  T& as() const {
    BALLAST_CHECK(*type_ == typeid(T), "a field of another struct");
    return *static_cast<T*>(object_);
  }

private:
  void* object_;
  const std::type_info* type_;
};

/// Bounds of a number, of each item of a list, or of the length of a text.
struct field_range {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool high_excluded = false;
};

/// The type of a value, as JSON Schema calls it.
enum class json_kind : uint8_t {
  boolean,
  integer,
  number,
  string,
  array,
  object,
};
template <>
inline constexpr auto words_of<json_kind> = std::to_array<std::string_view>(
    {"boolean", "integer", "number", "string", "array", "object"});

/// What a text is, beyond text.
enum class text_kind : uint8_t {
  plain,
  name,         // letters, digits, . _ -; becomes part of a folder's name
  path,         // relative: to the folder of the job file
  uri,          // a path, glob or file:// URI; relative paths as above
  place,        // a folder, or the URI of one, to write to; likewise
  path_or_word, // a word of `allowed`, else a path
};

struct field {
  std::string pointer; // of the field; list items have their index in it
  std::function<field_place(object_ref)> at;
  /// Hands a fresh struct to `use`, for the type of the field and its default.
  void (*with_fresh)(const std::function<void(object_ref)>& use) = nullptr;
  std::string doc; // one sentence or two, for the reference and the schema

  field_range range;
  /// Of a list; of a table (a list of lists) for both.
  size_t items_min = 0;
  size_t items_max = 4096;
  /// Of a list of texts or numbers: one alone stands for a list of it.
  bool one_or_list = false;
  /// Of an object of texts: its values may be any JSON, and are kept as text.
  bool json_values = false;
  /// Texts that are allowed (of an enum its words; else empty: any), and texts
  /// that a later version knows; others are mistakes. `later_open`: any other
  /// text is taken for something of a later version.
  std::vector<std::string> allowed;
  std::vector<std::string> later;
  bool later_open = false;
  text_kind text = text_kind::plain;
  bool required = false;
  /// The type is all that is checked, and null is no value: what the value may
  /// be depends on the run, which refuses it.
  bool type_only = false;
  errc mistake = errc::invalid_job; // code of a wrong value
  /// Instead of what a fresh struct holds.
  nlohmann::json default_value;
  /// The field exists only where the sibling key `when` has one of `when_is`,
  /// or where the sibling `without` is absent.
  std::string when;
  std::vector<std::string> when_is;
  std::string without;

  // Builder, so that the table reads as sentences.
  field& between(double low, double high);
  field& above(double low, double high); // low excluded
  field& below(double low, double high); // high excluded
  field& items(size_t least, size_t most);
  field& one_or_more();
  field& any_json();
  field& one_of(std::vector<std::string> texts);
  field& later_builds(std::vector<std::string> texts);
  field& is(text_kind kind);
  field& must();
  field& otherwise(nlohmann::json value);
  field& only_with(std::string key, std::vector<std::string> values);
  template <has_words Enum, std::same_as<Enum>... More>
  field& only_with(std::string key, Enum value, More... or_value) {
    return only_with(std::move(key),
                     std::vector{to_string(value), to_string(or_value)...});
  }
  field& only_without(std::string key);
  /// Allows the words of the field's type, if it has any.
  field& take_words();
};

/// Appends a field of `Object`, which `at` finds there; the reference holds
/// until the next is appended.
template <class Object, class Access>
field& append_field(std::vector<field>& fields, std::string pointer, Access at,
                    std::string doc) {
  field& out = fields.emplace_back();
  out.pointer = std::move(pointer);
  out.at = [at](object_ref object) { return at(object.as<Object>()); };
  out.with_fresh = [](const std::function<void(object_ref)>& use) {
    Object fresh{};
    use(fresh);
  };
  out.doc = std::move(doc);
  return out.take_words();
}

// -- one field at a time (field_value.cpp, field_schema.cpp) ------------------

/// "an integer from 1 to 64", "one of 'sgd', 'adam', 'adamw'", ...
std::string allowed_values(const field& of);
/// Of the items of a list with `of_item`.
json_kind json_type(const field& of, bool of_item = false);
bool is_nullable(const field& of);
bool is_table(const field& of); // a list of lists
bool has_word(const field& of); // number or list, or that
/// A text that is "" where nothing is given.
bool may_be_empty(const field& of);

/// Stores `value`; returns what is wrong with it (then nothing is stored).
std::vector<failure> store_value(const field& of, const nlohmann::json& value,
                                 object_ref into);
/// The value in `from`, which stays as it is.
nlohmann::json load_value(const field& of, object_ref from);
nlohmann::json default_of(const field& of);
/// JSON Schema of the field's value.
nlohmann::json field_schema(const field& of);

/// Last part of a pointer, and what stands before it.
std::string key_of(const std::string& pointer);
std::string parent_of(const std::string& pointer);
/// The value there, or null if there is none.
const nlohmann::json* find_value(const nlohmann::json& document,
                                 const std::string& pointer);
/// Whether the field exists in this document, going by `when` and `without`.
bool applies(const field& of, const std::vector<field>& fields,
             const nlohmann::json& document);

} // namespace ballast
