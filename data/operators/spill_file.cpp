#include "data/operators/spill_file.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/row_batches.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/unique_fd.hpp"
#include "store/refuse_file.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/api.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ballast::data {

namespace {

// Short pieces, such as the head of a batch, are written together.
constexpr size_t joined_bytes = 16 << 10;

/// By whom the folder was chosen: temporary_folder.hpp, or a preparation, which
/// has one in its cache.
std::string variable_of(const std::filesystem::path& folder) {
  return folder.filename().string().starts_with("ballast-rows-")
             ? "$TMPDIR"
             : "$BALLAST_CACHE";
}

[[noreturn]] void refuse(const operator_context& context,
                         const std::filesystem::path& path,
                         const std::string& action, int number) {
  if (!store::means_disk_full(number))
    store::refuse_file(path, action, number,
                       "it held rows of " + printable(context.name));
  throw ballast_error(
      errc::disk_full,
      printable(context.name) + ": the disk is full: its rows are more than " +
          std::to_string(memory_of(context) >> 20) +
          " MiB of memory, so they go to " + context.spill.string() +
          "; make room there, or point " + variable_of(context.spill) +
          " to another disk",
      context.pointer);
}

} // namespace

spill_file::spill_file(const operator_context& context) {
  static std::atomic<uint64_t> number{0};
  path_ = context.spill / ("rows-" + std::to_string(::getpid()) + "-" +
                           std::to_string(number.fetch_add(1)) + ".arrows");
}

spill_file::spill_file(spill_file&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

spill_file& spill_file::operator=(spill_file&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

spill_file::~spill_file() {
  remove();
}

void spill_file::remove() noexcept {
  if (!path_.empty())
    ::unlink(path_.c_str());
}

/// Keeps the failure that a user is to see: Arrow passes on nothing but text.
class spill_writer::output : public arrow::io::OutputStream {
public:
  output(const operator_context& context, std::filesystem::path path)
      : context_(context), path_(std::move(path)) {
    int number = fault_point("spill.open");
    if (number == 0) {
      fd_ = unique_fd(
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      number = fd_ ? 0 : errno;
    }
    if (number != 0)
      refuse(context_, path_, "create", number);
  }

  arrow::Status Close() override {
    fd_.reset();
    return arrow::Status::OK();
  }
  bool closed() const override { return !fd_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Write(const void* data, int64_t bytes) override {
    const auto* text = static_cast<const char*>(data);
    position_ += bytes;
    try {
      if (size_t(bytes) >= joined_bytes) {
        flush();
        put(text, size_t(bytes));
        return arrow::Status::OK();
      }
      joined_.insert(joined_.end(), text, text + bytes);
      if (joined_.size() >= joined_bytes)
        flush();
      return arrow::Status::OK();
    } catch (const ballast_error& e) {
      failed_ = e.what_failed();
      return arrow::Status::IOError(e.what());
    }
  }
  using arrow::io::OutputStream::Write;

  /// After each call of Arrow's writer. Between batches nothing is kept: there
  /// are many such files.
  void check(const arrow::Status& status) {
    if (failed_)
      throw ballast_error(failed_);
    check_arrow(status, errc::internal, printable(context_.name));
    flush();
  }

private:
  void flush() {
    put(joined_.data(), joined_.size());
    std::vector<char>().swap(joined_);
  }

  void put(const char* data, size_t bytes) {
    while (bytes > 0) {
      store::check_stop(context_.stop);
      errno = fault_point("spill.write");
      const ssize_t done =
          errno != 0 ? -1 : ::write(fd_.get(), data, std::min(bytes, most));
      if (done < 0 && errno == EINTR)
        continue;
      if (done < 0)
        refuse(context_, path_, "write", errno);
      data += done;
      bytes -= size_t(done);
    }
  }

  static constexpr size_t most = 8 << 20; // between two looks at the stop
  const operator_context& context_;
  const std::filesystem::path path_;
  unique_fd fd_;
  int64_t position_ = 0;
  std::vector<char> joined_;
  failure failed_;
};

spill_writer::spill_writer(const operator_context& context,
                           const std::shared_ptr<arrow::Schema>& schema)
    : context_(&context), what_{spill_file(context)},
      out_(std::make_shared<output>(context, what_.file.path())),
      writer_(take_arrow(arrow::ipc::MakeStreamWriter(out_, schema),
                         errc::internal, printable(context.name))) {}

spill_writer::spill_writer(spill_writer&&) noexcept = default;

/// Without its end, which might fail: nobody reads it.
spill_writer::~spill_writer() = default;

void spill_writer::write(const arrow::RecordBatch& rows) {
  out_->check(writer_->WriteRecordBatch(rows));
  what_.rows += rows.num_rows();
  what_.bytes += bytes_of(rows);
}

spilled_rows spill_writer::finish() {
  out_->check(writer_->Close());
  out_->check(out_->Close());
  return std::move(what_);
}

spill_view::spill_view(const operator_context& context,
                       std::filesystem::path path)
    : context_(&context), path_(std::move(path)) {}
spill_view::spill_view(spill_view&&) noexcept = default;
spill_view& spill_view::operator=(spill_view&&) noexcept = default;
spill_view::~spill_view() = default;

std::shared_ptr<arrow::RecordBatch> spill_view::next() {
  store::check_stop(context_->stop);
  const std::string what = path_.string();
  if (reader_ == nullptr) {
    const std::shared_ptr<arrow::io::ReadableFile> file = take_arrow(
        arrow::io::ReadableFile::Open(what), errc::run_dir_unusable, what);
    reader_ = take_arrow(arrow::ipc::RecordBatchStreamReader::Open(file),
                         errc::run_dir_unusable, what);
  }
  std::shared_ptr<arrow::RecordBatch> out;
  do
    check_arrow(reader_->ReadNext(&out), errc::run_dir_unusable, what);
  while (out != nullptr && out->num_rows() == 0);
  return out;
}

void spill_view::rewind() {
  reader_ = nullptr;
}

spill_reader::spill_reader(const operator_context& context, spilled_rows rows)
    : rows_(std::move(rows)), view_(context, rows_.file.path()) {}
spill_reader::spill_reader(spill_reader&&) noexcept = default;
spill_reader& spill_reader::operator=(spill_reader&&) noexcept = default;
spill_reader::~spill_reader() = default;

std::shared_ptr<arrow::RecordBatch> spill_reader::next() {
  return rows_.rows == 0 ? nullptr : view_.next();
}

void spill_reader::rewind() {
  view_.rewind();
}

} // namespace ballast::data
