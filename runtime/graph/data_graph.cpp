#include "runtime/graph/data_graph.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/nearest_word.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::graph {

namespace {

std::string n(size_t number) {
  return std::to_string(number);
}

std::string count_text(size_t least, size_t most, const std::string& noun) {
  const std::string many = noun + (most == 1 ? "" : "s");
  return least == most ? n(least) + " " + many
                       : n(least) + " to " + n(most) + " " + many;
}

} // namespace

std::string pointer_of(size_t node) {
  return "/data/graph/" + n(node);
}

std::string name_of(const std::vector<node>& nodes, size_t index) {
  const node& one = nodes.at(index);
  if (one.as.size() == 1)
    return one.as[0];
  return to_string(one.what) + " " + n(index + 1);
}

option_value& option_of(node& in, const std::string& name) {
  const option* known = find_option(in.what, name);
  BALLAST_CHECK(known != nullptr, "an option of another operator");
  return in.options.try_emplace(name, known->usual).first->second;
}

wiring::wiring(const std::vector<std::string>& sources,
               const std::vector<node>& nodes) {
  for (const node& one : nodes)
    later_.insert(later_.end(), one.as.begin(), one.as.end());
  for (size_t i = 0; i < sources.size(); ++i)
    add_name(sources[i], {true, i, 0}, "/data/sources/" + sources[i]);
  for (size_t i = 0; i < nodes.size(); ++i) {
    inputs_.emplace_back();
    if (nodes[i].from.empty())
      connect_default(nodes[i], i, sources.size());
    else
      connect(nodes[i], i);
    check(nodes[i], i);
    for (size_t port = 0; port < nodes[i].as.size(); ++port)
      add_name(nodes[i].as[port], {false, i, port},
               pointer_of(i) + "/as/" + n(port));
  }
}

void wiring::add_name(const std::string& name, const output& what,
                      const std::string& pointer) {
  if (!names_.emplace(name, what).second)
    mistakes_.push_back({errc::invalid_job,
                         pointer + ": the name \"" + name +
                             "\" is taken; expected a name of its own",
                         pointer});
}

void wiring::connect(const node& one, size_t index) {
  for (size_t i = 0; i < one.from.size(); ++i) {
    const std::string& name = one.from[i];
    if (const auto found = find(name)) {
      inputs_[index].push_back(*found);
      continue;
    }
    const std::string pointer = pointer_of(index) + "/from/" + n(i);
    const bool later =
        std::find(later_.begin(), later_.end(), name) != later_.end();
    mistakes_.push_back(
        {errc::invalid_job,
         pointer + ": " +
             (later ? "\"" + name +
                          "\" is this node, or one behind it; a node reads "
                          "sources and nodes before it, so that there is no "
                          "cycle"
                    : "there is no source and no node before it with the "
                      "name \"" +
                          name + "\"" + advice(name)),
         pointer});
  }
}

/// Without `from`.
void wiring::connect_default(const node& one, size_t index, size_t sources) {
  if (index > 0 && about(one.what).inputs_min == 1) {
    inputs_[index].push_back({false, index - 1, 0});
    return;
  }
  if (index == 0 && sources == 1 && about(one.what).inputs_min == 1) {
    inputs_[index].push_back({true, 0, 0});
    return;
  }
  const std::string pointer = pointer_of(index) + "/from";
  mistakes_.push_back({errc::invalid_job,
                       pointer + ": is required here: what \"" +
                           to_string(one.what) + "\" reads" + advice(""),
                       pointer});
}

void wiring::check(const node& one, size_t index) {
  const operator_about& known = about(one.what);
  const std::string pointer = pointer_of(index);
  const auto refuse = [&](const std::string& key, const std::string& why) {
    mistakes_.push_back({errc::invalid_job, pointer + "/" + key + ": " + why,
                         pointer + "/" + key});
  };
  if (!one.from.empty() && (one.from.size() < known.inputs_min ||
                            one.from.size() > known.inputs_max))
    refuse("from", "\"" + to_string(one.what) + "\" reads " +
                       count_text(known.inputs_min, known.inputs_max, "input") +
                       ", found " + n(one.from.size()));
  const size_t least = known.outputs_max == 1 ? 0 : known.outputs_min;
  if (one.as.size() < least || one.as.size() > known.outputs_max)
    refuse("as", "\"" + to_string(one.what) + "\" has " +
                     count_text(known.outputs_min, known.outputs_max, "name") +
                     ", found " + n(one.as.size()));
  if (one.what == op::mix) {
    const auto weights = value_of<std::vector<double>>(one, "weights");
    if (!weights.empty() && weights.size() != one.from.size())
      refuse("weights", n(weights.size()) + " weights for " +
                            n(one.from.size()) +
                            " inputs; expected one for each");
  }
  if (one.what == op::split) {
    const auto parts = value_of<std::vector<double>>(one, "fractions");
    double sum = 0;
    for (double part : parts)
      sum += part;
    if (parts.size() != one.as.size())
      refuse("fractions", n(parts.size()) + " fractions for " +
                              n(one.as.size()) +
                              " names; expected one for each");
    else if (std::abs(sum - 1) > 1e-9)
      refuse("fractions", "they do not sum to 1");
    const auto by = value_of<std::string>(one, "by");
    if (by != to_string(split_kind::random) &&
        value_of<std::string>(one, "column").empty())
      refuse("column", "is required with by \"" + by + "\"");
  }
  if (one.what == op::join) {
    const auto on = value_of<std::vector<std::string>>(one, "on");
    const auto right = value_of<std::vector<std::string>>(one, "on_right");
    if (!right.empty() && right.size() != on.size())
      refuse("on_right", n(right.size()) + " columns for the " + n(on.size()) +
                             " of \"on\"; expected one for each");
  }
}

std::optional<output> wiring::find(const std::string& name) const {
  const auto found = names_.find(name);
  if (found == names_.end())
    return std::nullopt;
  return found->second;
}

std::string wiring::advice(const std::string& name) const {
  std::vector<std::string> all;
  for (const auto& [known, what] : names_)
    all.push_back(known);
  if (const std::string near = nearest_word(name, all); !near.empty())
    return "; did you mean \"" + near + "\"?";
  std::string out;
  for (const std::string& known : all)
    out += (out.empty() ? "\"" : ", \"") + known + "\"";
  return out.empty() ? "; there are none" : "; there are " + out;
}

wiring::needed wiring::needs(const output& what) const {
  needed out;
  std::vector<output> open{what};
  while (!open.empty()) {
    const output one = open.back();
    open.pop_back();
    if (one.of_source)
      out.sources.insert(one.index);
    else if (out.nodes.insert(one.index).second)
      open.insert(open.end(), inputs_[one.index].begin(),
                  inputs_[one.index].end());
  }
  return out;
}

} // namespace ballast::graph
