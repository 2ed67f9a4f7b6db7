#include "runtime/graph/graph_leaks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace ballast::graph {

namespace {

/// Some rows of a source: those that went to these parts of splits.
struct origin_rows {
  size_t source = 0;
  std::map<size_t, size_t> parts; // by split, its port

  bool operator==(const origin_rows&) const = default;
};

bool may_share(const origin_rows& a, const origin_rows& b) {
  return a.source == b.source &&
         std::none_of(a.parts.begin(), a.parts.end(), [&](const auto& part) {
           const auto other = b.parts.find(part.first);
           return other != b.parts.end() && other->second != part.second;
         });
}

/// Which rows an output may hold. Of a distinct those of the first input; of a
/// join only those of the first input, or
/// of both: what a row is joined to is looked up.
class origin_finder {
public:
  origin_finder(const wiring& wires, const std::vector<node>& nodes,
                const std::vector<size_t>& same)
      : wires_(wires), nodes_(nodes), same_(same) {}

  const std::vector<origin_rows>& of(const output& what) {
    const std::array<size_t, 3> key{what.of_source ? 1U : 0U, what.index,
                                    what.port};
    const auto found = known_.find(key);
    return found != known_.end()
               ? found->second
               : known_.emplace(key, find(what)).first->second;
  }

private:
  std::vector<origin_rows> find(const output& what) {
    if (what.of_source)
      return {{same_.at(what.index), {}}};
    const node& one = nodes_[what.index];
    std::vector<output> inputs = wires_.inputs()[what.index];
    if (about(one.what).each_input)
      inputs = {inputs.at(what.port)};
    if (one.what == op::distinct)
      inputs.resize(1); // the second only says what goes
    if (one.what == op::join) {
      const auto kind = value_of<std::string>(one, "kind");
      if (kind != to_string(join_kind::right) &&
          kind != to_string(join_kind::full))
        inputs.resize(1);
    }
    std::vector<origin_rows> out;
    for (const output& input : inputs)
      for (origin_rows rows : of(input)) {
        if (one.what == op::split)
          rows.parts[what.index] = what.port;
        if (std::find(out.begin(), out.end(), rows) == out.end())
          out.push_back(std::move(rows));
      }
    return out;
  }

  const wiring& wires_;
  const std::vector<node>& nodes_;
  const std::vector<size_t>& same_;
  std::map<std::array<size_t, 3>, std::vector<origin_rows>> known_;
};

} // namespace

std::vector<failure> leaks(const wiring& wires, const std::vector<node>& nodes,
                           const std::vector<size_t>& same, const output& train,
                           const std::optional<output>& test, bool held_out) {
  std::vector<failure> out;
  std::set<size_t> used = wires.needs(train).nodes;
  if (test)
    used.merge(std::set<size_t>(wires.needs(*test).nodes));
  origin_finder origins(wires, nodes, same);
  for (size_t i : used) {
    const bool resamples = nodes[i].what == op::resample;
    if (!resamples && !about(nodes[i].what).fitted)
      continue;
    const std::vector<origin_rows> learned =
        origins.of(wires.inputs()[i].at(0));
    const auto shares = [&](const output& what) {
      const std::vector<origin_rows>& others = origins.of(what);
      return std::any_of(learned.begin(), learned.end(), [&](const auto& a) {
        return std::any_of(others.begin(), others.end(),
                           [&](const auto& b) { return may_share(a, b); });
      });
    };
    std::string why;
    if (test && shares(*test))
      why = (resamples ? "makes rows of its input, which may hold rows of "
                         "/data/test; put a \"split\" before it and resample "
                         "its part for training alone"
                       : "learns from its first input, which may hold rows of "
                         "/data/test; put a \"split\" before it and its part "
                         "for training first") +
            std::string(", or let /data/test come from another source");
    else if (held_out && shares(train))
      why = (resamples ? "makes rows of its input"
                       : "learns from its first input") +
            std::string(", of which /data/test_fraction makes rows of the test "
                        "set; put a \"split\" before it and name its parts in "
                        "/data/train and /data/test, or let "
                        "/data/test_fraction be 0");
    const std::string pointer = pointer_of(i) + "/from";
    if (!why.empty())
      out.push_back({errc::invalid_job,
                     pointer + ": \"" + to_string(nodes[i].what) + "\" " + why,
                     pointer});
  }
  return out;
}

} // namespace ballast::graph
