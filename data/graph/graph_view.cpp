#include "data/graph/graph_view.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/sink/json_rows.hpp"
#include "data/source/row_faults.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace ballast::data {

namespace {

using nlohmann::json;
using names = std::vector<std::string>;
using named_types = std::vector<std::pair<std::string, std::string>>;

std::string place_of(const source_spec& source) {
  return printable(source.uri) +
         (source.table.empty() ? "" : " " + printable(source.table));
}

class viewer {
public:
  viewer(const job& what, const store::work_watch& stop)
      : what_(what), stop_(stop), faults_(row_faults::of(what.data)),
        sources_(names_of_sources(what.data)),
        wires_(sources_, what.data.graph) {
    graph::wiring::needed used;
    for (const source_spec* one :
         {&what.data.train, what.data.test ? &*what.data.test : nullptr})
      if (one != nullptr && one->format == source_format::graph) {
        const auto more = wires_.needs(*wires_.find(one->from));
        used.sources.insert(more.sources.begin(), more.sources.end());
        used.nodes.insert(more.nodes.begin(), more.nodes.end());
      }
    for (size_t i = 0; i < sources_.size(); ++i)
      add_source(i, used.sources.count(i) > 0);
    const auto schemas = schemas_of_nodes(what.data, stop);
    for (size_t i = 0; i < what.data.graph.size(); ++i)
      add_node(i, used.nodes.count(i) > 0, schemas[i].get());
  }

  std::vector<shown_node> take() { return std::move(all_); }

private:
  /// Without the origin, which is the last.
  static named_types columns_of(const arrow::Schema& schema) {
    named_types out;
    for (int i = 0; i + 1 < schema.num_fields(); ++i)
      out.emplace_back(schema.field(i)->name(),
                       schema.field(i)->type()->ToString());
    return out;
  }

  std::string name_of(const graph::output& of) const {
    if (of.of_source)
      return sources_[of.index];
    const graph::node& node = what_.data.graph[of.index];
    return of.port < node.as.size()
               ? node.as[of.port]
               : graph::name_of(what_.data.graph, of.index);
  }

  void add_source(size_t index, bool used) {
    const source_spec& source = what_.data.sources.at(sources_[index]);
    shown_node& out = all_.emplace_back();
    out.name = sources_[index];
    out.parts = {out.name};
    out.what = to_string(source.format);
    out.detail = place_of(source);
    out.used = used;
    graph_stream rows(what_.data, graph::output{true, index, 0},
                      {.seed = what_.seed,
                       .stop = stop_,
                       .faults = faults_ ? &*faults_ : nullptr});
    out.columns = columns_of(*rows.schema());
  }

  void add_node(size_t index, bool used, const arrow::Schema* schema) {
    const graph::node& node = what_.data.graph[index];
    shown_node& out = all_.emplace_back();
    out.parts = node.as;
    if (out.parts.empty())
      out.parts = {graph::name_of(what_.data.graph, index)};
    for (const std::string& part : out.parts)
      out.name += (out.name.empty() ? "" : ", ") + part;
    out.what = to_string(node.what);
    for (const graph::output& input : wires_.inputs()[index])
      out.from.push_back(name_of(input));
    const json written = to_json(what_)["data"]["graph"][index];
    for (const auto& [name, value] : written.items())
      if (const auto* known = graph::find_option(node.what, name);
          known != nullptr && node.options.count(name) > 0 &&
          node.options.at(name) != known->usual)
        out.detail += (out.detail.empty() ? "" : ", ") + name + " " +
                      printable(value.is_string() ? value.get<std::string>()
                                                  : json_text(value));
    out.blocking = graph::about(node.what).how == graph::flow::blocking;
    out.used = used;
    out.columns_are_learned = schema == nullptr;
    if (schema != nullptr)
      out.columns = columns_of(*schema);
  }

  const job& what_;
  const store::work_watch stop_;
  std::optional<row_faults> faults_;
  const names sources_;
  const graph::wiring wires_;
  std::vector<shown_node> all_;
};

} // namespace

std::vector<shown_node> view_of(const job& what,
                                const store::work_watch& stop) {
  return viewer(what, stop).take();
}

std::string first_rows(const job& what, const std::string& node, uint64_t count,
                       const store::work_watch& stop) {
  std::optional<row_faults> faults = row_faults::of(what.data);
  graph_stream rows(
      what.data, node,
      {.seed = what.seed, .stop = stop, .faults = faults ? &*faults : nullptr});
  rows.choose_all();
  std::string out;
  while (count > 0) {
    const auto batch = rows.next();
    if (batch == nullptr)
      break;
    const auto taken = std::min<uint64_t>(count, uint64_t(batch->num_rows()));
    out += json_lines_of(*batch->Slice(0, int64_t(taken)));
    count -= taken;
  }
  return out;
}

} // namespace ballast::data
