/// Reads the rows behind the endpoints of one flight, over connections of its
/// own; several readers work at once (ordered_parts). An endpoint that fails is
/// read again from its beginning, at its next location, and what was handed on
/// before is skipped, if it is still the same. Includes Arrow; for source files
/// of data/ only.
///
/// One thread; cancel() from any. Errors: ballast_error{unreachable},
/// {invalid_data} with the number of the endpoint and its server, in the
/// words of a job; no secret is in any of them.
#pragma once

#include "data/source/batch_pieces.hpp"
#include "data/source/flight_call.hpp"
#include "data/source/flight_place.hpp"
#include "store/work_watch.hpp"

#include <arrow/flight/types.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ballast::data {

/// What all parts of a source know about it.
struct flight_terms {
  flight_place place;
  arrow::flight::FlightDescriptor descriptor;
  flight_access access;
  std::string source;            // "localhost:8815/people", for messages
  std::string pointer;           // of the source
  std::string statement_pointer; // of path, query or table
  std::chrono::milliseconds retry_wait{500};
  store::work_watch stop;
};

constexpr int flight_attempts_max = 4;

/// After the last attempt to ask for the flight.
[[noreturn]] void refuse_flight(const flight_terms& terms,
                                const flight_failure& why, int attempts);

class flight_reader {
public:
  using batch = std::shared_ptr<arrow::RecordBatch>;
  using taker = std::function<bool(batch)>;

  /// `told`: the columns that every endpoint must send; null: not known yet.
  /// Both the terms and the flight must outlive it.
  flight_reader(const flight_terms& terms,
                const arrow::flight::FlightInfo& flight,
                std::shared_ptr<arrow::Schema> told, std::vector<int> chosen);
  ~flight_reader();
  flight_reader(const flight_reader&) = delete;
  flight_reader& operator=(const flight_reader&) = delete;

  /// Of the first endpoint.
  std::shared_ptr<arrow::Schema> schema();
  /// Pieces of plain values; ends early once `give` returns false.
  void read(size_t endpoint, const taker& give);
  void cancel();

private:
  struct delivery;
  flight_connection& connection(const std::string& location);
  void attempt(size_t endpoint, const std::string& location, delivery& done,
               const taker& give);
  void check_columns(size_t endpoint, const arrow::Schema& sent) const;
  template <class Work>
  void with_retries(size_t endpoint, const delivery& done, Work work);
  void wait(std::chrono::milliseconds time);
  bool cancelled();
  std::vector<std::string> locations_of(size_t endpoint) const;
  std::string name_of(size_t endpoint) const;

  const flight_terms& terms_;
  const arrow::flight::FlightInfo& flight_;
  const std::shared_ptr<arrow::Schema> told_;
  const std::vector<int> wanted_;
  std::shared_ptr<arrow::Schema> given_; // of the batches handed on
  std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
  std::map<std::string, std::unique_ptr<flight_connection>> connections_;
};

} // namespace ballast::data
