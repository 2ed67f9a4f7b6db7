#include "data/source/flight_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/rows_hash.hpp"
#include "data/source/database_errors.hpp"
#include "data/source/database_kinds.hpp"
#include "data/source/flight_reader.hpp"
#include "data/source/ordered_parts.hpp"
#include "data/source/postgres_parts.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/ipc/dictionary.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

namespace ballast::data {

namespace {

using arrow::flight::FlightDescriptor;
using arrow::flight::FlightInfo;

constexpr uint32_t flight_connections_by_default = 4;
constexpr int64_t bytes_ahead_of_flight = 32 << 20; // for each connection

FlightDescriptor descriptor_of(const database_spec& spec, flight_kind kind,
                               const flight_place& place,
                               const std::string& pointer) {
  const auto refuse = [&](const std::string& field, const std::string& why) {
    throw ballast_error(errc::invalid_job, why, pointer + field);
  };
  if (spec.query.size() > query_bytes_max)
    refuse("/query", "the query is longer than " +
                         std::to_string(query_bytes_max) + " bytes");
  if (!spec.partition_by.empty())
    refuse("/partition_by", "a Flight server divides the rows itself: remove "
                            "this field");
  if (kind == flight_kind::sql) {
    if (!place.path.empty())
      refuse("/uri", "Flight SQL has no paths: leave out what follows the port "
                     "in the URI, or choose the format \"flight\"");
    if (spec.query.empty() == spec.table.empty())
      refuse("/query", "expected either a query or a table");
    return FlightDescriptor::Command(statement_command(
        spec.table.empty()
            ? without_end(spec.query)
            : "select * from " + quoted_table(spec.table, pointer + "/table")));
  }
  if (spec.query.empty() == place.path.empty())
    refuse("/query", spec.query.empty()
                         ? "expected a path behind the port in the URI, or a "
                           "command in query"
                         : "expected a path in the URI or a command in query, "
                           "found both");
  return spec.query.empty() ? FlightDescriptor::Path(place.path)
                            : FlightDescriptor::Command(spec.query);
}

std::string certificates_in(const std::string& path,
                            const std::string& pointer) {
  if (path.empty())
    return {};
  constexpr std::streamsize bytes_max = 1 << 20;
  std::string out(size_t(bytes_max) + 1, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(out.data(), bytes_max + 1);
  out.resize(size_t(file.gcount()));
  if (out.empty() || out.size() > size_t(bytes_max))
    throw ballast_error(errc::invalid_job,
                        printable(path) + ": no certificates can be read from "
                                          "this file; expected PEM of at most "
                                          "1 MiB",
                        pointer);
  return out;
}

class flight_stream final : public database_stream {
public:
  flight_stream(const database_spec& spec, flight_kind kind,
                const flight_request& request)
      : connections_(spec.connections.value_or(flight_connections_by_default)) {
    if (connections_ < 1 || connections_ > database_connections_max)
      throw ballast_error(
          errc::invalid_job,
          "expected 1 to " + std::to_string(database_connections_max) +
              " connections, found " + std::to_string(connections_),
          request.pointer + "/connections");
    const std::string& pointer = request.pointer;
    terms_.place = place_of_flight(spec.uri, pointer + "/uri");
    terms_.descriptor = descriptor_of(spec, kind, terms_.place, pointer);
    terms_.access.user = terms_.place.user;
    terms_.access.secret = password_of(spec, pointer);
    terms_.access.patience = request.patience;
    terms_.access.tls_certificates =
        certificates_in(terms_.place.tls_ca_file, pointer + "/uri");
    terms_.source =
        !spec.query.empty()
            ? (kind == flight_kind::sql ? "query on " : "command on ") +
                  terms_.place.name
            : name_of_flight(spec, pointer);
    terms_.pointer = pointer;
    terms_.statement_pointer = pointer + (!spec.table.empty()   ? "/table"
                                          : !spec.query.empty() ? "/query"
                                                                : "/uri");
    terms_.retry_wait = request.retry_wait;
    terms_.stop = request.stop;
    if (!terms_.access.user.empty() && terms_.access.secret.empty())
      throw ballast_error(errc::invalid_job,
                          "the URI names a user without a password; expected "
                          "password_env or password_file",
                          pointer + "/uri");
    ask();
    find_columns();
  }

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }

  void choose(std::vector<int> columns) override {
    check_chosen(columns, size_t(schema_->num_fields()));
    if (reading_)
      throw ballast_error(errc::internal, "columns were chosen too late");
    chosen_ = std::move(columns);
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    if (!reading_) {
      if (tickets_used_)
        ask();
      reading_ = read(chosen_);
    }
    return take_arrow(pieces_.next([this] { return reading_->parts->next(); }),
                      errc::device_failed, terms_.source);
  }

  std::string place_of(int64_t row) const override {
    return terms_.source + ": row " +
           std::to_string(pieces_.rows_before() + row + 1);
  }

  std::string identity() override {
    if (reading_)
      throw ballast_error(errc::internal, "an identity was asked for too late");
    std::vector<int> all(size_t(schema_->num_fields()));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = int(i);
    rows_hash rows;
    const std::unique_ptr<reading> them = read(all);
    while (const auto batch = them->parts->next())
      rows.update(*batch);
    content_hash hash;
    hash.update(schema_->ToString(false));
    const uint64_t digest = rows.digest();
    hash.update(&digest, sizeof digest);
    return "flight rows=" + std::to_string(rows.rows()) +
           " hash=" + hex16(hash.digest());
  }

  const std::vector<std::string>& notes() const override { return notes_; }

private:
  struct reading {
    std::vector<std::unique_ptr<flight_reader>> readers;
    std::unique_ptr<ordered_parts> parts; // ends before its readers
  };

  void ask() {
    for (int attempt = 1;; ++attempt) {
      std::unique_ptr<flight_failure> failed;
      std::unique_ptr<flight_connection> server;
      try {
        server = std::make_unique<flight_connection>(terms_.place.location,
                                                     terms_.access);
      } catch (const flight_failure& why) {
        refuse_flight(terms_, why, attempt);
      }
      while_watched(
          terms_.stop, [&] { server->cancel(); },
          [&] {
            try {
              flight_ = server->info(terms_.descriptor);
            } catch (const flight_failure& why) {
              failed = std::make_unique<flight_failure>(why);
            }
          });
      if (!failed)
        break;
      // A query that failed would fail again, and one that takes too long
      // would again.
      if (failed->fault() != flight_fault::away ||
          attempt == flight_attempts_max)
        refuse_flight(terms_, *failed, attempt);
      wait(terms_.retry_wait * (1 << (attempt - 1)));
    }
    tickets_used_ = false;
    if (flight_->endpoints().size() > flight_endpoints_max)
      throw ballast_error(errc::invalid_data,
                          terms_.source + ": the flight has " +
                              std::to_string(flight_->endpoints().size()) +
                              " endpoints; expected at most " +
                              std::to_string(flight_endpoints_max),
                          terms_.statement_pointer);
  }

  void wait(std::chrono::milliseconds time) const {
    constexpr std::chrono::milliseconds slice{20};
    for (; time.count() > 0; time -= slice) {
      store::check_stop(terms_.stop);
      std::this_thread::sleep_for(std::min(time, slice));
    }
  }

  void refuse_columns(const std::string& why) const {
    throw ballast_error(errc::invalid_data, terms_.source + ": " + why,
                        terms_.statement_pointer);
  }

  /// A server need not tell them with the flight.
  void find_columns() {
    if (!flight_->serialized_schema().empty()) {
      arrow::ipc::DictionaryMemo memo;
      const auto told = flight_->GetSchema(&memo);
      if (!told.ok())
        refuse_columns("the server's list of columns is no sound Arrow: " +
                       printable(told.status().message(), 300));
      told_ = *told;
    }
    if (told_ == nullptr && !flight_->endpoints().empty()) {
      flight_reader first(terms_, *flight_, nullptr, {});
      while_watched(
          terms_.stop, [&] { first.cancel(); },
          [&] { told_ = first.schema(); });
      tickets_used_ = true;
    }
    if (told_ == nullptr || told_->num_fields() == 0)
      refuse_columns("it has no columns");
    std::set<std::string> names;
    std::vector<std::shared_ptr<arrow::Field>> fields;
    const std::shared_ptr<arrow::Schema> plain = plain_schema(told_);
    for (const auto& field : plain->fields()) {
      const std::string name = "'" + printable(field->name()) + "'";
      if (!names.insert(field->name()).second)
        refuse_columns("two columns are called " + name +
                       "; give each a name of its own");
      if (!can_be_hashed(*field->type()))
        refuse_columns("column " + name + " has the type " +
                       field->type()->ToString() +
                       ", which cannot be read; cast it on the server");
      chosen_.push_back(int(fields.size()));
      fields.push_back(arrow::field(field->name(), field->type()));
    }
    schema_ = arrow::schema(std::move(fields));
  }

  std::unique_ptr<reading> read(const std::vector<int>& columns) {
    const size_t endpoints = flight_->endpoints().size();
    auto out = std::make_unique<reading>();
    std::vector<ordered_parts::reader> work;
    for (size_t i = 0; i < std::min<size_t>(connections_, endpoints); ++i) {
      out->readers.push_back(
          std::make_unique<flight_reader>(terms_, *flight_, told_, columns));
      flight_reader* one = out->readers.back().get();
      work.push_back({[one](size_t endpoint, const auto& give) {
                        one->read(endpoint, give);
                      },
                      [one] { one->cancel(); }});
    }
    tickets_used_ = true;
    out->parts = std::make_unique<ordered_parts>(
        endpoints, std::move(work),
        bytes_ahead_of_flight * int64_t(connections_), terms_.stop);
    return out;
  }

  const uint32_t connections_;
  flight_terms terms_;
  std::unique_ptr<FlightInfo> flight_;
  bool tickets_used_ = false; // some servers take each once
  std::shared_ptr<arrow::Schema> told_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::string> notes_;
  std::vector<int> chosen_;
  batch_pieces pieces_;
  std::unique_ptr<reading> reading_;
};

} // namespace

std::unique_ptr<database_stream> open_flight(const database_spec& spec,
                                             flight_kind kind,
                                             const flight_request& request) {
  return std::make_unique<flight_stream>(spec, kind, request);
}

std::string name_of_flight(const database_spec& spec,
                           const std::string& pointer) {
  const flight_place place = place_of_flight(spec.uri, pointer + "/uri");
  std::string out = place.name;
  for (const std::string& one : place.path)
    out += "/" + printable(one, 100);
  return out + (spec.table.empty() ? "" : ": " + printable(spec.table, 100));
}

} // namespace ballast::data
