#include "data/model/weights_file.hpp"

#include "data/model/number_type.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/on_threads.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace ballast::data {

namespace {

constexpr uint64_t piece_values = uint64_t{1} << 20;

[[noreturn]] void refuse_weights(const std::string& path,
                                 const std::string& why) {
  throw ballast_error(errc::invalid_data, path + why);
}

/// Calls use(first, count) for one piece after another.
template <class Use>
void for_pieces(uint64_t count, const Use& use) {
  for (uint64_t first = 0; first < count; first += piece_values)
    use(first, std::min(piece_values, count - first));
}

} // namespace

weights_file::weights_file(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat about {};
  if (!file_ || ::fstat(file_.get(), &about) != 0)
    refuse_weights(path,
                   std::string(": cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(about.st_mode))
    refuse_weights(path, " is a folder, expected a file");
  const auto bytes = uint64_t(about.st_size);
  const std::string invalid = ": no valid safetensors file: ";
  uint64_t length = 0;
  if (bytes < sizeof length)
    refuse_weights(path, invalid + "it is shorter than 8 bytes");
  read_bytes(0, {reinterpret_cast<char*>(&length), sizeof length});
  if (length > safetensors_header_max || length > bytes - sizeof length)
    refuse_weights(path, invalid + "its header claims " +
                             std::to_string(length) + " bytes, the file has " +
                             std::to_string(bytes));
  std::string header(length, '\0');
  read_bytes(sizeof length, header);
  tensors_ = tensor_places(header, path, metadata_);
  values_begin_ = sizeof length + length;
  const uint64_t end = tensors_.empty() ? 0 : tensors_.back().end;
  if (end != bytes - values_begin_)
    refuse_weights(path, invalid + "its tensors take " + std::to_string(end) +
                             " bytes, the file has " +
                             std::to_string(bytes - values_begin_));
}

const tensor_place* weights_file::find(const std::string& name) const {
  const auto at = std::ranges::find(tensors_, name, &tensor_place::name);
  return at == tensors_.end() ? nullptr : &*at;
}

void weights_file::read(const std::vector<wish>& wishes, size_t threads) const {
  struct piece {
    const tensor_place* of;
    uint64_t first;
    std::span<float> to;
  };
  std::vector<piece> pieces;
  for (const wish& one : wishes)
    for_pieces(one.to.size(), [&](uint64_t first, uint64_t count) {
      pieces.push_back({one.tensor, first, one.to.subspan(first, count)});
    });
  for_each_piece(pieces.size(), threads, "bl-weights", [&](size_t i) {
    read_piece(*pieces[i].of, pieces[i].first, pieces[i].to);
  });
}

bool weights_file::equals(const tensor_place& tensor,
                          std::span<const float> values) const {
  if (values.size() * tensor.type->bytes != tensor.end - tensor.begin)
    return false;
  bool out = true;
  std::vector<float> there;
  for_pieces(values.size(), [&](uint64_t first, uint64_t count) {
    there.resize(count);
    read_piece(tensor, first, there);
    out = out && std::ranges::equal(there, values.subspan(first, count));
  });
  return out;
}

void weights_file::read_piece(const tensor_place& of, uint64_t first,
                              std::span<float> to) const {
  const number_type& type = *of.type;
  const uint64_t at = values_begin_ + of.begin + first * type.bytes;
  if (of.float32)
    return read_bytes(at,
                      {reinterpret_cast<char*>(to.data()), to.size_bytes()});
  std::vector<char> stored(to.size() * type.bytes);
  read_bytes(at, stored);
  if (!type.to_float32(stored.data(), to))
    refuse_weights(path_, ": tensor '" + of.name + "' has a number of " +
                              std::string(type.name) +
                              " that is beyond the range of float32");
}

void weights_file::read_bytes(uint64_t at, std::span<char> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(file_.get(), to.data(), to.size(), off_t(at));
    if (got == 0)
      refuse_weights(path_, " ends at byte " + std::to_string(at) +
                                ": it became shorter while it was read");
    if (got < 0 && errno != EINTR)
      refuse_weights(path_,
                     std::string(": cannot be read: ") + std::strerror(errno));
    if (got > 0) {
      to = to.subspan(size_t(got));
      at += uint64_t(got);
    }
  }
}

} // namespace ballast::data
