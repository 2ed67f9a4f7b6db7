#include "data/source/database_source.hpp"

#include "data/source/database_place.hpp"
#include "data/source/flight_place.hpp"
#include "data/source/flight_stream.hpp"
#include "runtime/base/printable.hpp"

namespace ballast::data {

static database_spec spec_of_database(const source_spec& spec) {
  database_spec out{
      spec.uri,           spec.query,        spec.table, spec.password_env,
      spec.password_file, spec.partition_by, {}};
  if (spec.connections)
    out.connections = uint32_t(*spec.connections);
  return out;
}

std::unique_ptr<database_stream> open_database(const source_spec& spec,
                                               const std::string& pointer,
                                               const store::work_watch& stop) {
  const database_spec what = spec_of_database(spec);
  if (spec.format != source_format::flight && !is_flight(spec.uri))
    return open_database(what, {pointer, stop});
  flight_request request;
  request.pointer = pointer;
  request.stop = stop;
  return open_flight(what,
                     spec.format == source_format::flight ? flight_kind::flight
                                                          : flight_kind::sql,
                     request);
}

std::string name_of_database(const source_spec& spec,
                             const std::string& pointer) {
  if (spec.format == source_format::flight || is_flight(spec.uri))
    return name_of_flight(spec_of_database(spec), pointer);
  return place_of_database(spec.uri, pointer).name +
         (spec.table.empty() ? "" : ": " + spec.table);
}

std::vector<std::string> notes_of_stream(const record_stream& from,
                                         const std::string& name) {
  std::vector<std::string> out;
  if (const auto* sent = dynamic_cast<const database_stream*>(&from))
    for (const std::string& note : sent->notes())
      out.push_back(printable(name) + ": " + note);
  return out;
}

} // namespace ballast::data
