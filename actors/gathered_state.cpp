#include "actors/gathered_state.hpp"

#include "actors/blob_pieces.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

namespace ballast::actors {

using namespace std::chrono_literals;

namespace {

/// So many workers are asked, or write, at once.
constexpr size_t asked_max = 16;
/// Of these, so many send a piece to here: what that may take is bounded.
constexpr size_t fetched_max = 2;
constexpr std::chrono::seconds connect_patience{5};
/// Ranks apply a step at the same time but for what their machines differ.
constexpr std::chrono::seconds apply_patience{15};
constexpr std::chrono::milliseconds asked_every{20};

/// `work(i)` for all i below `count`, on some threads; throws the first error.
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

/// The error with the worker's name; those of the file keep their own.
void named(step_number after, const std::string& worker,
           const std::function<void()>& work) {
  try {
    work();
  } catch (const ballast_error& e) {
    const errc code = e.what_failed().code;
    if (code == errc::disk_full || code == errc::run_dir_unusable)
      throw;
    throw ballast_error(code, "the state of step " + to_string(after) +
                                  " did not come from worker " + worker + ": " +
                                  e.what_failed().message +
                                  "; tried again soon");
  }
}

} // namespace

struct gathered_state::source {
  std::string name;
  std::string address;
  std::string token;
  std::unique_ptr<data::chunk_client> client;
  state_note has;
};

gathered_state::gathered_state(step_number after,
                               const std::vector<holder>& by_rank,
                               const std::string& token)
    : after_(after) {
  for (const holder& one : by_rank)
    sources_.push_back({one.name, one.address, token, nullptr, {}});
  for_all(sources_.size(), asked_max, [&](size_t i) { ask(sources_[i]); });
  check();
}

gathered_state::~gathered_state() = default;

uint64_t gathered_state::bytes() const {
  return sources_.front().has.file_bytes;
}

void gathered_state::ask(source& from) const {
  named(after_, from.name, [&] {
    from.client =
        data::chunk_client::connect(from.address, from.token, connect_patience);
    const auto begun = std::chrono::steady_clock::now();
    while (true) {
      from.has =
          read_note(from.client->fetch_blob(note_blob(after_), bulk_patience));
      if (from.has.copied == after_)
        return;
      if (from.has.copied > after_ ||
          std::chrono::steady_clock::now() - begun > apply_patience)
        throw ballast_error(errc::unreachable, "its newest copy is of step " +
                                                   to_string(from.has.copied));
      std::this_thread::sleep_for(asked_every);
    }
  });
}

void gathered_state::check() const {
  uint64_t at = 0;
  for (const source& one : sources_)
    named(after_, one.name, [&] {
      const state_note& first = sources_.front().has;
      if (one.has.file_bytes != first.file_bytes ||
          one.has.header != first.header)
        throw ballast_error(errc::digest_mismatch,
                            "its file has another header than that of worker " +
                                sources_.front().name);
      if (one.has.part.from != at)
        throw ballast_error(
            errc::digest_mismatch,
            "its part begins with byte " + std::to_string(one.has.part.from) +
                " where the one before ends with " + std::to_string(at));
      at = one.has.part.to;
    });
  if (at != bytes())
    throw ballast_error(errc::digest_mismatch,
                        "the parts of the state of step " + to_string(after_) +
                            " are not all of it");
}

std::vector<data::state_part>
gathered_state::write(const data::unfinished_state& into) {
  std::vector<char> left(sources_.size(), 0);
  for_all(sources_.size(), asked_max,
          [&](size_t i) { left[i] = char(!write_there(sources_[i], into)); });
  for_all(sources_.size(), fetched_max, [&](size_t i) {
    if (left[i] != 0)
      bring(sources_[i], into);
  });
  std::vector<data::state_part> out;
  for (const source& one : sources_)
    out.insert(out.end(), one.has.checksums.begin(), one.has.checksums.end());
  return out;
}

/// False: the worker does not see the file.
bool gathered_state::write_there(source& from,
                                 const data::unfinished_state& into) const {
  bool sees = true;
  named(after_, from.name, [&] {
    const byte_range& part = from.has.part;
    for (uint64_t at = part.from; sees && at < part.to; at += piece_bytes)
      sees = read_write_answer(from.client->fetch_blob(
          write_blob({after_, at, {into.file(), into.token()}}),
          bulk_patience));
  });
  return sees;
}

void gathered_state::bring(source& from,
                           const data::unfinished_state& into) const {
  named(after_, from.name, [&] {
    const byte_range& part = from.has.part;
    for (uint64_t at = part.from; at < part.to;) {
      const std::string piece = from.client->fetch_blob(
          piece_name(state_blob(after_), at), bulk_patience);
      if (piece.size() != std::min(piece_bytes, part.to - at))
        throw ballast_error(errc::invalid_data, "a piece is too short");
      into.write(at, piece);
      at += piece.size();
    }
  });
}

} // namespace ballast::actors
