/// A folder that holds a folder of images for each class. Lists them in the
/// order in which they are rows: by the name of the class, then by that of the
/// file, as bytes. Any thread. Errors: ballast_error{invalid_data} at the job's
/// `uri`, with the folder or file in the message.
#pragma once

#include "data/source/source_file.hpp"
#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

struct image_file {
  std::string name; // CLASS/FILE, below the folder
  uint32_t class_number = 0;
  file_stamp stamp;
  bool is_gone = false; // a link that leads nowhere: a bad row
};

struct image_folder {
  std::string path;
  std::vector<std::string> classes; // in the order of their numbers
  std::vector<image_file> files;
  /// Files that are no images by their names, or lie beside the folders of
  /// classes; whatever begins with a point is not counted.
  uint64_t skipped = 0;
  std::string first_skipped; // below the folder
  /// Where these are some files of the folder: which, "1-500".
  std::string part = {};
};

/// The files of a folder in runs of about 16 MiB, or 250 files, in their order,
/// which are read apart from each other. The same wherever the same files lie.
std::vector<image_folder> parts_of(const image_folder& all);

/// The folder that a source of the format `images` names.
std::string folder_of(const source_spec& spec, const std::string& pointer);

/// Refuses a class without images, a folder without classes, and a folder
/// inside that of a class, whose images would be left out.
image_folder list_images(const source_spec& spec, const std::string& pointer,
                         const store::work_watch& stop);

/// Whether a name ends as those of images do, in small letters or large ones.
bool is_image_name(const std::string& name);

} // namespace ballast::data
