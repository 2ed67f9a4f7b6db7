/// A profile, and the drift between two, for people: lines for a terminal, JSON
/// for programs, and a page of its own without anything from elsewhere.
#pragma once

#include "data/profile/drift.hpp"
#include "data/profile/table_profile.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ballast::data {

std::string describe(const table_profile& of);
std::string describe(const table_drift& of);

nlohmann::ordered_json to_json(const table_profile& of);
nlohmann::ordered_json to_json(const table_drift& of);

/// `drift`: null: there is no other table.
std::string profile_page(const table_profile& of, const table_drift* drift);

/// Which columns of numbers are not correlated, for their number; empty: none.
std::string uncorrelated_note(const table_profile& of);

/// A value of a column: of times as a date.
std::string value_text(const column_profile& of, double value);

} // namespace ballast::data
