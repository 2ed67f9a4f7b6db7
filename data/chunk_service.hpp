/// The data plane of one process: an Arrow Flight server for the chunks it
/// holds (the coordinator: all, from the prepared set; a worker: its store) and
/// for other named tables (a model's parameters), and the client to fetch them.
///
/// A connection has a deadline; what is fetched goes on as long as bytes
/// arrive (data/stall_watch.hpp). Tickets carry the run's token; one of another
/// run is refused. (Chunks are immutable, so a ticket needs no generation.)
#pragma once

#include "data/chunk.hpp"
#include "data/stall_watch.hpp"
#include "runtime/ledger/manifest.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast {

class chunk_service {
public:
  /// Finds a chunk to serve, null if not here. Called on Flight's threads.
  using finder = std::function<chunk_ptr(data_part, chunk_id)>;
  /// Makes the bytes of a named blob ("model"), nullopt if unknown. Called on
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
  /// Breaks off what is not done by then. Idempotent.
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

  /// Fetches chunks in one stream, verifies each checksum, and hands each to
  /// `arrived` on this thread; what arrives damaged is told to `damaged`, each
  /// time, and fetched once more.
  /// ballast_error{unreachable} (also: a chunk is not held there) or
  /// {invalid_data} (damaged twice) names source and chunk; the chunks that
  /// were handed on before stay good. A stall is {unreachable}, too, and says
  /// how many bytes had arrived and since when nothing did.
  virtual void
  fetch(data_part part, std::span<const chunk_info> chunks,
        const row_shape& row, const bulk_watch& how,
        const std::function<void(chunk_ptr)>& arrived,
        const std::function<void(const chunk_info&)>& damaged = {}) = 0;
  /// The blob, whole and verified; errors as above.
  virtual std::string fetch_blob(const std::string& name,
                                 const bulk_watch& how) = 0;
};

} // namespace ballast
