/// What a survey of a table notes of one cell after another of a column. Pure;
/// `place`: "people.csv: row 12". No errors.
#pragma once

#include "data/source/table_survey.hpp"

#include <string>

namespace ballast::data {

void note_number(column_survey& to, double number, const std::string& place);
void note_text(column_survey& to, const std::string& text,
               const std::string& place);
void note_missing(column_survey& to, const std::string& place);

} // namespace ballast::data
