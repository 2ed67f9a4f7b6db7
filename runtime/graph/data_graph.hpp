/// The graph of a job's data as it is written, and who reads whom: nodes in a
/// list, each of which reads sources and nodes before it. Pure values; mistakes
/// are returned with their JSON pointer.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/graph/operator_catalogue.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast::graph {

struct node {
  op what{};
  std::vector<std::string> from; // empty: the node before, or the only source
  std::vector<std::string> as;   // empty: only the next node reads it
  /// Those of the operator's catalogue.
  std::map<std::string, option_value> options;

  bool operator==(const node&) const = default;
};

/// The place of an option's value, made with its usual value where there is
/// none yet. Precondition: the operator has this option.
option_value& option_of(node& in, const std::string& name);

template <class T>
T value_of(const node& in, const std::string& name) {
  const auto found = in.options.find(name);
  return std::get<T>(found == in.options.end()
                         ? find_option(in.what, name)->usual
                         : found->second);
}

/// An output of a source, or of a node.
struct output {
  bool of_source = false;
  size_t index = 0; // of the source by name, or of the node
  size_t port = 0;  // of a node with several

  bool operator==(const output&) const = default;
};

class wiring {
public:
  /// `sources`: their names, in order.
  wiring(const std::vector<std::string>& sources,
         const std::vector<node>& nodes);

  /// Empty if every node's inputs are known; each names its field.
  const std::vector<failure>& mistakes() const { return mistakes_; }
  /// By node, in the order of its `from`.
  const std::vector<std::vector<output>>& inputs() const { return inputs_; }
  /// What a name stands for; nothing: no source and no node has it.
  std::optional<output> find(const std::string& name) const;
  /// "; did you mean ...?", or which names there are.
  std::string advice(const std::string& name) const;
  /// The nodes, and the sources, that this output needs; each in order. Of a
  /// node with an output for each input only that input, and the first if it is
  /// fitted.
  struct needed {
    std::set<size_t> sources;
    std::set<size_t> nodes;
  };
  needed needs(const output& what) const;

  /// What one output of a node reads; of a fitted one also what it is fitted
  /// on, which comes first.
  std::vector<output> reads(const output& of) const;

private:
  void add_name(const std::string& name, const output& what,
                const std::string& pointer);
  void connect(const node& one, size_t index);
  void connect_default(const node& one, size_t index, size_t sources);
  void check(const node& one, size_t index);

  std::map<std::string, output> names_;
  std::vector<std::string> later_; // names that a node behind has
  std::vector<std::vector<output>> inputs_;
  std::vector<bool> each_input_; // by node: operator_about::each_input
  std::vector<bool> fitted_;     // likewise
  std::vector<failure> mistakes_;
};

/// Row-by-row operators between a source and a node whose rows are read again
/// rather than kept.
constexpr size_t read_again_max = 8;

/// The nodes whose rows are kept while this output is computed: those that more
/// than one reader needs, so that each is computed once, however the graph
/// branches. Not kept, but read again, are sources, and what lies at most
/// read_again_max row-by-row operators (filter, check, select, drop, rename,
/// cast, derive, limit) behind one. So there are at most as many readings of
/// sources as there are inputs of nodes, times the times of a `repeat`. A split
/// by time and a repeat count as two readers. Nor is a node kept that changes
/// each of its inputs row by row: whoever reads it reads its inputs, and a
/// fitted one reads the first once more.
std::set<size_t> kept_nodes(const wiring& wires, const std::vector<node>& nodes,
                            const output& what);

/// Nodes whose rows a fitted node learns from, before it is known who else
/// reads them, and which columns.
std::set<size_t> learned_from(const wiring& wires,
                              const std::vector<node>& nodes);

/// What a node's draws hang on, beside the seed of the job: its names, or where
/// it has none, its operator and its place among the nameless ones of that
/// operator: "train, test", "shuffle 1".
std::string draws_as(const std::vector<node>& nodes, size_t index);

/// "/data/graph/2"
std::string pointer_of(size_t node);
/// How messages call a node: by its name, or by its place: "filter 3".
std::string name_of(const std::vector<node>& nodes, size_t index);

} // namespace ballast::graph
