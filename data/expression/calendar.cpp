#include "data/expression/calendar.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace ballast::data {

namespace {

constexpr int64_t second = 1'000'000; // in microseconds
constexpr int64_t day = 86'400 * second;

/// Takes exactly `digits` digits off the front.
bool take_number(std::string_view& text, size_t digits, int& out) {
  if (text.size() < digits)
    return false;
  out = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9')
      return false;
    out = 10 * out + (c - '0');
  }
  text.remove_prefix(digits);
  return true;
}

bool take_sign(std::string_view& text, char sign) {
  if (!text.starts_with(sign))
    return false;
  text.remove_prefix(1);
  return true;
}

bool take_date(std::string_view& text, int32_t& days) {
  int year = 0;
  int month = 0;
  int day_of_month = 0;
  if (!take_number(text, 4, year) || !take_sign(text, '-') ||
      !take_number(text, 2, month) || !take_sign(text, '-') ||
      !take_number(text, 2, day_of_month))
    return false;
  const std::chrono::year_month_day date{
      std::chrono::year(year), std::chrono::month(unsigned(month)),
      std::chrono::day(unsigned(day_of_month))};
  if (!date.ok() || year < 1)
    return false;
  days = int32_t(std::chrono::sys_days(date).time_since_epoch().count());
  return true;
}

bool take_hour_and_minute(std::string_view& text, int64_t& out) {
  int hour = 0;
  int minute = 0;
  if (!take_number(text, 2, hour) || !take_sign(text, ':') ||
      !take_number(text, 2, minute) || hour > 23 || minute > 59)
    return false;
  out = (hour * 60 + minute) * 60 * second;
  return true;
}

bool take_fraction(std::string_view& text, int64_t& out) {
  size_t digits = 0;
  for (int64_t unit = second / 10;
       !text.empty() && text[0] >= '0' && text[0] <= '9' && unit > 0;
       unit /= 10, ++digits) {
    out += (text[0] - '0') * unit;
    text.remove_prefix(1);
  }
  return digits > 0;
}

bool take_time_of_day(std::string_view& text, int64_t& out) {
  if (!take_hour_and_minute(text, out))
    return false;
  if (!take_sign(text, ':'))
    return true;
  int seconds = 0;
  if (!take_number(text, 2, seconds) || seconds > 59)
    return false;
  out += seconds * second;
  return !take_sign(text, '.') || take_fraction(text, out);
}

} // namespace

bool read_date(std::string_view text, literal_date& out) {
  return take_date(text, out.days) && text.empty();
}

bool read_time(std::string_view text, literal_time& out) {
  int32_t days = 0;
  int64_t of_day = 0;
  int64_t east = 0;
  if (!take_date(text, days))
    return false;
  if ((take_sign(text, ' ') || take_sign(text, 'T')) &&
      !take_time_of_day(text, of_day))
    return false;
  out.zoned = true;
  if (take_sign(text, '+')) {
    if (!take_hour_and_minute(text, east))
      return false;
  } else if (take_sign(text, '-')) {
    if (!take_hour_and_minute(text, east))
      return false;
    east = -east;
  } else {
    out.zoned = take_sign(text, 'Z');
  }
  out.microseconds = days * day + of_day - east;
  // A zone must not lead out of the years that are printed with four digits.
  static constexpr int64_t first = -719'162 * day; // 0001-01-01
  static constexpr int64_t end = 2'932'897 * day;  // 10000-01-01
  return text.empty() && out.microseconds >= first && out.microseconds < end;
}

std::string print_date(const literal_date& date) {
  const std::chrono::year_month_day ymd{
      std::chrono::sys_days(std::chrono::days(date.days))};
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%04d-%02u-%02u", int(ymd.year()),
                unsigned(ymd.month()), unsigned(ymd.day()));
  return out.data();
}

std::string print_time(const literal_time& time) {
  int64_t days = time.microseconds / day;
  int64_t rest = time.microseconds % day;
  if (rest < 0) {
    rest += day;
    --days;
  }
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), " %02d:%02d:%02d.%06d",
                int(rest / (3600 * second)), int(rest / (60 * second) % 60),
                int(rest / second % 60), int(rest % second));
  std::string text = out.data();
  if (rest % second == 0)
    text.resize(text.find('.'));
  return print_date({int32_t(days)}) + text + (time.zoned ? "Z" : "");
}

} // namespace ballast::data
