#include "data/resampling/sampling_targets.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace ballast::data {

namespace {

using graph::resampling_kind;
using nlohmann::json;

[[noreturn]] void refuse(const std::string& what) {
  throw ballast_error(errc::usage, "--option sampling_strategy: " + what);
}

std::optional<double> as_number(const std::string& text) {
  double out = 0;
  const auto read =
      std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    return std::nullopt;
  return out;
}

/// The strategies of one kind of method, for some rows.
class strategy_reader {
public:
  strategy_reader(const labelled_rows& rows, resampling_kind kind)
      : rows_(rows),
        kind_(kind == resampling_kind::both ? resampling_kind::over : kind),
        counts_(rows.names.size()) {
    for (const uint32_t one : rows.of_row)
      ++counts_[one];
    largest_ = std::ranges::max_element(counts_) - counts_.begin();
    smallest_ = std::ranges::min_element(counts_) - counts_.begin();
  }

  std::vector<class_target> read(const std::string& said) const {
    check_classes();
    const json value = parsed(said);
    if (value.is_number())
      return of_ratio(value.get<double>());
    if (value.is_object())
      return of_counts(value);
    if (value.is_array())
      return of_list(value);
    return of_word(value.is_string() ? value.get<std::string>() : said);
  }

private:
  bool over() const { return kind_ == resampling_kind::over; }

  /// Of a class that an object names twice JSON would keep the last number.
  static json parsed(const std::string& said) {
    std::set<std::string> names;
    const auto look = [&names](int depth, json::parse_event_t event,
                               const json& one) {
      if (event == json::parse_event_t::key && depth == 1 &&
          !names.insert(one.get<std::string>()).second)
        refuse_twice(one.get<std::string>());
      return true;
    };
    return json::parse(said, look, false);
  }

  [[noreturn]] static void refuse_twice(const std::string& name) {
    refuse("class '" + printable(name) + "' is named twice; expected once");
  }

  void check_classes() const {
    if (counts_.size() > 1)
      return;
    throw ballast_error(
        errc::invalid_data,
        "column '" + printable(rows_.label) + "' has " +
            (counts_.empty()
                 ? std::string("no class")
                 : "one class, '" + printable(rows_.names[0]) + "'") +
            "; expected two or more, as resampling changes their shares");
  }

  std::vector<class_target> of_word(const std::string& word) const {
    const std::vector<std::string> known{
        "auto", "minority", "majority", "not minority", "not majority", "all"};
    if (std::ranges::find(known, word) == known.end()) {
      const std::string near = nearest_word(word, known);
      refuse("expected auto, minority, majority, not minority, not majority, "
             "all, a number, or an object or list of classes, found '" +
             printable(word) + "'" +
             (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    if (word == "minority" && !over())
      refuse("'minority' is for methods that add rows; expected auto, "
             "majority, not minority, not majority or all");
    if (word == "majority" && over())
      refuse("'majority' is for methods that remove rows; expected auto, "
             "minority, not minority, not majority or all");
    std::vector<class_target> out;
    for (uint32_t c = 0; c < counts_.size(); ++c) {
      const bool large = c == size_t(largest_), small = c == size_t(smallest_);
      const bool taken = word == "all" || (word == "minority" && small) ||
                         (word == "majority" && large) ||
                         (word == "not minority" && !small) ||
                         (word == "not majority" && !large) ||
                         (word == "auto" && (over() ? !large : !small));
      if (taken)
        out.push_back({c, over() ? counts_[size_t(largest_)] - counts_[c]
                                 : counts_[size_t(smallest_)]});
    }
    return out;
  }

  std::vector<class_target> of_ratio(double ratio) const {
    if (kind_ == resampling_kind::clean)
      refuse("a number is not for this method, whose rule says how many rows "
             "go; expected a word or a list of classes");
    if (!(ratio > 0) || ratio > 1)
      refuse("expected a number above 0 and at most 1, found " +
             json_text(json(ratio)));
    if (counts_.size() != 2)
      refuse("a number is for two classes, and column '" +
             printable(rows_.label) + "' has " +
             std::to_string(counts_.size()) +
             R"(; expected rows by class: {"a": 100})");
    const auto large = uint32_t(largest_), small = 1 - large;
    if (over()) {
      const double more =
          double(counts_[large]) * ratio - double(counts_[small]);
      if (!(more >= 1))
        refuse("the ratio " + json_text(json(ratio)) +
               " is not above that of the "
               "rows, " +
               ratio_text() + "; this method only adds rows");
      return {{small, uint64_t(more)}};
    }
    const double kept = double(counts_[small]) / ratio;
    if (!(uint64_t(kept) <= counts_[large]))
      refuse("the ratio " + json_text(json(ratio)) +
             " is below that of the rows, " + ratio_text() +
             "; this method only removes rows");
    return {{large, uint64_t(kept)}};
  }

  std::string ratio_text() const {
    return std::to_string(counts_[size_t(smallest_)]) + " to " +
           std::to_string(counts_[size_t(largest_)]);
  }

  std::vector<class_target> of_counts(const json& said) const {
    if (kind_ == resampling_kind::clean)
      refuse("rows by class are not for this method, whose rule says how many "
             R"(go; expected a list of classes: ["a"])");
    std::map<uint32_t, uint64_t> wanted;
    for (const auto& [name, value] : said.items()) {
      const uint32_t c = class_of(name);
      if (!value.is_number_unsigned())
        refuse("class '" + printable(name) +
               "': expected a number of rows, 0 or more, found " +
               printable(json_text(value)));
      const uint64_t rows = value.get<uint64_t>();
      const std::string has = "class '" + printable(name) + "' has " +
                              std::to_string(counts_[c]) + " rows, ";
      if (over() && rows < counts_[c])
        refuse(has +
               "and this method only adds some; expected so many or "
               "more, found " +
               std::to_string(rows));
      if (!over() && rows > counts_[c])
        refuse(has +
               "and this method only removes some; expected so many or "
               "fewer, found " +
               std::to_string(rows));
      if (!wanted.emplace(c, over() ? rows - counts_[c] : rows).second)
        refuse_twice(rows_.names[c]);
    }
    std::vector<class_target> out;
    for (const auto& [c, rows] : wanted)
      out.push_back({c, rows});
    return out;
  }

  std::vector<class_target> of_list(const json& said) const {
    if (kind_ != resampling_kind::clean)
      refuse("a list is for methods that clean; expected rows by class: "
             R"({"a": 100})");
    std::map<uint32_t, uint64_t> taken;
    for (const json& one : said)
      taken[class_of(one.is_string() ? one.get<std::string>()
                                     : json_text(one))] =
          counts_[size_t(smallest_)];
    std::vector<class_target> out;
    for (const auto& [c, rows] : taken)
      out.push_back({c, rows});
    return out;
  }

  uint32_t class_of(const std::string& name) const {
    const std::optional<double> number = as_number(name);
    for (uint32_t c = 0; c < rows_.names.size(); ++c)
      if (rows_.names[c] == name ||
          (number && as_number(rows_.names[c]) == number))
        return c;
    const std::string near = nearest_word(name, rows_.names);
    std::string known;
    constexpr size_t named_max = 10;
    for (size_t i = 0; i < std::min(named_max, rows_.names.size()); ++i)
      known += (i == 0 ? "" : ", ") + printable(rows_.names[i]);
    refuse("column '" + printable(rows_.label) + "' has no class '" +
           printable(name) + "'; it has " + known +
           (rows_.names.size() > named_max ? ", ..." : "") +
           (near.empty() ? "" : "; did you mean " + near + "?"));
  }

  const labelled_rows& rows_;
  const resampling_kind kind_;
  std::vector<uint64_t> counts_;
  ptrdiff_t largest_ = 0, smallest_ = 0;
};

} // namespace

std::vector<class_target> sampling_targets(const std::string& strategy,
                                           resampling_kind kind,
                                           const labelled_rows& rows) {
  return strategy_reader(rows, kind).read(strategy);
}

uint32_t smallest_class(const rows_by_class& rows) {
  return uint32_t(
      std::ranges::min_element(rows, {}, &std::vector<uint32_t>::size) -
      rows.begin());
}

rows_by_class by_class(std::span<const uint32_t> of_row, size_t classes) {
  rows_by_class out(classes);
  for (size_t row = 0; row < of_row.size(); ++row)
    out[of_row[row]].push_back(uint32_t(row));
  return out;
}

std::string class_text(const labelled_rows& rows, uint32_t of_class) {
  return (rows.targets.empty() ? "class '" : "range '") +
         printable(rows.names[of_class]) + "' of column '" +
         printable(rows.label) + "'";
}

} // namespace ballast::data
