#include "actors/gathered_state.hpp"

#include "actors/blob_pieces.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace ballast::actors {

using namespace std::chrono_literals;

namespace {

/// Ranks apply a step at the same time but for what their machines differ.
constexpr std::chrono::seconds apply_patience{15};
constexpr std::chrono::milliseconds asked_every{20};

} // namespace

struct gathered_state::source {
  image_holder worker;
  std::unique_ptr<holder_client> client;
  state_note has;
};

gathered_state::gathered_state(step_number after,
                               const std::vector<image_holder>& by_rank,
                               const std::string& token)
    : after_(after) {
  for (const image_holder& one : by_rank)
    sources_.push_back({one, nullptr, {}});
  for_all(sources_.size(), asked_max,
          [&](size_t i) { ask(sources_[i], token); });
  check();
}

gathered_state::~gathered_state() = default;

uint64_t gathered_state::bytes() const {
  return sources_.front().has.file_bytes;
}

void gathered_state::with(const source& from,
                          const std::function<void()>& work) const {
  named("the state of step " + to_string(after_), from.worker,
        "tried again soon", work);
}

void gathered_state::ask(source& from, const std::string& token) const {
  with(from, [&] {
    from.client = std::make_unique<holder_client>(from.worker, token);
    const auto begun = std::chrono::steady_clock::now();
    while (true) {
      from.has = read_note(from.client->blob(note_blob(state_blob(after_))));
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
    with(one, [&] {
      const state_note& first = sources_.front().has;
      if (one.has.file_bytes != first.file_bytes ||
          one.has.header != first.header)
        throw ballast_error(errc::digest_mismatch,
                            "its file has another header than that of worker " +
                                sources_.front().worker.name);
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
      bring_all(sources_[i], into);
  });
  std::vector<data::state_part> out;
  for (const source& one : sources_)
    out.insert(out.end(), one.has.checksums.begin(), one.has.checksums.end());
  return out;
}

/// False: what the worker writes does not arrive in the file.
bool gathered_state::write_there(source& from,
                                 const data::unfinished_state& into) const {
  bool sees = false;
  with(from, [&] {
    const byte_range& part = from.has.part;
    sees = writes_into(*from.client, into);
    for (uint64_t at = part.from; sees && at < part.to; at += piece_bytes)
      sees = order_written(*from.client, state_blob(after_),
                           {at, std::min(at + piece_bytes, part.to)}, into)
                 .has_value();
  });
  return sees;
}

void gathered_state::bring_all(source& from,
                               const data::unfinished_state& into) const {
  with(from, [&] {
    const byte_range& part = from.has.part;
    for (uint64_t at = part.from; at < part.to; at += piece_bytes)
      (void)bring(*from.client, state_blob(after_),
                  {at, std::min(at + piece_bytes, part.to)}, into);
  });
}

} // namespace ballast::actors
