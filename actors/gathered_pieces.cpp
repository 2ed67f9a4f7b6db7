#include "actors/gathered_pieces.hpp"

#include "actors/blob_pieces.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/errors.hpp"

#include <chrono>

namespace ballast::actors {

namespace {

constexpr std::chrono::seconds connect_patience{5};

} // namespace

holder_client::holder_client(const image_holder& to, const std::string& token)
    : worker_(to.name), watch_(bulk_patience),
      client_(
          data::chunk_client::connect(to.address, token, connect_patience)) {
  watch_.given_up = to.is_lost;
}

std::string holder_client::blob(const std::string& name) {
  try {
    return client_->fetch_blob(name, watch_);
  } catch (const ballast_error&) {
    if (watch_.given_up && watch_.given_up())
      throw ballast_error(errc::worker_lost, "it is lost");
    throw;
  }
}

void named(const std::string& what, const image_holder& worker,
           const std::string& then, const std::function<void()>& work) {
  try {
    work();
  } catch (const ballast_error& e) {
    const errc code = e.what_failed().code;
    if (code == errc::disk_full || code == errc::run_dir_unusable)
      throw;
    throw ballast_error(code, what + " did not come from worker " +
                                  worker.name + ": " + e.what_failed().message +
                                  "; " + then);
  }
}

namespace {

/// To an order to write something.
std::optional<std::string> answer_to(holder_client& from,
                                     const std::string& order) {
  const std::string answer = from.blob(order);
  try {
    return read_write_answer(answer);
  } catch (const ballast_error& e) {
    const errc code = e.what_failed().code;
    if (code != errc::disk_full && code != errc::run_dir_unusable)
      throw;
    // What holds for that process need not hold for this one: a read-only
    // mount, a limit on its files. If it does, this one says so.
    monitor::log().warn("worker {} does not write its part itself: {}; it is "
                        "fetched",
                        from.worker(), e.what());
    return std::nullopt;
  }
}

} // namespace

bool writes_into(holder_client& from, const data::unfinished_state& into) {
  mark_order order{{into.file(), into.token()}, data::new_mark()};
  if (!answer_to(from, mark_blob(order)))
    return false;
  if (into.take_mark(order.mark))
    return true;
  monitor::log().warn("worker {} sees {}, but what it writes there does not "
                      "arrive here: it has a copy of that folder, or an "
                      "overlay over it; its part is fetched",
                      from.worker(), into.file().string());
  order.gone = true;
  (void)answer_to(from, mark_blob(order));
  return false;
}

std::optional<std::string> order_written(holder_client& from,
                                         const std::string& image,
                                         const byte_range& part,
                                         const data::unfinished_state& into,
                                         bool checked) {
  return answer_to(
      from, write_blob({image, part, {into.file(), into.token()}, checked}));
}

std::string bring(holder_client& from, const std::string& image,
                  const byte_range& part, const data::unfinished_state& into) {
  std::string piece = from.blob(piece_name(image, part.from));
  if (piece.size() != part.to - part.from)
    throw ballast_error(errc::invalid_data,
                        "a piece has " + std::to_string(piece.size()) +
                            " bytes, expected " +
                            std::to_string(part.to - part.from));
  into.write(part.from, piece);
  return piece;
}

} // namespace ballast::actors
