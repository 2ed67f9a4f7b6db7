#include "data/source/image_rows.hpp"

#include "data/source/image_codec.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_error.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ballast::data {

namespace {

/// Archives are read faster than their images are decoded.
constexpr uint64_t bytes_under_way_max = uint64_t{256} << 20;
constexpr size_t planes = 3;

std::vector<unsigned char> row_of(const image_rows::reading& read,
                                  image_size size, const std::string& place,
                                  const std::string& pointer) {
  std::vector<unsigned char> out(planes * size.height * size.width);
  try {
    decode_image(read(), size, out.data());
  } catch (const image_refusal& why) {
    throw row_error(place, {}, why.what(), pointer);
  }
  return out;
}

image_size size_of(const source_spec& spec) {
  return {spec.size.at(0), spec.size.back()};
}

} // namespace

image_rows::image_rows(source_table& table, const source_spec& spec,
                       const source_request& request, size_t threads)
    : table_(table), request_(request), size_(size_of(spec)),
      row_bytes_(planes * size_.height * size_.width),
      work_(threads, "bl-images") {
  table_.row.features = uint32_t(row_bytes_);
  table_.row.shape = {planes, uint32_t(size_.height), uint32_t(size_.width)};
  table_.row.stored = ledger::stored_type::uint8;
}

void image_rows::add(reading read, uint64_t bytes, std::string place) {
  check_stop(request_.stop);
  while (work_.under_way() > 0 &&
         (work_.under_way() >= work_.wanted() ||
          bytes_under_way_ + bytes > bytes_under_way_max))
    take();
  images_.push_back({bytes, count_++, labels_++, place});
  bytes_under_way_ += bytes;
  work_.give([read = std::move(read), place = std::move(place), size = size_,
              pointer = request_.pointer] {
    return row_of(read, size, place, pointer);
  });
}

/// The image that was given first.
void image_rows::take() {
  const image first = std::move(images_.front());
  images_.pop_front();
  bytes_under_way_ -= first.bytes;
  if (request_.faults == nullptr)
    return put(work_.take().data());
  request_.faults->read(1);
  try {
    put(work_.take().data());
    taken_rows_.push_back(first.number);
  } catch (const row_error& why) {
    labels_gone_.push_back(first.label);
    tell(first, why.reason());
  }
}

void image_rows::leave_out(const std::string& place, const row_error& why) {
  while (work_.under_way() > 0)
    take(); // they come first
  request_.faults->read(1);
  tell({0, count_++, 0, place}, why.reason());
}

void image_rows::tell(const image& what, const std::string& why) {
  row_fault out;
  out.source = request_.pointer.substr(request_.pointer.rfind('/') + 1);
  out.file = what.place;
  out.reason = why;
  request_.faults->add(out);
}

void image_rows::forget_labels() {
  const auto forget = [this](auto& labels) {
    size_t kept = 0;
    size_t gone = 0;
    for (size_t i = 0; i < labels.size(); ++i)
      if (gone < labels_gone_.size() && labels_gone_[gone] == i)
        ++gone;
      else
        labels[kept++] = labels[i];
    labels.resize(kept);
  };
  forget(table_.labels);
  forget(table_.targets);
}

void image_rows::put(const unsigned char* row) {
  constexpr size_t on_the_way = size_t{8} << 20;
  growing_bytes& to = table_.features;
  const size_t room = request_.room.bytes;
  if (!file_ && to.size() + row_bytes_ > room)
    file_ =
        std::make_shared<row_file>(request_.room.file, request_.room.refuse);
  if (file_ && to.size() + row_bytes_ > std::min(room, on_the_way))
    store();
  const size_t before = to.size();
  to.resize(before + row_bytes_);
  std::memcpy(to.data() + before, row, row_bytes_);
}

/// Moves what is in memory to the file.
void image_rows::store() {
  file_->append(table_.features.data(), table_.features.size());
  table_.features = growing_bytes();
}

void image_rows::finish() {
  while (work_.under_way() > 0) {
    check_stop(request_.stop);
    take();
  }
  table_.rows = request_.faults == nullptr ? count_ : taken_rows_.size();
  if (table_.rows != count_) {
    forget_labels();
    table_.taken_rows = std::move(taken_rows_);
  }
  if (file_) {
    store();
    file_->are_of(table_.row.features, table_.row.stored);
    table_.elsewhere = std::move(file_);
  }
  table_.features.shrink_to_fit();
}

} // namespace ballast::data
