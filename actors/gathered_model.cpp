#include "actors/gathered_model.hpp"

#include "actors/blob_pieces.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <future>

namespace ballast::actors {

namespace {

/// Of one worker at once, so that one is copied while another is written.
constexpr size_t at_once = 2;
/// Pieces that one order has hashed: a fifth of a second, in which the few
/// milliseconds between two orders are lost.
constexpr size_t hashed_at_once = 8;

} // namespace

struct gathered_model::source {
  image_holder worker;
  state_note has;
  bool writes = false; // what it writes arrives in the file
};

gathered_model::gathered_model(const std::vector<image_holder>& from,
                               const std::string& token, std::string image)
    : token_(token), image_(std::move(image)) {
  for (const image_holder& one : from)
    sources_.push_back({one, {}, false});
  for_all(sources_.size(), asked_max, [&](size_t i) {
    with(sources_[i], [&] {
      sources_[i].has = read_note(
          holder_client(sources_[i].worker, token_).blob(note_blob(image_)));
    });
  });
  check();
  pieces_.resize((bytes() + piece_bytes - 1) / piece_bytes);
}

gathered_model::~gathered_model() = default;

uint64_t gathered_model::bytes() const {
  return sources_.front().has.file_bytes;
}

void gathered_model::with(const source& from,
                          const std::function<void()>& work) const {
  named("the final model", from.worker, "it is not published", work);
}

void gathered_model::check() const {
  const source& first = sources_.front();
  for (const source& one : sources_)
    with(one, [&] {
      if (one.has.copied != first.has.copied ||
          one.has.file_bytes != first.has.file_bytes ||
          one.has.header != first.has.header)
        throw ballast_error(errc::digest_mismatch,
                            "its file has another header than that of worker " +
                                first.worker.name);
    });
}

byte_range gathered_model::piece(size_t number) const {
  const uint64_t from = number * piece_bytes;
  return {from, std::min(from + piece_bytes, bytes())};
}

/// Who of them can write into the file.
void gathered_model::reach_all(const data::unfinished_state& into) {
  for_all(sources_.size(), asked_max, [&](size_t i) {
    with(sources_[i], [&] {
      holder_client client(sources_[i].worker, token_);
      sources_[i].writes = writes_into(client, into);
    });
  });
}

/// What they wrote into it is on the disk.
void gathered_model::sync_all(const data::unfinished_state& into) {
  for_all(sources_.size(), asked_max, [&](size_t i) {
    if (!sources_[i].writes)
      return;
    with(sources_[i], [&] {
      holder_client client(sources_[i].worker, token_);
      if (!order_written(client, image_, {}, into))
        throw ballast_error(errc::unreachable,
                            "what it wrote may not be on the disk");
    });
  });
}

std::string gathered_model::write(const data::unfinished_state& into,
                                  const std::string& digest) {
  reach_all(into);
  next_ = 0;
  failed_ = false;
  hashed_.assign(pieces_.size(), {});
  // Who writes all of what it hashes has nobody to be compared with.
  const bool checked =
      sources_.size() > 1 || !sources_.front().writes || !digest.empty();
  std::future<data::streamed_weights::hashes> hashes =
      std::async(std::launch::async, [this, checked] {
        name_this_thread("bl-gather");
        return hash_all(checked);
      });
  // Of many workers some are enough to keep a disk busy.
  const size_t threads = std::min(at_once * sources_.size(), asked_max);
  try {
    for_all(threads, threads, [&](size_t i) {
      write_pieces(i % sources_.size(), into, checked);
    });
    sync_all(into);
  } catch (...) {
    failed_ = true;
    hashes.wait();
    throw;
  }
  const data::streamed_weights::hashes found = hashes.get();
  for (size_t i = 0; i < pieces_.size(); ++i)
    compare(i, hashed_[i]);
  if (!digest.empty() && found.digest != digest)
    with(sources_.front(), [&] {
      throw ballast_error(errc::digest_mismatch,
                          "its parameters are not those that the workers "
                          "ended with");
    });
  return found.sha256;
}

/// Few at once: each is in memory here meanwhile.
std::string gathered_model::fetch(holder_client& from, const byte_range& part,
                                  const data::unfinished_state& into) {
  fetched_.acquire();
  const std::unique_ptr<std::counting_semaphore<>,
                        void (*)(std::counting_semaphore<>*)>
      held(&fetched_, [](std::counting_semaphore<>* one) { one->release(); });
  return checksum_of(bring(from, image_, part, into));
}

/// Those that nobody else has begun, one after another.
void gathered_model::write_pieces(size_t by, const data::unfinished_state& into,
                                  bool checked) {
  source& from = sources_[by];
  try {
    with(from, [&] {
      holder_client client(from.worker, token_);
      bool writes = from.writes;
      while (!failed_) {
        const size_t number = next_++;
        if (number >= pieces_.size())
          return;
        pieces_[number].by = by;
        std::optional<std::string> sum;
        if (writes)
          sum = order_written(client, image_, piece(number), into, checked);
        writes = sum.has_value();
        pieces_[number].xxh64 = sum ? *sum : fetch(client, piece(number), into);
      }
    });
  } catch (...) {
    failed_ = true;
    throw;
  }
}

data::streamed_weights::hashes gathered_model::hash_all(bool checked) {
  hash_answer last;
  try {
    with(sources_.front(), [&] {
      holder_client client(sources_.front().worker, token_);
      for (size_t i = 0; i < pieces_.size() && !failed_; i += hashed_at_once) {
        const size_t to = std::min(i + hashed_at_once, pieces_.size());
        last = read_hash_answer(client.blob(
            hash_blob({{piece(i).from, piece(to - 1).to}, checked, image_})));
        if (last.xxh64.size() != (checked ? to - i : 0))
          throw ballast_error(errc::invalid_data,
                              "it hashed other pieces than it was told");
        std::copy(last.xxh64.begin(), last.xxh64.end(),
                  hashed_.begin() + ptrdiff_t(i));
      }
    });
  } catch (...) {
    failed_ = true;
    throw;
  }
  return last.whole;
}

void gathered_model::compare(size_t number, const std::string& xxh64) const {
  const written& found = pieces_[number];
  if (xxh64.empty() || found.xxh64 == xxh64)
    return;
  with(sources_[found.by], [&] {
    throw ballast_error(errc::digest_mismatch,
                        "bytes " + std::to_string(piece(number).from) + " to " +
                            std::to_string(piece(number).to) +
                            " of the file are not what worker " +
                            sources_.front().worker.name + " has");
  });
}

} // namespace ballast::actors
