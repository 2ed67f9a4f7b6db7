#include "data/graph/graph_view.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_stream.hpp"
#include "data/sink/json_rows.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <nlohmann/json.hpp>

#include <algorithm>

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
  explicit viewer(const job& what)
      : what_(what), sources_(names_of_sources(what.data)),
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
    for (size_t i = 0; i < what.data.graph.size(); ++i)
      add_node(i, used.nodes.count(i) > 0);
  }

  std::vector<shown_node> take() { return std::move(all_); }

private:
  named_types columns_of(const graph::output& of) const {
    graph_stream rows(what_.data, of, {.seed = what_.seed});
    const std::shared_ptr<arrow::Schema> all = rows.choose_all();
    named_types out;
    for (const auto& field : all->fields())
      out.emplace_back(field->name(), field->type()->ToString());
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
    out.columns = columns_of({true, index, 0});
  }

  void add_node(size_t index, bool used) {
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
    out.columns = columns_of({false, index, 0});
  }

  const job& what_;
  const names sources_;
  const graph::wiring wires_;
  std::vector<shown_node> all_;
};

} // namespace

std::vector<shown_node> view_of(const job& what) {
  return viewer(what).take();
}

std::string first_rows(const job& what, const std::string& node,
                       uint64_t count) {
  graph_stream rows(what.data, node, {.seed = what.seed});
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
