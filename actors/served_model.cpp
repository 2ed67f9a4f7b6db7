#include "actors/served_model.hpp"

#include "actors/blob_pieces.hpp"
#include "data/base/content_hash.hpp"

#include <algorithm>
#include <utility>

namespace ballast::actors {

namespace {

/// So much of a piece is copied at a time: little memory that nobody touched
/// before, and still in the cache when the disk takes it.
constexpr uint64_t room_bytes = uint64_t{4} << 20;

std::string checksum_in(const data::safetensors_image& file,
                        const byte_range& part) {
  data::content_hash out;
  file.visit(part.from, part.to - part.from,
             [&](std::string_view bytes) { out.update(bytes); });
  return data::hex16(out.digest());
}

} // namespace

served_model::served_model(replica_image of, step_number after)
    : of_(std::move(of)), bytes_(of_.file.bytes()), after_(after) {}

std::string served_model::note() const {
  state_note out;
  out.copied = after_;
  out.file_bytes = bytes_;
  out.header = checksum_of(of_.file.header);
  return text_of(out);
}

std::string served_model::read(uint64_t at) const {
  std::string out(std::min(piece_bytes, bytes_ - std::min(at, bytes_)), '\0');
  of_.file.copy(at, out);
  return out;
}

std::string served_model::write(const write_order& what) {
  const uint64_t bytes = what.part.to - what.part.from;
  if (!has(what.part) || bytes > piece_bytes)
    throw ballast_error(errc::invalid_data,
                        "the model has no such piece: bytes " +
                            std::to_string(what.part.from) + " to " +
                            std::to_string(what.part.to));
  if (bytes == 0) {
    data::part_writer(what.to).sync();
    return {};
  }
  // At whole pages, as the disk takes them without the page cache.
  data::growing_bytes room;
  {
    const std::lock_guard lock(rooms_guard_);
    if (!rooms_.empty()) {
      room = std::move(rooms_.back());
      rooms_.pop_back();
    }
  }
  room.resize(room_bytes);
  data::part_writer to(what.to);
  data::content_hash sum;
  for (uint64_t at = what.part.from; at < what.part.to; at += room_bytes) {
    const std::span<char> bytes_here(reinterpret_cast<char*>(room.data()),
                                     std::min(room_bytes, what.part.to - at));
    of_.file.copy(at, bytes_here);
    if (what.checked)
      sum.update(bytes_here.data(), bytes_here.size());
    to.write(at, bytes_here);
  }
  const std::lock_guard lock(rooms_guard_);
  rooms_.push_back(std::move(room));
  return what.checked ? data::hex16(sum.digest()) : "";
}

std::optional<hash_answer> served_model::hash(const hash_order& what) {
  const std::lock_guard lock(hash_guard_);
  if (what.part.from == 0) {
    hash_.emplace("the model", what.checked);
    hashed_ = 0;
  }
  if (!hash_ || what.part.from != hashed_ || !has(what.part))
    return std::nullopt;
  hash_answer out;
  for (; hashed_ < what.part.to;) {
    const byte_range piece{hashed_,
                           std::min(hashed_ + piece_bytes, what.part.to)};
    if (what.checked)
      out.xxh64.push_back(checksum_in(of_.file, piece));
    of_.file.visit(piece.from, piece.to - piece.from,
                   [&](std::string_view bytes) { hash_->update(bytes); });
    hashed_ = piece.to;
  }
  if (hashed_ == bytes_) {
    out.whole = hash_->end();
    hash_.reset();
  }
  return out;
}

} // namespace ballast::actors
