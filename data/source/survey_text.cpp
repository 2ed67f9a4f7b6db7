/// What a survey found, for people and for programs, and what mends it.
#include "data/source/table_survey.hpp"
#include "runtime/base/counted.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace ballast::data {

namespace {

using nlohmann::json;

/// As an expression has it; bare where no reader could mistake it.
std::string column_name(const std::string& name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  static const std::set<std::string> words{
      "and",  "or",   "not",   "is",   "null",      "in", "between",
      "like", "true", "false", "date", "timestamp", "if", "cast"};
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  if (!name.empty() && (name[0] < '0' || name[0] > '9') &&
      name.find_first_not_of(letters) == std::string::npos &&
      !words.contains(lower))
    return name;
  std::string out = "\"";
  for (char one : name)
    out += one == '"' ? std::string("\"\"") : std::string(1, one);
  return out + '"';
}

std::string range_text(const column_survey& one) {
  char text[80];
  std::snprintf(text, sizeof text, "%s %.6g to %.6g",
                one.whole ? "whole numbers," : "numbers,", one.least, one.most);
  return text;
}

std::string content_of(const column_survey& one) {
  constexpr size_t shown_max = 24;
  if (one.numeric)
    return range_text(one);
  if (one.words.empty())
    return "nothing";
  const std::string many =
      one.words.size() < surveyed_texts_max
          ? std::to_string(one.words.size())
          : "at least " + std::to_string(surveyed_texts_max);
  return many + (one.words.size() == 1 ? " text" : " texts") + ", such as '" +
         printable(one.words.begin()->first, shown_max) + "'";
}

} // namespace

std::string to_string(column_use what) {
  switch (what) {
  case column_use::label:
    return "label";
  case column_use::feature:
    return "feature";
  case column_use::balanced:
    return "balance";
  case column_use::left_out:
    break;
  }
  return "left out";
}

bool table_survey::clean() const {
  return std::all_of(
      columns.begin(), columns.end(),
      [](const column_survey& one) { return one.problems.empty(); });
}

nlohmann::json fix_of(const source_spec& spec, const table_survey& found) {
  /// Texts that are meant as "missing" are few.
  constexpr size_t null_texts_max = 8;
  std::string where = spec.where;
  std::vector<std::string> nulls = spec.null_values;
  std::vector<std::string> features;
  json types = spec.columns;
  bool fewer = false;
  const auto demand = [&where](const std::string& condition) {
    where += (where.empty() ? "" : " and ") + condition;
  };
  for (const column_survey& one : found.columns) {
    const bool feature = one.use == column_use::feature;
    const bool label = one.use == column_use::label;
    const bool few = spec.format == source_format::csv &&
                     one.words.size() <= null_texts_max && one.numeric;
    const bool text_label = label && !one.numeric;
    if (feature && one.texts > 0 && !few) {
      fewer = true; // it holds something else than numbers
      continue;
    }
    if (feature)
      features.push_back(one.name);
    fewer = fewer || (one.use == column_use::left_out && !one.problems.empty());
    if (!feature && !label)
      continue;
    const bool cells = spec.format == source_format::csv ||
                       spec.format == source_format::jsonl;
    if (text_label && one.numbers > 0 && cells)
      types[one.name] = to_string(column_type::text);
    if (!text_label)
      for (const auto& [word, count] : one.words)
        if (std::find(nulls.begin(), nulls.end(), word) == nulls.end())
          nulls.push_back(word);
    if (one.missing > 0 || (one.texts > 0 && !text_label))
      demand(column_name(one.name) + " is not null");
    if (one.unusable > 0 && !text_label)
      demand("abs(" + column_name(one.name) + ") < 3.4e38");
  }
  json out;
  if (nulls != spec.null_values)
    out["null_values"] = nulls;
  if (where != spec.where)
    out["where"] = where;
  if (types.size() > spec.columns.size())
    out["columns"] = types;
  if (fewer && !features.empty())
    out["features"] = features;
  return out;
}

std::string describe(const table_survey& found, const nlohmann::json& fix) {
  std::string out = printable(found.files.at(0));
  if (found.files.size() > 1)
    out += " and " + std::to_string(found.files.size() - 1) + " more";
  out += ": " + counted(found.rows, "row") + ", " +
         counted(found.columns.size(), "column") + "\n";
  size_t width = 6;
  for (const column_survey& one : found.columns)
    width = std::max(width, std::min<size_t>(printable(one.name).size(), 40));
  for (const column_survey& one : found.columns) {
    std::string name = printable(one.name, 40);
    name.resize(std::max(width, name.size()), ' ');
    std::string use = to_string(one.use);
    use.resize(10, ' ');
    out += "  " + name + "  " + use + content_of(one) + "\n";
    for (const std::string& problem : one.problems)
      out += "  " + std::string(width, ' ') + "  ! " + problem + "\n";
  }
  if (!fix.is_null())
    out += "to train on what is sound, put this into " + found.pointer +
           ":\n  " + json_text(fix) + "\n";
  return out;
}

nlohmann::json to_json(const table_survey& found, const nlohmann::json& fix) {
  json columns = json::array();
  for (const column_survey& one : found.columns)
    columns.push_back({{"name", one.name},
                       {"use", to_string(one.use)},
                       {"why", one.why},
                       {"missing", one.missing},
                       {"numbers", one.numbers},
                       {"texts", one.texts},
                       {"unusable", one.unusable},
                       {"problems", one.problems}});
  return {{"source", found.pointer},
          {"files", found.files},
          {"rows", found.rows},
          {"columns", std::move(columns)},
          {"fix", fix}};
}

} // namespace ballast::data
