/// Image files as rows: of folders of classes, or of tar archives.
#include "data/source/files_apart.hpp"
#include "data/source/found_files.hpp"
#include "data/source/image_codec.hpp"
#include "data/source/image_folder.hpp"
#include "data/source/image_rows.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_error.hpp"
#include "data/source/stream_table.hpp"
#include "data/source/tar_samples.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <unistd.h>

namespace ballast::data {

namespace {

std::vector<unsigned char> bytes_of(const std::string& path) {
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::vector<unsigned char> out;
  constexpr size_t step = 1 << 16;
  for (ssize_t got = 1; got > 0;) {
    const size_t have = out.size();
    if (have > image_bytes_max)
      break; // the decoder refuses it
    out.resize(have + std::max(step, have));
    do
      got =
          file ? ::read(file.get(), out.data() + have, out.size() - have) : -1;
    while (file && got < 0 && errno == EINTR);
    if (got < 0)
      throw image_refusal(std::string("cannot be read: ") +
                          std::strerror(errno));
    out.resize(have + size_t(got));
  }
  return out;
}

std::string skipped_note(const std::string& where, uint64_t count,
                         const std::string& what, const std::string& first) {
  return where + ": " + std::to_string(count) + " " + what +
         (count == 1 ? " was skipped: " : " were skipped, the first is ") +
         first;
}

/// The number of each class; of a test set that in the training set.
std::vector<int32_t> numbers_of(const image_folder& from,
                                const source_request& request) {
  std::vector<int32_t> out;
  const bool by_name =
      request.like != nullptr && !request.like->class_names.empty();
  for (const std::string& name : from.classes) {
    if (!by_name) {
      out.push_back(int32_t(out.size()));
      continue;
    }
    const std::vector<std::string>& names = request.like->class_names;
    const auto found = std::find(names.begin(), names.end(), printable(name));
    if (found == names.end())
      throw source_error(printable(from.path + "/" + name) +
                             ": is none of the " +
                             std::to_string(names.size()) +
                             " classes that the training set has; give the "
                             "folder the name of one, or remove it",
                         request.pointer + "/uri", {});
    out.push_back(int32_t(found - names.begin()));
  }
  return out;
}

/// Files of folders of classes, one after another.
class folder_reader {
public:
  /// `numbers`: of the classes, in the order of their folders.
  folder_reader(const source_spec& spec, const source_request& request,
                std::vector<int32_t> numbers, source_table& table)
      : pointer_(request.pointer), numbers_(std::move(numbers)), table_(table),
        rows_(table, spec, request) {
    table.label = "class";
  }

  /// `may_change` false: refuses a file that is not what was listed any more.
  void read(const image_folder& some, bool may_change = true) {
    for (const image_file& one : some.files) {
      std::string path = some.path + "/" + one.name;
      std::string place = printable(path);
      rows_.add(
          [this, path = std::move(path), listed = one.stamp, may_change,
           is_gone = one.is_gone] {
            if (is_gone)
              throw image_refusal("is a link that leads nowhere; mend it, or "
                                  "remove it");
            std::vector<unsigned char> out = bytes_of(path);
            if (!may_change && stamp_of(path, pointer_ + "/uri") != listed)
              throw ballast_error(
                  errc::invalid_data,
                  printable(path) + ": changed while it was read", pointer_);
            return out;
          },
          one.stamp.size, std::move(place));
      table_.labels.push_back(numbers_[one.class_number]);
    }
  }
  /// Of files that were read apart.
  void add(const fragment_file& from) {
    rows_.add(from);
    from.each([this](const fragment_file::rows& some) {
      for (const int32_t label : some.labels)
        table_.labels.push_back(numbers_.at(size_t(label)));
    });
  }
  uint64_t count() const { return rows_.count(); }
  void finish() { rows_.finish(); }

private:
  const std::string pointer_;
  const std::vector<int32_t> numbers_;
  source_table& table_;
  image_rows rows_;
};

/// As what is read apart.
std::vector<stored_file> as_parts(const image_folder& from) {
  std::vector<stored_file> out;
  for (image_folder& one : parts_of(from)) {
    stored_file file;
    file.name = from.path + ": images " + one.part;
    file.path = from.path;
    for (const image_file& image : one.files)
      file.size += image.stamp.size;
    file.images = std::make_shared<const image_folder>(std::move(one));
    out.push_back(std::move(file));
  }
  return out;
}

source_table read_folder(const source_spec& spec,
                         const source_request& request) {
  const image_folder from = list_images(spec, request.pointer, request.stop);
  source_table out;
  out.files = {{from.path, 0}};
  for (const std::string& name : from.classes)
    out.class_names.push_back(printable(name));
  folder_reader reader(spec, request, numbers_of(from, request), out);
  const std::vector<stored_file> parts = as_parts(from);
  files_apart apart(request.fragments);
  if (apart.can_begin())
    apart.begin(parts, 0, {});
  for (size_t i = 0; i < parts.size(); ++i) {
    if (const auto read = apart.take(i))
      reader.add(*read);
    else
      reader.read(*parts[i].images);
  }
  reader.finish();
  if (request.faults != nullptr)
    request.faults->check(/*at_end=*/true);
  if (from.skipped > 0)
    out.notes.push_back(skipped_note(
        printable(from.path), from.skipped,
        from.skipped == 1 ? "file that is no .jpg, .jpeg or .png of a class"
                          : "files that are no .jpg, .jpeg or .png of a class",
        printable(from.first_skipped)));
  return out;
}

/// Checks the labels of one archive after another.
class shard_labels {
public:
  shard_labels(source_table& table, const source_request& request)
      : table_(table), request_(request) {}

  void add(double label, const std::string& place) {
    if (request_.label == label_kind::target)
      return add_target(label, place);
    if (!(label >= 0 && label < double(classes_max) &&
          label == std::trunc(label)))
      refuse(place,
             "the label is no class; classes are whole numbers from 0 to " +
                 std::to_string(classes_max - 1) +
                 ", for other numbers use the loss mse",
             label);
    if (request_.like != nullptr && label >= request_.like->row.classes)
      refuse(place, new_class_text(*request_.like), label);
    table_.labels.push_back(int32_t(label));
  }

  /// Of a file that was read apart. False: one of them must not be.
  bool add(const fragment_file& from) {
    const fragment_file::description& about = from.about();
    if (request_.like != nullptr && request_.label != label_kind::target &&
        about.label_most >= int64_t(request_.like->row.classes))
      return false;
    from.each([this](const fragment_file::rows& some) {
      table_.labels.insert(table_.labels.end(), some.labels.begin(),
                           some.labels.end());
      table_.targets.insert(table_.targets.end(), some.targets.begin(),
                            some.targets.end());
    });
    return true;
  }

private:
  void add_target(double label, const std::string& place) {
    if (!std::isfinite(float(label)))
      refuse(place, "the label is NaN, infinite or too large", label);
    table_.targets.push_back(float(label));
  }
  [[noreturn]] void refuse(const std::string& place, const std::string& why,
                           double label) const {
    throw row_error(place, {}, why, request_.pointer,
                    "label " + std::to_string(label));
  }

  source_table& table_;
  const source_request& request_;
};

/// Archives, one after another.
class shard_reader {
public:
  shard_reader(const source_spec& spec, const source_request& request,
               source_table& table)
      : request_(request), rows_(table, spec, request),
        labels_(table, request) {}

  void read(const stored_file& file) {
    tar_samples from(file, request_.pointer + "/uri", request_.stop);
    while (std::optional<tar_sample> one = from.next()) {
      if (!add_label(*one))
        continue;
      const uint64_t bytes = one->image.size();
      rows_.add([image = std::move(
                     one->image)]() mutable { return std::move(image); },
                bytes, std::move(one->place));
    }
    skip(from.skipped(), from.first_skipped());
  }
  /// One that was read apart. False: it is to be read here.
  bool add(const fragment_file& from) {
    if (!labels_.add(from))
      return false;
    rows_.add(from);
    skip(from.about().skipped, from.about().first_skipped);
    return true;
  }
  uint64_t count() const { return rows_.count(); }
  void finish() { rows_.finish(); }
  uint64_t skipped() const { return skipped_; }
  const std::string& first_skipped() const { return first_skipped_; }

private:
  /// False: the row is left out.
  bool add_label(const tar_sample& of) {
    try {
      labels_.add(of.label, of.place);
      return true;
    } catch (const row_error& why) {
      if (request_.faults == nullptr)
        throw;
      rows_.leave_out(of.place, why);
      return false;
    }
  }
  void skip(uint64_t count, const std::string& first) {
    if (skipped_ == 0)
      first_skipped_ = first;
    skipped_ += count;
  }

  const source_request& request_;
  image_rows rows_;
  shard_labels labels_;
  uint64_t skipped_ = 0;
  std::string first_skipped_;
};

source_table read_shards(const source_spec& spec,
                         const source_request& request) {
  source_table out;
  out.label = "label";
  shard_reader reader(spec, request, out);
  std::vector<stored_file> files = find_files(
      request.found, spec.uri, request.pointer + "/uri", request.stop);
  open_soon(files, request.pointer + "/uri");
  files_apart apart(request.fragments);
  if (apart.can_begin())
    apart.begin(files, 0, {});
  for (size_t i = 0; i < files.size(); ++i) {
    out.files.push_back({files[i].name, reader.count()});
    if (const auto read = apart.take(i); !read || !reader.add(*read))
      reader.read(files[i]);
  }
  reader.finish();
  if (request.faults != nullptr)
    request.faults->check(/*at_end=*/true);
  if (reader.skipped() > 0)
    out.notes.push_back(skipped_note(
        printable(without_secrets(spec.uri)), reader.skipped(),
        reader.skipped() == 1 ? "member that is neither image nor label"
                              : "members that are neither images nor labels",
        reader.first_skipped()));
  return out;
}

} // namespace

std::vector<stored_file> parts_of_images(const source_spec& spec,
                                         const std::string& pointer,
                                         const store::work_watch& stop) {
  return as_parts(list_images(spec, pointer, stop));
}

table_fragment read_image_file(const source_spec& spec,
                               const source_request& request,
                               const stored_file& file) {
  table_fragment out;
  if (file.images != nullptr) {
    std::vector<int32_t> numbers(file.images->classes.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    folder_reader reader(spec, request, std::move(numbers), out.table);
    reader.read(*file.images, /*may_change=*/false);
    reader.finish();
    out.rows_read = reader.count();
    return out;
  }
  out.table.label = "label";
  shard_reader reader(spec, request, out.table);
  reader.read(file);
  reader.finish();
  out.rows_read = reader.count();
  out.skipped = reader.skipped();
  out.first_skipped = reader.first_skipped();
  return out;
}

source_table read_images(const source_spec& spec,
                         const source_request& request) {
  return spec.format == source_format::images ? read_folder(spec, request)
                                              : read_shards(spec, request);
}

} // namespace ballast::data
