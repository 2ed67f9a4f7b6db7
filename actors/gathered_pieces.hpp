/// Pieces of an image that workers hold (state_note.hpp), into a file of the
/// coordinator: written there by the worker where it sees the file, else
/// fetched.
///
/// Throws ballast_error of the service; disk_full and run_dir_unusable of the
/// file.
#pragma once

#include "actors/state_note.hpp"
#include "data/transfer/chunk_service.hpp"
#include "runtime/base/on_threads.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ballast::actors {

/// A worker that holds an image, or a part of it.
struct image_holder {
  std::string name;
  std::string address;
  /// It is lost: what it was asked for need not be waited for. Any thread; may
  /// be empty.
  std::function<bool()> is_lost = {};
};

/// Asks one worker for blobs. One thread at a time.
class holder_client {
public:
  holder_client(const image_holder& to, const std::string& token);
  /// Throws, too, once the worker is lost.
  std::string blob(const std::string& name);
  const std::string& worker() const { return worker_; }

private:
  std::string worker_;
  data::bulk_watch watch_;
  std::unique_ptr<data::chunk_client> client_;
};

/// So many workers are asked, or write, at once.
constexpr size_t asked_max = 16;
/// Of these, so many send a piece to here: what that may take is bounded.
constexpr size_t fetched_max = 2;

/// `work(i)` for all i below `count`, on some threads; throws the first error.
template <class Work>
void for_all(size_t count, size_t threads, const Work& work) {
  for_each_piece(count, threads, "bl-gather", work);
}
/// An error of `work` says that `what` did not come from the worker; those of
/// the file keep their own. `then`: what comes of it.
void named(const std::string& what, const image_holder& worker,
           const std::string& then, const std::function<void()>& work);

/// The worker sees the file, and what it writes there arrives here: it has left
/// a mark. Else the log says why not, unless the file is just not there.
bool writes_into(holder_client& from, const data::unfinished_state& into);
/// The worker writes these bytes: their checksum, if they are to be checked.
/// Nothing: it does not see the file, or cannot write there, which the log
/// says. Precondition: writes_into().
std::optional<std::string> order_written(holder_client& from,
                                         const std::string& image,
                                         const byte_range& part,
                                         const data::unfinished_state& into,
                                         bool checked = false);
/// These bytes, at most a piece, are brought here and written.
std::string bring(holder_client& from, const std::string& image,
                  const byte_range& part, const data::unfinished_state& into);

} // namespace ballast::actors
