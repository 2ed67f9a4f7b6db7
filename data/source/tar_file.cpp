#include "data/source/tar_file.hpp"

#include "data/base/arrow_support.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <algorithm>
#include <exception>
#include <new>

namespace ballast::data {

namespace {

constexpr int64_t block_bytes = int64_t{1} << 20;
constexpr int64_t tar_block = 512; // all of a tar is in such blocks

struct archive_end {
  void operator()(struct archive* one) const { archive_read_free(one); }
};

} // namespace

struct tar_file::stream {
  std::string name;
  std::string pointer;
  store::work_watch stop;
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  int64_t at = 0;
  std::shared_ptr<arrow::Buffer> block;
  /// What went wrong below libarchive, which is written in C.
  std::exception_ptr problem;
  std::unique_ptr<struct archive, archive_end> archive;

  [[noreturn]] void refuse(const std::string& why) const {
    throw ballast_error(errc::invalid_data, printable(name) + ": " + why,
                        pointer);
  }
  [[noreturn]] void refuse_damaged() const {
    if (problem)
      std::rethrow_exception(problem);
    const char* why = archive_error_string(archive.get());
    refuse("is torn or no tar archive: " +
           printable(why != nullptr ? why : "it ends too early") +
           "; fetch it again (the format webdataset reads .tar and .tar.gz)");
  }

  static la_ssize_t read_more(struct archive*, void* context,
                              const void** out) {
    return static_cast<stream*>(context)->more(out);
  }
  la_ssize_t more(const void** out) {
    try {
      check_stop(stop);
      block = take_arrow(file->ReadAt(at, block_bytes), errc::invalid_data,
                         printable(name) + ": cannot be read");
      at += block->size();
      *out = block->data();
      return la_ssize_t(block->size());
    } catch (...) {
      problem = std::current_exception();
      return -1;
    }
  }

  /// An archive ends with empty blocks. libarchive does not miss them where one
  /// was cut between two members.
  void check_end() {
    if (archive_filter_code(archive.get(), 0) != ARCHIVE_FILTER_NONE)
      return; // gzip has an end of its own
    const std::string what = printable(name) + ": cannot be read";
    const int64_t size = take_arrow(file->GetSize(), errc::invalid_data, what);
    const auto last = take_arrow(
        file->ReadAt(std::max<int64_t>(0, size - tar_block), tar_block),
        errc::invalid_data, what);
    if (std::any_of(last->data(), last->data() + last->size(),
                    [](uint8_t byte) { return byte != 0; }))
      refuse("is torn: it has no end mark, so that members may be missing; "
             "fetch it again");
  }
};

tar_file::tar_file(const stored_file& file, std::string pointer,
                   store::work_watch stop)
    : stream_(std::make_unique<stream>()) {
  stream_->name = file.name;
  stream_->file = open_file(file, pointer);
  stream_->pointer = std::move(pointer);
  stream_->stop = std::move(stop);
  stream_->archive.reset(archive_read_new());
  struct archive* const in = stream_->archive.get();
  if (in == nullptr)
    throw std::bad_alloc();
  // `cat a.tar b.tar` has both.
  if (archive_read_support_filter_gzip(in) < ARCHIVE_WARN ||
      archive_read_support_format_tar(in) != ARCHIVE_OK ||
      archive_read_set_options(in, "read_concatenated_archives") !=
          ARCHIVE_OK ||
      archive_read_open(in, stream_.get(), nullptr, stream::read_more,
                        nullptr) != ARCHIVE_OK)
    stream_->refuse_damaged();
}

tar_file::~tar_file() = default;

bool tar_file::next(member& out) {
  struct archive_entry* found = nullptr;
  const int result = archive_read_next_header(stream_->archive.get(), &found);
  if (result == ARCHIVE_EOF) {
    stream_->check_end();
    return false;
  }
  if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
    stream_->refuse_damaged();
  const char* name = archive_entry_pathname(found);
  if (name == nullptr) // the locale has no such letters
    name = archive_entry_pathname_utf8(found);
  if (name == nullptr)
    stream_->refuse("has a member without a name; write the archive again");
  out.name = name;
  out.size = uint64_t(std::max<la_int64_t>(0, archive_entry_size(found)));
  out.is_file = archive_entry_filetype(found) == AE_IFREG &&
                archive_entry_hardlink(found) == nullptr;
  return true;
}

std::vector<unsigned char> tar_file::read(const member& of,
                                          uint64_t bytes_max) {
  const std::string place = "member " + printable(of.name);
  if (of.size > bytes_max)
    stream_->refuse(place + " has " + std::to_string(of.size) +
                    " bytes, more than the " + std::to_string(bytes_max) +
                    " that it may have; make it smaller, or leave it out");
  // Of a torn archive the size is only a claim.
  constexpr uint64_t step = 1 << 20;
  std::vector<unsigned char> out;
  for (size_t have = 0; have < of.size;) {
    out.resize(std::min<uint64_t>(of.size, have + std::max(step, have)));
    const la_ssize_t got = archive_read_data(
        stream_->archive.get(), out.data() + have, out.size() - have);
    if (got <= 0 && !stream_->problem)
      stream_->refuse(place + " is torn: the archive ends inside it; fetch "
                              "the archive again");
    if (got <= 0)
      stream_->refuse_damaged();
    have += size_t(got);
  }
  return out;
}

} // namespace ballast::data
