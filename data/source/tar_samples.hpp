/// Samples of a tar archive as WebDataset writes them: members of one key, the
/// name up to the first point behind the last slash, lie together. An image
/// (KEY.jpg, .jpeg or .png) has its label beside it: KEY.cls with a number, or
/// KEY.json with one as `label` or `cls`; other members are counted and left
/// out. One owner, one thread. Errors: source_error "shard-0.tar: member ...".
#pragma once

#include "data/source/tar_file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

struct tar_sample {
  std::string place; // of the image: "shard-0.tar: member 00012.jpg"
  std::vector<unsigned char> image;
  double label = 0;
};

class tar_samples {
public:
  tar_samples(const stored_file& file, std::string pointer,
              const store::work_watch& stop);

  /// Nothing at the end.
  std::optional<tar_sample> next();

  /// Members that were neither images nor labels.
  uint64_t skipped() const { return skipped_; }
  /// The place of the first one.
  const std::string& first_skipped() const { return first_skipped_; }

private:
  /// Of one key.
  struct parts {
    std::string key;
    std::string image; // names of members
    std::string cls;
    std::string json;
    std::vector<unsigned char> bytes; // of the image
    std::optional<double> from_cls;
    std::optional<double> from_json;
    bool empty() const { return image.empty() && cls.empty() && json.empty(); }
  };

  std::string place_of(const std::string& member) const;
  [[noreturn]] void refuse(const std::string& member, const std::string& why,
                           const std::string& detail = {}) const;
  void take_member(const tar_file::member& one);
  double number_in(const tar_file::member& one);
  std::optional<double> label_in(const tar_file::member& one);
  tar_sample whole(parts from) const;

  const std::string name_;
  const std::string pointer_;
  tar_file file_;
  parts now_;
  bool ended_ = false;
  uint64_t skipped_ = 0;
  std::string first_skipped_;
};

} // namespace ballast::data
