#include "data/expression/literal.hpp"

#include "data/expression/calendar.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace ballast::data {

literal_value read_number(const expression_source& source,
                          const expression_token& token, bool minus) {
  const char* const begin = token.text.data();
  const char* const end = begin + token.text.size();
  if (token.kind == token_kind::decimal) {
    double number = 0;
    if (std::from_chars(begin, end, number).ec != std::errc())
      refuse_at(source, token.at,
                describe(token) + " is beyond the range of float64");
    return minus ? -number : number;
  }
  constexpr uint64_t least = uint64_t{1} << 63; // without its sign
  uint64_t number = 0;
  if (std::from_chars(begin, end, number).ec != std::errc() ||
      (minus && number > least))
    refuse_at(source, token.at,
              describe(token) +
                  " is beyond the range of integers; write it with \".0\" for "
                  "a float64");
  if (minus)
    return int64_t(0 - number);
  if (number >= least)
    return number;
  return int64_t(number);
}

literal_value read_moment(const expression_source& source,
                          const expression_token& token, bool with_time) {
  if (with_time) {
    literal_time time;
    if (read_time(token.text, time))
      return time;
    refuse_at(source, token.at,
              "expected a timestamp such as '2026-01-31 12:00:00', with at "
              "most six digits of a second and Z or +02:00 for a zone, found " +
                  describe(token));
  }
  literal_date date;
  if (read_date(token.text, date))
    return date;
  refuse_at(source, token.at,
            "expected a date such as '2026-01-31', found " + describe(token));
}

std::string cast_type(const std::string& lower) {
  static constexpr std::array<std::pair<const char*, const char*>, 14> types{
      {{"int64", "int64"},
       {"int", "int64"},
       {"integer", "int64"},
       {"bigint", "int64"},
       {"float64", "float64"},
       {"float", "float64"},
       {"double", "float64"},
       {"text", "text"},
       {"string", "text"},
       {"varchar", "text"},
       {"date", "date"},
       {"timestamp", "timestamp"},
       {"bool", "bool"},
       {"boolean", "bool"}}};
  for (const auto& [written, meant] : types)
    if (lower == written)
      return meant;
  return {};
}

} // namespace ballast::data
