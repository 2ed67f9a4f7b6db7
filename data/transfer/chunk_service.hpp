/// The data plane of one process: an Arrow Flight server for its chunks (the
/// coordinator: all, from the prepared set; a worker: its store) and for other
/// named tables (a model's parameters), and the client that fetches them.
///
/// Connecting has a deadline; a fetch continues as long as bytes arrive
/// (data/transfer/stall_watch.hpp). Tickets carry the run's token; one of
/// another run is refused. (Chunks are immutable, so a ticket needs no
/// generation.)
#pragma once

#include "data/store/chunk.hpp"
#include "data/transfer/stall_watch.hpp"
#include "runtime/ledger/manifest.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

class chunk_service {
public:
  /// Finds a chunk to serve; null if it is not here. Called on Flight's
  /// threads.
  using finder = std::function<chunk_ptr(data_part, chunk_id)>;
  /// Builds the bytes of a named blob ("model"); nullopt if unknown. Called on
  /// Flight's threads.
  using blob_finder =
      std::function<std::optional<std::string>(const std::string& name)>;

  /// Listens on host:port (0 = any). ballast_error{port_in_use}.
  /// Both finders may be called from several threads at once, and may throw.
  static std::unique_ptr<chunk_service>
  start(const std::string& host, uint16_t port, const std::string& token,
        finder find, blob_finder find_blob);
  virtual ~chunk_service() = default;
  /// "host:port".
  virtual std::string address() const = 0;
  /// Cancels calls that are not done by then. Idempotent.
  virtual void shutdown(std::chrono::milliseconds deadline) = 0;
};

/// A connection to one chunk_service. Not thread-safe; one per thread.
class chunk_client {
public:
  /// Opens the channel and checks the token; ballast_error{unreachable}.
  static std::unique_ptr<chunk_client>
  connect(const std::string& address, const std::string& token,
          std::chrono::milliseconds deadline);
  virtual ~chunk_client() = default;

  /// Fetches chunks in one stream, verifies each checksum, and passes each to
  /// `arrived` on this thread. Reports each damaged arrival to `damaged` and
  /// fetches it once more. ballast_error{unreachable} (also: the peer lacks a
  /// chunk) or {invalid_data} (damaged twice) names source and chunk; chunks
  /// passed on before remain valid. {invalid_data} also where the peer itself
  /// reads that its chunk is damaged, at once. A stall is {unreachable}, too,
  /// and reports how many bytes had arrived and how long nothing did.
  virtual void
  fetch(data_part part, std::span<const ledger::chunk_info> chunks,
        const ledger::row_shape& row, const bulk_watch& how,
        const std::function<void(chunk_ptr)>& arrived,
        const std::function<void(const ledger::chunk_info&)>& damaged = {}) = 0;
  /// Single rows of chunks, at most flight_ticket::rows_max, as one chunk in
  /// this order; checked against the sender's checksum. Errors as above.
  virtual chunk_ptr fetch_rows(data_part part,
                               std::span<const ledger::row_ref> rows,
                               const ledger::row_shape& row,
                               const bulk_watch& how) = 0;
  /// The complete, verified blob; errors as above.
  virtual std::string fetch_blob(const std::string& name,
                                 const bulk_watch& how) = 0;
};

} // namespace ballast::data
