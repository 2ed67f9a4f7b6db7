#include "runtime/graph/data_graph.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/graph/check_rules.hpp"
#include "runtime/graph/resampling_node.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

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

using texts = std::vector<std::string>;
/// Takes the option, and why it is refused.
using refusal =
    std::function<void(const std::string& key, const std::string& why)>;

constexpr double part_min = 0.001;

void check_split(const node& one, const refusal& refuse) {
  const auto parts = value_of<std::vector<double>>(one, "fractions");
  double sum = 0;
  for (double part : parts)
    sum += part;
  if (parts.size() != one.as.size())
    refuse("fractions", n(parts.size()) + " fractions for " + n(one.as.size()) +
                            " names; expected one for each");
  else if (std::abs(sum - 1) > 1e-9)
    refuse("fractions", "they do not sum to 1");
  const auto by = value_of<std::string>(one, "by");
  const bool random = by == to_string(split_kind::random);
  const bool dealt = random || by == to_string(split_kind::stratified);
  if (dealt && std::any_of(parts.begin(), parts.end(),
                           [](double part) { return part < part_min; }))
    refuse("fractions", "expected at least 0.001 for each part: rows are dealt "
                        "in runs of at most 1000, of which a smaller part "
                        "would have none");
  const bool column = !value_of<std::string>(one, "column").empty();
  if (!random && !column)
    refuse("column", "is required with by \"" + by + "\"");
  if (random && column)
    refuse("column", "means nothing with by \"random\"; leave it out, or say "
                     "by \"stratified\", \"group\" or \"time\"");
}

void check_sort(const node& one, const refusal& refuse) {
  const auto by = value_of<texts>(one, "by");
  for (const std::string& column : value_of<texts>(one, "descending"))
    if (std::find(by.begin(), by.end(), column) == by.end()) {
      std::string known;
      for (const std::string& name : by)
        known += (known.empty() ? "\"" : ", \"") + name + "\"";
      refuse("descending",
             "\"" + column + "\" is none of \"by\", which are " + known);
    }
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
    each_input_.push_back(about(nodes[i].what).each_input);
    fitted_.push_back(about(nodes[i].what).fitted);
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
  if (known.each_input) {
    const size_t inputs = std::max<size_t>(1, one.from.size());
    if (one.as.size() != inputs && !(inputs == 1 && one.as.empty()))
      refuse("as", "\"" + to_string(one.what) +
                       "\" has a name for each of its " +
                       count_text(inputs, inputs, "input") + ", found " +
                       n(one.as.size()));
    return;
  }
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
  if (one.what == op::split)
    check_split(one, refuse);
  if (one.what == op::distinct)
    if (const auto bands = value_of<uint64_t>(one, "bands"),
        permutations = value_of<uint64_t>(one, "permutations");
        bands > permutations)
      refuse("bands", n(bands) + " are more than \"permutations\", " +
                          n(permutations) + "; expected as many or fewer");
  if (one.what == op::sort)
    check_sort(one, refuse);
  if (one.what == op::check)
    if (const failure wrong = check_rules_of(one).mistake)
      refuse(wrong.pointer.substr(1), wrong.message);
  if (one.what == op::resample)
    if (const failure wrong = resampling_of(one).mistake)
      refuse(wrong.pointer.substr(1), wrong.message);
  if (one.what == op::join) {
    const auto on = value_of<texts>(one, "on");
    const auto right = value_of<texts>(one, "on_right");
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

std::vector<output> wiring::reads(const output& of) const {
  const std::vector<output>& all = inputs_[of.index];
  if (!each_input_[of.index])
    return all;
  if (fitted_[of.index])
    return {all.at(0), all.at(of.port)};
  return {all.at(of.port)};
}

wiring::needed wiring::needs(const output& what) const {
  needed out;
  std::set<std::pair<size_t, size_t>> seen; // node and port
  std::vector<output> open{what};
  while (!open.empty()) {
    const output one = open.back();
    open.pop_back();
    if (one.of_source) {
      out.sources.insert(one.index);
      continue;
    }
    out.nodes.insert(one.index);
    const size_t port = each_input_[one.index] ? one.port : 0;
    if (!seen.insert({one.index, port}).second)
      continue;
    const std::vector<output> more = reads(one);
    open.insert(open.end(), more.begin(), more.end());
  }
  return out;
}

namespace {

bool is_row_by_row(op what) {
  switch (what) {
  case op::filter:
  case op::check:
  case op::select:
  case op::drop:
  case op::rename:
  case op::cast:
  case op::derive:
  case op::limit:
    return true;
  default:
    return false;
  }
}

/// Twice where it begins its input anew.
size_t reads_each_input(const node& one) {
  if (one.what == op::repeat)
    return value_of<uint64_t>(one, "times") > 1 ? 2 : 1;
  return one.what == op::split &&
                 value_of<std::string>(one, "by") == to_string(split_kind::time)
             ? 2
             : 1;
}

} // namespace

std::set<size_t> kept_nodes(const wiring& wires, const std::vector<node>& nodes,
                            const output& what) {
  const std::set<size_t> needed = wires.needs(what).nodes;
  std::vector<size_t> behind(nodes.size()); // a source, row by row
  for (size_t index : needed) {
    const output& input = wires.inputs()[index].at(0);
    const size_t before = input.of_source ? 0 : behind[input.index];
    behind[index] = is_row_by_row(nodes[index].what)
                        ? std::min(before, read_again_max) + 1
                        : read_again_max + 1;
  }
  // Who reads a node stands behind it.
  std::map<std::pair<size_t, size_t>, size_t> readers; // by node and port
  const auto read = [&](const output& input, size_t times) {
    if (input.of_source)
      return;
    const bool each = about(nodes[input.index].what).each_input;
    readers[{input.index, each ? input.port : 0}] += times;
  };
  read(what, 1);
  std::set<size_t> out;
  for (auto index = needed.rbegin(); index != needed.rend(); ++index) {
    const node& one = nodes[*index];
    const bool each = about(one.what).each_input;
    for (size_t port = 0; port < wires.inputs()[*index].size(); ++port) {
      const size_t count = each ? readers[{*index, port}] : 0;
      if (count > 0)
        read(wires.inputs()[*index][port], count);
      if (!each)
        read(wires.inputs()[*index][port], reads_each_input(one));
    }
    if (about(one.what).fitted)
      read(wires.inputs()[*index].at(0), 1);
    if (!each && readers[{*index, 0}] > 1 && behind[*index] > read_again_max)
      out.insert(*index);
  }
  return out;
}

std::set<size_t> learned_from(const wiring& wires,
                              const std::vector<node>& nodes) {
  std::set<size_t> out;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (about(nodes[i].what).fitted)
      out.merge(std::set<size_t>(wires.needs(wires.inputs()[i].at(0)).nodes));
  return out;
}

std::string draws_as(const std::vector<node>& nodes, size_t index) {
  const node& one = nodes.at(index);
  std::string out;
  for (const std::string& name : one.as)
    out += (out.empty() ? "" : ", ") + name;
  if (!out.empty())
    return out;
  const auto place =
      std::count_if(nodes.begin(), nodes.begin() + ptrdiff_t(index) + 1,
                    [&](const node& other) {
                      return other.what == one.what && other.as.empty();
                    });
  return to_string(one.what) + " " + n(size_t(place));
}

} // namespace ballast::graph
