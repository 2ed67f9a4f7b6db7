#include "data/sink/source_versions.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/source/database_place.hpp"
#include "data/source/database_source.hpp"
#include "data/source/flight_place.hpp"
#include "data/source/found_files.hpp"
#include "data/source/source_file.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>

namespace ballast::data {

namespace {

std::string version_of(const std::string& path, const std::string& pointer) {
  const file_stamp stamp = stamp_of(path, pointer);
  return std::to_string(stamp.size) + " " + std::to_string(stamp.mtime_ns) +
         " " + std::to_string(stamp.inode);
}

} // namespace

source_versions::source_versions(const data_spec& data,
                                 const std::vector<std::string>& outputs,
                                 const store::work_watch& stop,
                                 found_files* found)
    : data_(data), stop_(stop) {
  for (const std::string& output : outputs)
    for (const std::string& name : graph_sources(data, output))
      if (std::find(sources_.begin(), sources_.end(), name) == sources_.end())
        sources_.push_back(name);
  again_ = sources_read_again(data, outputs);
  found_ = look(found);
}

std::vector<source_versions::file>
source_versions::look(found_files* found) const {
  std::vector<file> out;
  for (const std::string& name : sources_) {
    const source_spec& spec = data_.sources.at(name);
    const std::string pointer = "/data/sources/" + name + "/uri";
    if (!is_sent(spec.format)) {
      for (const stored_file& one : find_files(found, spec.uri, pointer, stop_))
        out.emplace_back(one.name, one.system ? one.version
                                              : version_of(one.path, pointer));
    } else if (spec.format == source_format::sql && !is_flight(spec.uri)) {
      const database_place place = place_of_database(spec.uri, pointer);
      if (place.kind == database_kind::sqlite)
        out.emplace_back(place.path, version_of(place.path, pointer));
      else
        look_at_rows(name, out);
    } else {
      look_at_rows(name, out);
    }
  }
  return out;
}

void source_versions::look_at_rows(const std::string& name,
                                   std::vector<file>& out) const {
  if (!again_.contains(name))
    return;
  const source_spec& spec = data_.sources.at(name);
  const std::string pointer = "/data/sources/" + name;
  out.emplace_back(name_of_database(spec, pointer),
                   open_database(spec, pointer, stop_)->identity());
}

std::string source_versions::text() const {
  std::string out;
  for (const auto& [name, version] : found_)
    out += name + " " + version + "\n";
  return out;
}

void source_versions::check_unchanged() const {
  const std::vector<file> now = look(nullptr);
  if (now == found_)
    return;
  const auto [was, is] =
      std::mismatch(found_.begin(), found_.end(), now.begin(), now.end());
  throw ballast_error(
      errc::invalid_data,
      printable(was != found_.end() ? was->first : is->first) +
          ": changed while it was read, so that nothing is written; try again "
          "when it is complete");
}

} // namespace ballast::data
