/// date_parts: year, month, day, ... of dates and times, as they stand (of a
/// time zone: in UTC).
#include "data/base/arrow_support.hpp"
#include "data/fitting/fitted_operator.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/graph/fitted_words.hpp"

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include <utility>

namespace ballast::data {

namespace {

using graph::date_part;
using graph::value_of;

/// The function of Arrow that gives it.
const char* function_of(date_part part) {
  switch (part) {
  case date_part::year:
    return "year";
  case date_part::month:
    return "month";
  case date_part::day:
    return "day";
  case date_part::weekday:
    return "day_of_week"; // from Monday, 0
  case date_part::yearday:
    return "day_of_year";
  case date_part::hour:
    return "hour";
  case date_part::minute:
    return "minute";
  case date_part::second:
    return "second";
  }
  return "";
}

class date_operator final : public fitted_operator, public bound_operator {
public:
  explicit date_operator(const fit_terms& terms) : fitted_operator(terms) {
    for (const std::string& word :
         value_of<std::vector<std::string>>(terms.what, "parts"))
      parts_.push_back(*parse_word<date_part>(word));
  }

  fit_needs needs() const override {
    fit_needs out;
    for (const std::string& name : columns())
      out.columns.push_back({.column = name, .kind = value_kind::times});
    return out;
  }

  std::vector<output_column>
  layout(const arrow::Schema& input,
         const fitted_state& /*state*/) const override {
    output_layout out(input);
    for (const std::string& name : columns()) {
      std::vector<output_layout::made_column> made;
      for (const date_part part : parts_)
        made.emplace_back(name + "_" + ballast::to_string(part),
                          arrow::int64());
      if (value_of<bool>(terms().what, "keep"))
        for (const auto& [part, type] : made)
          out.append(part, type);
      else
        out.replace(name, made);
    }
    return out.take(terms().pointer + "/columns");
  }

  std::unique_ptr<bound_operator>
  bind(std::shared_ptr<const fitted_state> /*state*/) const override {
    return std::make_unique<date_operator>(terms());
  }

  made_rows apply(const given_rows& rows) override {
    made_rows out;
    const std::vector<std::string> names = columns();
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      const std::shared_ptr<arrow::Array>& column = rows.columns[i];
      for (int64_t row = 0; column->null_count() > 0 && row < column->length();
           ++row)
        if (column->IsNull(row))
          refuse_missing({terms().pointer, terms().step(), names[i]},
                         rows.place, row);
      // Dates have no hours in Arrow's eyes.
      const auto times =
          take_arrow(arrow::compute::Cast(
                         column, arrow::timestamp(arrow::TimeUnit::MICRO)),
                     errc::invalid_data, printable(names[i]));
      for (const date_part part : parts_)
        out.columns.push_back(
            take_arrow(arrow::compute::CallFunction(function_of(part), {times}),
                       errc::invalid_data, printable(names[i]))
                .make_array());
    }
    return out;
  }

private:
  std::vector<date_part> parts_;
};

} // namespace

std::unique_ptr<fitted_operator> make_date_operator(const fit_terms& terms) {
  if (terms.what.what != graph::op::date_parts)
    return nullptr;
  return std::make_unique<date_operator>(terms);
}

} // namespace ballast::data
