#include "data/fitting/fitted_state.hpp"

#include "data/fitting/float64_tensors.hpp"
#include "data/model/sha256.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

namespace ballast::data {

namespace {

using nlohmann::json;

/// "column 3/mean" is that of the fourth column.
std::string tensor_name(size_t column, const std::string& name) {
  return "column " + std::to_string(column) + "/" + name;
}

json options_json(const graph::node& node) {
  json out = json::object();
  for (const graph::option& known : graph::about(node.what).options)
    std::visit([&](const auto& value) { out[known.name] = value; },
               node.options.count(known.name) > 0 ? node.options.at(known.name)
                                                  : known.usual);
  return out;
}

json column_json(const learned_column& of) {
  json out{{"name", of.name},
           {"type", of.type},
           {"values", of.values},
           {"missing", of.missing}};
  if (!of.categories.empty())
    out["categories"] = of.categories;
  if (of.quantile_error > 0)
    out["quantile_error"] = of.quantile_error;
  if (!of.kept)
    out["kept"] = false;
  if (of.target)
    out["target"] = true;
  if (!of.note.empty())
    out["note"] = of.note;
  return out;
}

learned_column read_column(const json& in) {
  learned_column out{in.at("name").get<std::string>(),
                     in.at("type").get<std::string>()};
  out.values = in.at("values").get<uint64_t>();
  out.missing = in.at("missing").get<uint64_t>();
  out.categories = in.value("categories", std::vector<std::string>());
  out.quantile_error = in.value("quantile_error", 0.0);
  out.kept = in.value("kept", true);
  out.target = in.value("target", false);
  out.note = in.value("note", "");
  return out;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw ballast_error(errc::invalid_data,
                      printable(name) +
                          ": is no state of a fitted operator "
                          "that can be used: " +
                          why);
}

graph::node read_node(const json& in, const std::string& name) {
  graph::node out;
  const auto word = in.at("op").get<std::string>();
  const auto what = parse_word<graph::op>(word);
  if (!what || !graph::about(*what).each_input)
    refuse(name,
           "this build has no operator '" + printable(word) + "' with a state");
  out.what = *what;
  out.from = in.at("from").get<std::vector<std::string>>();
  out.as = in.at("as").get<std::vector<std::string>>();
  for (const auto& item : in.at("options").items()) {
    const graph::option* known = graph::find_option(*what, item.key());
    if (known == nullptr)
      refuse(name,
             "'" + word + "' has no option '" + printable(item.key()) + "'");
    std::visit(
        [&](auto& place) {
          place = item.value().template get<std::decay_t<decltype(place)>>();
        },
        graph::option_of(out, item.key()));
  }
  return out;
}

} // namespace

state_bytes bytes_of(const fitted_state& state) {
  std::map<std::string, std::span<const double>> tensors;
  json columns = json::array();
  for (size_t i = 0; i < state.columns.size(); ++i) {
    columns.push_back(column_json(state.columns[i]));
    for (const auto& [name, values] : state.columns[i].numbers)
      tensors[tensor_name(i, name)] = values;
  }
  for (const auto& [name, values] : state.numbers)
    tensors[name] = values;
  const json about{{"version", state.version},
                   {"op", ballast::to_string(state.what.what)},
                   {"name", state.name},
                   {"from", state.what.from},
                   {"as", state.what.as},
                   {"options", options_json(state.what)},
                   {"rows", state.rows},
                   {"seed", state.seed},
                   {"columns", std::move(columns)}};
  return {json_lines_text(about) + "\n", float64_bytes(tensors)};
}

std::string hash_of(const state_bytes& bytes) {
  sha256 hash;
  hash.update(std::as_bytes(std::span(bytes.json)));
  hash.update(std::as_bytes(std::span(bytes.numbers)));
  return hash.hex_digest();
}

fitted_state read_state(const state_bytes& bytes, const std::string& name) {
  fitted_state out;
  try {
    const json about = json::parse(bytes.json);
    out.version = about.at("version").get<int>();
    if (out.version != state_version)
      refuse(name, "its version is " + std::to_string(out.version) +
                       ", this build reads " + std::to_string(state_version) +
                       "; fit it again");
    out.what = read_node(about, name);
    out.name = about.at("name").get<std::string>();
    out.rows = about.at("rows").get<uint64_t>();
    out.seed = about.at("seed").get<uint64_t>();
    for (const json& one : about.at("columns"))
      out.columns.push_back(read_column(one));
  } catch (const json::exception& error) {
    refuse(name, printable(error.what()));
  }
  std::map<std::string, std::vector<double>> tensors =
      parse_float64(bytes.numbers, name);
  for (size_t i = 0; i < out.columns.size(); ++i) {
    const std::string prefix = tensor_name(i, "");
    for (auto one = tensors.begin(); one != tensors.end();) {
      if (!one->first.starts_with(prefix)) {
        ++one;
        continue;
      }
      out.columns[i].numbers[one->first.substr(prefix.size())] =
          std::move(one->second);
      one = tensors.erase(one);
    }
  }
  out.numbers = std::move(tensors);
  return out;
}

namespace {

/// Texts with offsets of 32 and of 64 bits are the same values: which of them a
/// table has is up to whoever wrote it.
bool is_same_type(std::string_view a, std::string_view b) {
  const auto is_text = [](std::string_view one) {
    return one == "string" || one == "large_string";
  };
  return a == b || (is_text(a) && is_text(b));
}

} // namespace

void check_schema(const fitted_state& state, const arrow::Schema& schema,
                  const std::string& where) {
  const std::string whose = "\"" + ballast::to_string(state.what.what) +
                            "\" (" + printable(state.name) + ")";
  for (const learned_column& one : state.columns) {
    if (one.target)
      continue;
    const auto field = schema.GetFieldByName(one.name);
    if (field == nullptr) {
      const std::string near = nearest_word(one.name, schema.field_names());
      throw ballast_error(
          errc::invalid_data,
          where + ": there is no column '" + printable(one.name) + "' (" +
              one.type + "), on which " + whose + " was fitted" +
              (near.empty() ? std::string()
                            : "; did you mean '" + printable(near) + "'?"),
          where);
    }
    if (!is_same_type(field->type()->ToString(), one.type))
      throw ballast_error(errc::invalid_data,
                          where + ": column '" + printable(one.name) +
                              "' has the type " +
                              printable(field->type()->ToString(), 200) + "; " +
                              whose + " was fitted on " + one.type +
                              "; \"cast\" it, or name its type where it is "
                              "read",
                          where);
  }
}

} // namespace ballast::data
