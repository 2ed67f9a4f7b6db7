/// Images as rows for a trained model: read as a whole, each changed as in an
/// evaluation of the run.
#include "data/augment/image_augment.hpp"
#include "data/graph/temporary_folder.hpp"
#include "data/inference/row_supply.hpp"
#include "data/source/found_files.hpp"
#include "data/source/idx_source.hpp"
#include "data/source/source_file.hpp"
#include "data/source/source_table.hpp"
#include "data/source/table_values.hpp"
#include "data/store/chunk.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "store/refuse_file.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

/// So many at a time.
constexpr uint64_t rows_at_once = 256;

std::string shape_text(const std::vector<uint32_t>& shape) {
  std::string out;
  for (const uint32_t length : shape)
    out += (out.empty() ? "" : " x ") + std::to_string(length);
  return out;
}

std::string path_of(const std::string& file) {
  std::error_code ignored;
  return file.find("://") != std::string::npos
             ? file
             : std::filesystem::absolute(file, ignored).string();
}

[[noreturn]] void refuse_rows(const std::filesystem::path& file, int number) {
  store::refuse_file(file, "write", number);
}

class pictures final : public row_supply {
public:
  pictures(const trained_run& run, const input_terms& terms)
      : of_(run), file_(printable(terms.file)), labels_(terms.labels),
        images_(make_image_augment(run.what.data.augment, run.what.seed,
                                   run.stored)),
        folder_(rows_folder::make()), version_(version_of(terms)),
        rows_(read(terms)) {
    if (!terms.by.empty())
      throw ballast_error(errc::invalid_data, "--by: images have no column '" +
                                                  printable(terms.by) + "'");
    check();
    // A step of the augmentation knows the type in which the run stored them.
    if (images_ && rows_.elsewhere == nullptr)
      widen(rows_, of_.stored.stored);
  }

  bool add(labelled_features& to) override {
    const uint64_t count = std::min(rows_at_once, rows_.rows - next_);
    const size_t width = of_.row.features;
    const size_t before = to.features.size();
    to.features.resize(before + count * width);
    for (uint64_t i = 0; i < count; ++i)
      put(next_ + i, {to.features.data() + before + i * width, width});
    if (labels_)
      for (uint64_t i = 0; i < count; ++i)
        to.labels.push_back(rows_.targets.empty()
                                ? float(rows_.labels[next_ + i])
                                : rows_.targets[next_ + i]);
    to.rows += count;
    next_ += count;
    return next_ < rows_.rows;
  }

  std::string version() const override { return version_; }
  /// They were read as a whole, before the first went out.
  void check_unchanged() const override {}

private:
  source_format format() const { return of_.what.data.train.format; }

  /// Of a folder nothing is known before each file is looked at: another one
  /// each time.
  std::string version_of(const input_terms& terms) const {
    if (format() != source_format::idx)
      return {};
    std::string out;
    for (const std::string& one : {terms.file, terms.labels_file}) {
      if (one.empty())
        continue;
      const file_stamp stamp = stamp_of(path_of(one), {});
      out += one + " " + std::to_string(stamp.size) + " " +
             std::to_string(stamp.mtime_ns) + "\n";
    }
    return out;
  }

  source_table read(const input_terms& terms) const {
    // Of the run: classes that it does not have are refused.
    source_table like;
    like.row = of_.stored;
    like.class_names = of_.class_names;
    source_request request;
    request.pointer = "--data";
    request.stop = terms.stop;
    request.label =
        of_.row.classes > 0 ? label_kind::number_of_class : label_kind::target;
    request.room = {available_memory_bytes() / 4, folder_.path() / "rows",
                    refuse_rows};
    if (labels_)
      request.like = &like;
    source_spec spec = of_.what.data.train;
    if (format() != source_format::idx) {
      spec.uri = path_of(terms.file);
      return read_images(spec, request);
    }
    spec.images = path_of(terms.file);
    if (!labels_)
      return read_idx_images(spec.images, request);
    if (terms.labels_file.empty())
      throw ballast_error(
          errc::usage, "--labels: is required with images of the format "
                       "idx, which have their labels in a file of their own");
    spec.labels = path_of(terms.labels_file);
    return read_idx(spec, request);
  }

  void check() const {
    if (rows_.row.features != of_.stored.features)
      throw ballast_error(errc::invalid_data,
                          file_ + ": its images have " +
                              shape_text(rows_.row.shape) +
                              " values; the model was trained on " +
                              std::to_string(of_.stored.features) + " (" +
                              shape_text(of_.stored.shape) + ")");
    if (!labels_)
      return;
    for (uint64_t row = 0; row < rows_.labels.size(); ++row)
      if (of_.row.classes > 0 && uint32_t(rows_.labels[row]) >= of_.row.classes)
        throw ballast_error(
            errc::invalid_data,
            file_ + ": row " + std::to_string(row + 1) + " has the label " +
                std::to_string(rows_.labels[row]) + "; the model knows " +
                std::to_string(of_.row.classes) + " classes, numbered from 0");
  }

  void put(uint64_t row, std::span<float> out) {
    if (!images_) {
      row_values(rows_, row, out);
      const auto scale = float(of_.stored.scale);
      const auto offset = float(of_.stored.offset);
      for (float& one : out)
        one = one * scale + offset;
      return;
    }
    const size_t bytes = row_bytes(of_.stored);
    if (rows_.elsewhere == nullptr) {
      images_->evaluate(rows_.features.data() + row * bytes, room_, out.data());
      return;
    }
    one_.resize(bytes);
    rows_.elsewhere->read(rows_.elsewhere->place_of(row), 1, one_.data());
    images_->evaluate(one_.data(), room_, out.data());
  }

  const trained_run& of_;
  const std::string file_;
  const bool labels_;
  const std::optional<image_augment> images_;
  const rows_folder folder_;
  const std::string version_;
  source_table rows_;
  uint64_t next_ = 0;
  augment_room room_;
  std::vector<unsigned char> one_; // of a row that is not in memory
};

} // namespace

std::unique_ptr<row_supply> picture_supply(const trained_run& of,
                                           const input_terms& terms) {
  return std::make_unique<pictures>(of, terms);
}

} // namespace ballast::data
