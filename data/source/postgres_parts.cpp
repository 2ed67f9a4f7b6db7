#include "data/source/postgres_parts.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ballast::data {

namespace {

// 8 MiB of a table: small enough that all connections have a part of a table of
// 100 MB, large enough that asking costs nothing.
constexpr uint64_t pages_of_part = 1024;
constexpr uint64_t page_parts_max = 16384;
constexpr uint64_t rows_of_part = 100'000;
// Without an index on the column each part reads everything.
constexpr uint64_t column_parts_max = 1024;

std::string doubled(const std::string& text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote)
      out += c;
  }
  return out + quote;
}

// The types that arrive as what they are.
bool arrives_whole(std::string_view type) {
  static constexpr std::array<std::string_view, 17> types = {
      "bool",      "int2",        "int4",   "int8", "float4",  "float8",
      "text",      "varchar",     "bpchar", "char", "name",    "bytea",
      "timestamp", "timestamptz", "date",   "time", "interval"};
  return std::find(types.begin(), types.end(), type) != types.end();
}

} // namespace

std::string quoted_name(const std::string& name) {
  return doubled(name, '"');
}

std::string quoted_text(const std::string& text) {
  // A backslash is itself in '...' unless a server is set up as of old.
  std::string out = doubled(text, '\'');
  if (text.find('\\') == std::string::npos)
    return out;
  std::string escaped = " E";
  for (const char c : out)
    escaped += c == '\\' ? std::string("\\\\") : std::string(1, c);
  return escaped;
}

std::string quoted_table(const std::string& table, const std::string& pointer) {
  std::vector<std::string> parts(1);
  bool inside = false;
  bool valid = true;
  for (size_t i = 0; i < table.size(); ++i) {
    const char c = table[i];
    if (c == '"' && inside && i + 1 < table.size() && table[i + 1] == '"')
      parts.back() += table[++i];
    else if (c == '"')
      inside = !inside;
    else if (c == '.' && !inside)
      parts.emplace_back();
    else
      parts.back() += c;
    valid = valid && c != '\0';
  }
  std::string out;
  for (const std::string& part : parts) {
    valid = valid && !part.empty();
    out += (out.empty() ? "" : ".") + quoted_name(part);
  }
  if (!valid || inside || parts.size() > 2)
    throw ballast_error(errc::invalid_job,
                        "expected the name of a table, as in orders or "
                        "sales.orders, found '" +
                            printable(table, 100) +
                            "'; write a name with a dot in double quotes",
                        pointer);
  return out;
}

std::string without_end(const std::string& query) {
  const size_t last = query.find_last_not_of(" \t\r\n;");
  return last == std::string::npos ? std::string() : query.substr(0, last + 1);
}

column_reading reading_of(const arrow::Field& field) {
  column_reading out;
  out.name = field.name();
  std::string type;
  if (const auto& metadata = field.metadata())
    type = metadata->Get("POSTGRESQL:type").ValueOr("");
  const std::string element = type.starts_with('_') ? type.substr(1) : "";
  if (arrives_whole(type) || arrives_whole(element))
    return out;
  std::string as;
  if (type == "numeric" || type == "money") {
    out.cast = type == "money" ? "::numeric::float8" : "::float8";
    as = "float64";
  } else if (element == "numeric") {
    out.cast = "::float8[]";
    as = "a list of float64";
  } else if (type == "oid" || type == "xid" || type == "cid") {
    out.cast = type == "oid" ? "::int8" : "::text::int8";
    as = "int64";
  } else {
    out.cast = "::text";
    as = "text";
  }
  // The driver knows the names of built-in types only.
  const std::string called = type.empty() || type.starts_with("unnamed")
                                 ? "of a type of its own"
                                 : printable(type, 64);
  out.note = "column '" + printable(out.name) + "' is " + called +
             " and is read as " + as;
  return out;
}

std::string select_list(const std::vector<column_reading>& columns,
                        const std::vector<int>& chosen) {
  std::string out;
  for (const int i : chosen) {
    const column_reading& one = columns[size_t(i)];
    const std::string name = quoted_name(one.name);
    out += (out.empty() ? "t." : ", t.") + name + one.cast + " as " + name;
  }
  return out;
}

postgres_parts postgres_parts::by_pages(uint64_t pages) {
  postgres_parts out;
  out.key_ = "t.ctid";
  out.pages_ = true;
  out.step_ = std::max(pages_of_part, pages / page_parts_max + 1);
  out.count_ = size_t(pages / out.step_ + 1);
  return out;
}

postgres_parts postgres_parts::by_column(const std::string& name, uint64_t rows,
                                         std::optional<int64_t> lowest,
                                         std::optional<int64_t> highest,
                                         bool nulls) {
  postgres_parts out;
  out.key_ = "t." + quoted_name(name);
  out.nulls_ = nulls;
  if (!lowest || !highest) { // nothing, or nothing but nulls
    out.nulls_ = true;
    return out;
  }
  const uint64_t wanted =
      std::clamp<uint64_t>(rows / rows_of_part, 1, column_parts_max);
  // Unsigned: the distance of two numbers may not fit into int64.
  const uint64_t distance = uint64_t(*highest) - uint64_t(*lowest);
  out.lowest_ = *lowest;
  out.step_ = std::max(distance / wanted, distance / wanted + 1);
  out.count_ = size_t(distance / out.step_ + 1) + (nulls ? 1 : 0);
  return out;
}

std::string postgres_parts::clause(size_t part) const {
  if (key_.empty())
    return {};
  if (pages_) {
    auto page = [&](uint64_t number) {
      return "'(" + std::to_string(number) + ",0)'::tid";
    };
    std::string out = " where " + key_ + " >= " + page(part * step_);
    if (part + 1 < count_) // what was added since is invisible anyway
      out += " and " + key_ + " < " + page((part + 1) * step_);
    return out;
  }
  if (nulls_ && part + 1 == count_)
    return " where " + key_ + " is null";
  const bool last = part + 1 + (nulls_ ? 1 : 0) == count_;
  auto from = [&](uint64_t number) {
    return std::to_string(int64_t(uint64_t(lowest_) + number * step_));
  };
  // '-9': an operator before a minus would take it for its own.
  std::string out = " where " + key_ + " >= '" + from(part) + "'::int8";
  if (!last)
    out += " and " + key_ + " < '" + from(part + 1) + "'::int8";
  return out + " order by " + key_;
}

} // namespace ballast::data
