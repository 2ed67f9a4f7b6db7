/// `data.sources` and `data.graph`: the fields of a node come from the
/// catalogue of operators.
#include "runtime/job/job_field.hpp"

#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using fields_t = std::vector<job_field>;
using node_access = std::function<graph::node&(job&)>;

std::vector<std::string> formats_of_sources() {
  std::vector<std::string> out;
  for (source_format one : table_file_formats)
    out.push_back(to_string(one));
  out.push_back(to_string(source_format::sql));
  out.push_back(to_string(source_format::flight));
  out.push_back(to_string(source_format::list_files));
  return out;
}

void add_source(fields_t& f, const std::string& name) {
  const std::string prefix = "/data/sources/" + name;
  const source_access of = [name](job& j) -> source_spec& {
    return j.data.sources[name];
  };
  add_field(
      f, prefix + "/format",
      [of](job& j) -> field_place { return &of(j).format; },
      "As in `data.train`; of tables only. `list_files`: a row for each file, "
      "with its name (`path`) and size (`bytes`).")
      .one_of(formats_of_sources())
      .must();
  add_table_fields(f, prefix, of);
  add_field(
      f, prefix + "/uri", [of](job& j) -> field_place { return &of(j).uri; },
      "The files that are listed: a path, a glob, or a URI as of a table.")
      .is(text_kind::uri)
      .must()
      .only_with("format", source_format::list_files);
}

void add_option(fields_t& f, const std::string& prefix, const node_access& of,
                const graph::operator_about& known, const graph::option& one) {
  const std::string name = one.name;
  const graph::op what = known.what;
  job_field& out = add_field(
      f, prefix + "/" + name,
      [of, name, what](job& j) -> field_place {
        graph::node& node = of(j);
        node.what = what; // of a fresh one it is any
        return std::visit([](auto& value) -> field_place { return &value; },
                          graph::option_of(node, name));
      },
      one.doc);
  out.only_with("op", what);
  if (one.required)
    out.must();
  if (!one.words.empty())
    out.one_of(one.words);
  if (one.is == graph::option::kind::path)
    out.is(text_kind::path);
  if (one.is == graph::option::kind::json)
    out.any_json();
  out.range = {one.low, one.high, one.low_excluded, false};
  const bool counts = one.required;
  if (std::holds_alternative<std::vector<std::string>>(one.usual) ||
      std::holds_alternative<std::map<std::string, std::string>>(one.usual))
    out.items(counts ? 1 : 0, 4096);
  if (std::holds_alternative<std::vector<std::string>>(one.usual))
    out.one_or_more();
}

void add_node(fields_t& f, size_t index) {
  const std::string prefix = graph::pointer_of(index);
  const node_access of = [index](job& j) -> graph::node& {
    if (j.data.graph.size() <= index)
      j.data.graph.resize(index + 1);
    return j.data.graph[index];
  };
  add_field(
      f, prefix + "/op", [of](job& j) -> field_place { return &of(j).what; },
      "What it does.")
      .must();
  add_field(
      f, prefix + "/from", [of](job& j) -> field_place { return &of(j).from; },
      "What it reads: names of sources, and of nodes before it. Empty: the "
      "node before it; of the first one the only source.")
      .is(text_kind::name)
      .items(0, 64)
      .one_or_more();
  add_field(
      f, prefix + "/as", [of](job& j) -> field_place { return &of(j).as; },
      "Its name, for nodes behind it and for `from` of `data.train`; of "
      "`split` one for each part.")
      .is(text_kind::name)
      .items(0, 16)
      .one_or_more();
  for (const graph::operator_about& known : graph::operator_catalogue())
    for (const graph::option& one : known.options)
      add_option(f, prefix, of, known, one);
}

} // namespace

void add_graph_fields(fields_t& f, const job_form& form) {
  for (const std::string& name : form.sources)
    add_source(f, name);
  for (size_t i = 0; i < form.graph_nodes; ++i)
    add_node(f, i);
}

} // namespace ballast
