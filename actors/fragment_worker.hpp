/// The part of a worker that reads files for its coordinator while that
/// prepares a set (runtime/messages/fragments.hpp): threads, begun with the
/// first order, and a data service that has what they made. Owned by the
/// worker's actor; add() waits for nothing. What goes wrong is an answer.
#pragma once

#include "runtime/messages/fragments.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace ballast::actors {

struct fragment_worker_config {
  std::string bind_host = "127.0.0.1";
  std::filesystem::path cache_folder;
};

class fragment_worker {
public:
  /// `answer` is called on its threads, once for each order.
  fragment_worker(fragment_worker_config config,
                  std::function<void(fragment_ready)> answer);
  /// Ends what is being read, which may take as long as a block of a slow disk.
  ~fragment_worker();
  fragment_worker(const fragment_worker&) = delete;
  fragment_worker& operator=(const fragment_worker&) = delete;

  void add(prepare_fragment order);
  /// What was made is needed no more, and removed in the end.
  void set_is_made();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace ballast::actors
