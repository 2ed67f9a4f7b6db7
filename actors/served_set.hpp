/// A data set on its way from the sources of a job to those who fetch its
/// chunks: prepared on a thread of its own, then served over Flight. Owned by
/// the shard manager and used by its thread, unless it says otherwise.
#pragma once

#include "actors/local_protocol.hpp"
#include "runtime/balance/chunk_labels.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ballast::actors {

struct shard_manager_config;

class served_set {
public:
  /// Begins at once. `ended` is called on the thread, as its last act, with
  /// what went wrong, or with nothing.
  served_set(const prepare_set& order, const shard_manager_config& config,
             std::function<void(const failure&)> ended);
  /// Waits for the thread, which after stop() may be as long as the read of a
  /// block from a slow disk.
  ~served_set();

  /// What it prepares is wanted no more. Any thread.
  void stop();
  /// Grows as long as the thread gets on. Any thread.
  uint64_t progress() const;

  // -- after the end of the thread ---
  /// What explains a failure: content of files. See
  /// data/source/source_error.hpp.
  const std::string& detail() const;

  // -- after its end without a failure ---
  set_prepared about() const;
  std::shared_ptr<const ledger::manifest> content() const;
  std::shared_ptr<const balance::chunk_labels> labels() const;
  /// To those who begin with it (served_checkpoint.hpp); empty: none.
  void serve(const std::string& checkpoint_file);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace ballast::actors
