#include "actors/gathered_pieces.hpp"

#include "actors/blob_pieces.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <vector>

namespace ballast::actors {

namespace {

constexpr std::chrono::seconds connect_patience{5};

} // namespace

std::unique_ptr<data::chunk_client> connect(const image_holder& to,
                                            const std::string& token) {
  return data::chunk_client::connect(to.address, token, connect_patience);
}

void for_all(size_t count, size_t threads,
             const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  const auto some = [&] {
    name_this_thread("bl-gather");
    for (size_t i = next++; i < count && !failed; i = next++)
      try {
        work(i);
      } catch (...) {
        failed = true;
        throw;
      }
  };
  std::vector<std::future<void>> running;
  for (size_t i = 0; i < std::min(threads, count); ++i)
    running.push_back(std::async(std::launch::async, some));
  for (std::future<void>& one : running)
    one.wait();
  for (std::future<void>& one : running)
    one.get();
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

std::optional<std::string> order_written(data::chunk_client& from,
                                         const std::string& image,
                                         const byte_range& part,
                                         const data::unfinished_state& into,
                                         bool checked) {
  return read_write_answer(from.fetch_blob(
      write_blob({image, part, {into.file(), into.token()}, checked}),
      bulk_patience));
}

std::string bring(data::chunk_client& from, const std::string& image,
                  const byte_range& part, const data::unfinished_state& into) {
  std::string piece =
      from.fetch_blob(piece_name(image, part.from), bulk_patience);
  if (piece.size() != part.to - part.from)
    throw ballast_error(errc::invalid_data,
                        "a piece has " + std::to_string(piece.size()) +
                            " bytes, expected " +
                            std::to_string(part.to - part.from));
  into.write(part.from, piece);
  return piece;
}

} // namespace ballast::actors
