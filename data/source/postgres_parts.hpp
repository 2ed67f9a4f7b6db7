/// How rows are asked of PostgreSQL: names in quotes, types that Arrow has no
/// numbers for, and the parts into which a result is divided so that several
/// connections can read it. Text only; includes Arrow, for source files of
/// data/ only. Pure.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

/// "a""b" for a"b.
std::string quoted_name(const std::string& name);
/// 'a''b' for a'b.
std::string quoted_text(const std::string& text);
/// "schema"."name" for schema.name; a part that holds a dot is written in
/// double quotes. ballast_error{invalid_job} at `pointer` for anything else.
std::string quoted_table(const std::string& table, const std::string& pointer);

/// A query without the blanks and semicolons at its end, so that it can stand
/// in brackets.
std::string without_end(const std::string& query);

/// How a column is read, by the type that PostgreSQL tells.
struct column_reading {
  std::string name;
  std::string cast; // "::float8"; empty if it is read as it is
  std::string note; // what the user should know about it
};
column_reading reading_of(const arrow::Field& field);

/// "t."a"::float8 as "a", ..." of these columns.
std::string select_list(const std::vector<column_reading>& columns,
                        const std::vector<int>& chosen);

/// The parts of a result in their order; each row is in one of them.
class postgres_parts {
public:
  /// All at once.
  postgres_parts() = default;
  /// A table by its pages, in the order in which a plain scan reads them.
  static postgres_parts by_pages(uint64_t pages);
  /// By an integer column, in its order; nulls last. The parts follow from the
  /// rows alone: as many as hold some 100,000 each, if its values are even.
  static postgres_parts by_column(const std::string& name, uint64_t rows,
                                  std::optional<int64_t> lowest,
                                  std::optional<int64_t> highest, bool nulls);

  size_t count() const { return count_; }
  /// " where ... order by ..." for rows called t.
  std::string clause(size_t part) const;

private:
  std::string key_; // t.ctid or t."column"; empty if all at once
  bool pages_ = false;
  bool nulls_ = false;
  int64_t lowest_ = 0;
  uint64_t step_ = 0; // pages or values of a part
  size_t count_ = 1;
};

} // namespace ballast::data
