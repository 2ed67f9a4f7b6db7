#include "data/source/stream_file.hpp"

#include "data/base/passing_pool.hpp"
#include "data/source/positioned_file.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/buffer.h>
#include <arrow/util/future.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <array>
#include <mutex>

namespace ballast::data {

namespace {

class pool_with_limit final : public passing_pool {
public:
  using passing_pool::Allocate;
  using passing_pool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment,
                         uint8_t** out) override {
    ARROW_RETURN_NOT_OK(check(size));
    return passing_pool::Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size,
                           int64_t alignment, uint8_t** at) override {
    ARROW_RETURN_NOT_OK(check(new_size));
    return passing_pool::Reallocate(old_size, new_size, alignment, at);
  }

private:
  static arrow::Status check(int64_t size) {
    if (size > allocation_max)
      return arrow::Status::OutOfMemory(
          "one piece of it claims ", size, " bytes, more than ", allocation_max,
          "; if the file is not damaged, write it with smaller batches");
    return arrow::Status::OK();
  }
};

} // namespace

arrow::MemoryPool* limited_pool() {
  static auto* pool = new pool_with_limit; // batches outlive main()
  return pool;
}

/// Ends reads at the end of the file, so that a damaged length cannot ask for
/// memory, and keeps the first failure, because some readers of Arrow pass on
/// nothing but its text.
class stream_file::guarded_file : public positioned_file {
public:
  using positioned_file::ReadAsync;
  using positioned_file::ReadAt;

  guarded_file(std::shared_ptr<arrow::io::RandomAccessFile> below, int64_t size)
      : positioned_file(size), below_(std::move(below)) {}

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return below_->closed(); }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes,
                                void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t most, within(position, bytes));
    return noted(below_->ReadAt(position, most, out));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position,
                                                       int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t most, within(position, bytes));
    return noted(below_->ReadAt(position, most));
  }
  arrow::Future<std::shared_ptr<arrow::Buffer>>
  ReadAsync(const arrow::io::IOContext& context, int64_t position,
            int64_t bytes) override {
    const arrow::Result<int64_t> most = within(position, bytes);
    if (!most.ok())
      return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(
          most.status());
    auto self = std::dynamic_pointer_cast<guarded_file>(shared_from_this());
    auto out = below_->ReadAsync(context, position, *most);
    out.AddCallback(
        [self](const arrow::Result<std::shared_ptr<arrow::Buffer>>& result) {
          self->note(result.status());
        });
    return out;
  }

  arrow::Status
  WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override {
    return below_->WillNeed(ranges);
  }

  arrow::Status first_failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

private:
  template <class T>
  arrow::Result<T> noted(arrow::Result<T> result) {
    note(result.status());
    return result;
  }
  void note(const arrow::Status& status) {
    if (status.ok())
      return;
    const std::lock_guard lock(mutex_);
    if (failure_.ok())
      failure_ = status;
  }

  const std::shared_ptr<arrow::io::RandomAccessFile> below_;
  mutable std::mutex mutex_;
  arrow::Status failure_;
};

std::string damaged_after(int64_t row) {
  return "is damaged after row " + std::to_string(row) + ": write it again";
}

std::string words_of(const arrow::Status& status) {
  std::string text = status.message();
  text = text.substr(0, text.find('\n'));
  constexpr size_t shown_max = 300;
  return printable(text, shown_max);
}

stream_file::stream_file(stream_input input)
    : input_(std::move(input)), name_(printable(input_.name)) {
  size_ = take(input_.file->GetSize(), "its size cannot be told");
  guarded_ = std::make_shared<guarded_file>(input_.file, size_);
}

std::string stream_file::part(int64_t position, int64_t bytes) const {
  return take(guarded_->ReadAt(std::max<int64_t>(0, position), bytes),
              "cannot be read")
      ->ToString();
}

void stream_file::refuse(const std::string& why,
                         const std::string& detail) const {
  throw source_error(name_ + ": " + why, input_.pointer, detail);
}

arrow::Status stream_file::own_failure() const {
  return guarded_ == nullptr
             ? arrow::Status::OK()
             : static_cast<const guarded_file&>(*guarded_).first_failure();
}

void stream_file::check(const arrow::Status& status,
                        const std::string& doing) const {
  if (status.ok())
    return;
  const arrow::Status cause = own_failure();
  const arrow::Status& said = cause.ok() ? status : cause;
  if (const auto& detail = said.detail();
      detail != nullptr && detail->type_id() == read_failure::id)
    throw ballast_error(static_cast<const read_failure&>(*detail).what());
  refuse((cause.ok() ? doing : "cannot be read") + ": " + words_of(said));
}

void stream_file::check_sound(const arrow::Status& status,
                              const std::string& doing,
                              const std::string& damage) const {
  const std::string words = words_of(status);
  const auto say = [&](std::string_view what) {
    return words.find(what) != std::string::npos;
  };
  if (status.ok() || !own_failure().ok() || status.IsNotImplemented() ||
      status.IsOutOfMemory() || say("ncrypt") || say("nsupported") ||
      say("not supported") || say("ot yet implemented"))
    return check(status, doing);
  refuse(damage + ": it " + doing + "; fetch or write it again", words);
}

namespace {

constexpr std::string_view unpack = "unpack it first";
constexpr std::string_view convert = "convert it to Parquet, CSV or JSON lines";
constexpr std::string_view from_utf16 =
    "convert it with `iconv -f UTF-16 -t UTF-8`";
constexpr std::string_view no_data = "it is no file of rows";

struct signature {
  std::string_view begin;
  known_content is;
};

using namespace std::string_view_literals;

// Longer ones before those that they begin with.
constexpr std::array signatures{
    signature{"PAR1"sv, {"Parquet", "set format to parquet"}},
    signature{"PARE"sv,
              {"encrypted Parquet", "write it again without encryption"}},
    signature{"ARROW1"sv, {"Arrow IPC (Feather)", "set format to arrow"}},
    signature{"\xFF\xFF\xFF\xFF"sv, {"an Arrow stream", "set format to arrow"}},
    signature{"FEA1"sv,
              {"Feather of version 1", "write it again with version 2"}},
    signature{"ORC"sv, {"ORC", "set format to orc"}},
    signature{"Obj\x01"sv, {"Avro", convert}},
    signature{"SQLite format 3"sv, {"an SQLite database", convert}},
    signature{"\x89HDF"sv, {"HDF5", convert}},
    signature{"\x93NUMPY"sv, {"a NumPy array", convert}},
    signature{"\x1F\x8B"sv, {"gzip", unpack}},
    signature{"\x28\xB5\x2F\xFD"sv, {"zstd", unpack}},
    signature{"BZh"sv, {"bzip2", unpack}},
    signature{"\x04\x22\x4D\x18"sv, {"lz4", unpack}},
    signature{"\xFD"
              "7zXZ"sv,
              {"xz", unpack}},
    signature{"PK\x03\x04"sv, {"a zip archive", unpack}},
    signature{"\xFF\xFE"sv, {text_in_utf16, from_utf16}},
    signature{"\xFE\xFF"sv, {text_in_utf16, from_utf16}},
    signature{"\x89PNG"sv, {"a PNG image", no_data}},
    signature{"%PDF"sv, {"a PDF", no_data}},
    signature{"<!DOCTYPE"sv,
              {"HTML", "perhaps the answer of a server instead of the file"}},
    signature{"<html"sv,
              {"HTML", "perhaps the answer of a server instead of the file"}},
    signature{"<?xml"sv,
              {"XML", "perhaps the answer of a server instead of the file"}},
    signature{"version https://git-lfs"sv,
              {"a pointer of git-lfs", "fetch the file with `git lfs pull`"}},
    signature{"{\""sv, {"JSON", "set format to jsonl"}},
};

/// And no other byte: letters of ASCII in UTF-16.
bool is_every_second_0(std::string_view text, size_t first) {
  const size_t looked_at = std::min<size_t>(text.size(), 16) / 2 * 2;
  for (size_t i = 0; i < looked_at; ++i)
    if ((text[i] == 0) != (i % 2 == first))
      return false;
  return looked_at >= 4;
}

} // namespace

known_content content_of(std::string_view head, std::string_view tail) {
  for (const signature& one : signatures)
    if (head.starts_with(one.begin))
      return one.is;
  if (is_every_second_0(head, 1))
    return {text_in_utf16, "convert it with `iconv -f UTF-16LE -t UTF-8`"};
  if (is_every_second_0(head, 0))
    return {text_in_utf16, "convert it with `iconv -f UTF-16BE -t UTF-8`"};
  // ORC files of old writers begin with their rows.
  if (tail.ends_with("PAR1"))
    return signatures.front().is;
  return {};
}

} // namespace ballast::data
