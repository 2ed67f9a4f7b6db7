/// Rules of `data.sources` and `data.graph`: who reads whom, and that what is
/// trained on is there.
#include "runtime/graph/graph_leaks.hpp"
#include "runtime/job/job_field.hpp"

namespace ballast {

namespace {

/// What is wrong with a part makes whatever depends on it uncertain.
bool has_mistake_in(const std::vector<failure>& mistakes,
                    const std::string& pointer) {
  for (const failure& one : mistakes)
    if (one.pointer == pointer || one.pointer.rfind(pointer + "/", 0) == 0)
      return true;
  return false;
}

void check_from(const source_spec& source, const std::string& prefix,
                const graph::wiring& wires, std::vector<failure>& mistakes) {
  const std::string field = prefix + "/from";
  if (source.format != source_format::graph || has_mistake_in(mistakes, prefix))
    return;
  if (!wires.find(source.from))
    mistakes.push_back({errc::invalid_job,
                        field +
                            ": there is no source and no node with the "
                            "name \"" +
                            source.from + "\"" + wires.advice(source.from),
                        field});
}

/// What is left out of one input of a zip would shift the rows behind it, and
/// of a batch would take the others along.
void check_places(const data_spec& data, std::vector<failure>& mistakes) {
  const std::string otherwise = ", or let /data/on_error be \"fail\"";
  for (size_t i = 0; i < data.graph.size(); ++i) {
    const std::string pointer = graph::pointer_of(i);
    if (data.graph[i].what == graph::op::zip)
      mistakes.push_back(
          {errc::invalid_job,
           pointer +
               ": \"zip\" pairs rows by their places, which shift where a row "
               "is left out; \"join\" by a column" +
               otherwise,
           pointer});
    if (data.graph[i].what == graph::op::batch)
      mistakes.push_back(
          {errc::invalid_job,
           pointer +
               ": one bad row would take its whole \"batch\" along; leave the "
               "node out" +
               otherwise,
           pointer});
  }
}

/// Whether two sources have the same rows is not known before they are read;
/// but two names for one place are.
std::vector<size_t> sources_that_are_one(const data_spec& data) {
  std::vector<const source_spec*> all;
  std::vector<size_t> out;
  for (const auto& [name, source] : data.sources) {
    size_t first = 0;
    while (first < all.size() && (all[first]->uri != source.uri ||
                                  all[first]->table != source.table ||
                                  all[first]->query != source.query))
      ++first;
    out.push_back(first);
    all.push_back(&source);
  }
  return out;
}

/// What is learned of test rows makes a model look better than it is.
void check_leaks(const data_spec& data, const graph::wiring& wires,
                 std::vector<failure>& mistakes) {
  if (data.train.format != source_format::graph)
    return;
  const auto train = wires.find(data.train.from);
  std::optional<graph::output> test;
  if (data.test && data.test->format == source_format::graph)
    test = wires.find(data.test->from);
  const std::vector<failure> found =
      graph::leaks(wires, data.graph, sources_that_are_one(data), *train, test,
                   !data.test && data.test_fraction > 0);
  mistakes.insert(mistakes.end(), found.begin(), found.end());
}

} // namespace

void check_graph(const job& in, std::vector<failure>& mistakes) {
  if (has_mistake_in(mistakes, "/data/graph") ||
      has_mistake_in(mistakes, "/data/sources"))
    return;
  std::vector<std::string> names;
  for (const auto& [name, source] : in.data.sources)
    names.push_back(name);
  const graph::wiring wires(names, in.data.graph);
  mistakes.insert(mistakes.end(), wires.mistakes().begin(),
                  wires.mistakes().end());
  if (in.data.on_error != error_policy::fail)
    check_places(in.data, mistakes);
  check_from(in.data.train, "/data/train", wires, mistakes);
  if (in.data.test)
    check_from(*in.data.test, "/data/test", wires, mistakes);
  if (!has_mistake_in(mistakes, "/data"))
    check_leaks(in.data, wires, mistakes);
}

} // namespace ballast
