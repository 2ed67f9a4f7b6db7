#include "data/source/database_source.hpp"

#include "data/source/database_place.hpp"

namespace ballast::data {

std::unique_ptr<database_stream> open_database(const source_spec& spec,
                                               const std::string& pointer,
                                               const store::work_watch& stop) {
  database_spec what{
      spec.uri,           spec.query,        spec.table, spec.password_env,
      spec.password_file, spec.partition_by, {}};
  if (spec.connections)
    what.connections = uint32_t(*spec.connections);
  return open_database(what, {pointer, stop});
}

std::string name_of_database(const source_spec& spec,
                             const std::string& pointer) {
  return place_of_database(spec.uri, pointer).name +
         (spec.table.empty() ? "" : ": " + spec.table);
}

} // namespace ballast::data
