#include "data/source/image_folder.hpp"

#include "data/source/source_table.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& place, const std::string& why,
                         const std::string& pointer) {
  throw ballast_error(errc::invalid_data,
                      printable(place.string()) + ": " + why, pointer);
}

struct entry {
  std::string name;
  bool is_folder = false;
  bool is_gone = false; // a link that leads nowhere
  bool operator<(const entry& other) const { return name < other.name; }
};

/// Of a folder, in the order of their names; none that begins with a point.
std::vector<entry> entries_of(const fs::path& folder,
                              const std::string& pointer,
                              const store::work_watch& stop) {
  std::vector<entry> out;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    store::check_stop(stop);
    std::string name = at->path().filename().string();
    if (name.starts_with('.'))
      continue;
    // Of a link that leads nowhere, or in a circle, it is what the link says.
    std::error_code unknown;
    const bool is_folder = at->is_directory(unknown);
    if (unknown && unknown != std::errc::no_such_file_or_directory)
      refuse(at->path(),
             unknown == std::errc::too_many_symbolic_link_levels
                 ? "is a symbolic link that leads back to itself; remove it"
                 : "cannot be looked at: " + unknown.message(),
             pointer);
    out.push_back({std::move(name), is_folder, bool(unknown)});
  }
  if (error)
    refuse(folder, "cannot be listed: " + error.message(), pointer);
  std::sort(out.begin(), out.end());
  return out;
}

/// Reads one folder of images.
class folder_list {
public:
  folder_list(image_folder& out, const std::string& pointer,
              const store::work_watch& stop)
      : out_(out), pointer_(pointer), stop_(stop) {}

  void read() {
    bool loose = false;
    for (const entry& one : entries_of(out_.path, pointer_, stop_))
      if (one.is_folder) {
        read_class(one.name);
      } else {
        loose = loose || is_image_name(one.name);
        skip(one.name);
      }
    if (out_.classes.empty())
      refuse(out_.path,
             std::string("has no folders of classes") +
                 (loose ? ", only images" : "") +
                 "; expected FOLDER/CLASS/NAME.jpg, a folder for each class",
             pointer_);
  }

private:
  void skip(const std::string& name) {
    if (++out_.skipped == 1)
      out_.first_skipped = name;
  }

  void read_class(const std::string& name) {
    const fs::path folder = fs::path(out_.path) / name;
    const auto number = uint32_t(out_.classes.size());
    const size_t before = out_.files.size();
    for (const entry& one : entries_of(folder, pointer_, stop_)) {
      const std::string below = name + "/" + one.name;
      if (one.is_folder)
        refuse(folder / one.name,
               "is a folder inside that of a class, whose images would be left "
               "out; expected images only, so move them up",
               pointer_);
      if (is_image_name(one.name) && one.is_gone)
        out_.files.push_back({below, number, {}, true});
      else if (is_image_name(one.name))
        out_.files.push_back(
            {below, number, stamp_of((folder / one.name).string(), pointer_)});
      else
        skip(below);
    }
    if (out_.files.size() == before)
      refuse(folder,
             "has no images, so that nothing belongs to this class; expected "
             "files that end in .jpg, .jpeg or .png; fill the folder or remove "
             "it",
             pointer_);
    if (out_.classes.size() == size_t(classes_max))
      refuse(out_.path,
             "has more than " + std::to_string(classes_max) +
                 " folders; expected one for each class",
             pointer_);
    out_.classes.push_back(name);
  }

  image_folder& out_;
  const std::string& pointer_;
  const store::work_watch& stop_;
};

} // namespace

bool is_image_name(const std::string& name) {
  const size_t point = name.rfind('.');
  if (point == std::string::npos)
    return false;
  std::string ending = name.substr(point + 1);
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z')
      c = char(c - 'A' + 'a');
  return ending == "jpg" || ending == "jpeg" || ending == "png";
}

std::string folder_of(const source_spec& spec, const std::string& pointer) {
  std::string path = expand_uri(spec.uri, pointer + "/uri").at(0);
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  return path;
}

std::vector<image_folder> parts_of(const image_folder& all) {
  constexpr uint64_t part_bytes = uint64_t{16} << 20;
  constexpr size_t part_files = 250; // decoding small ones takes as long
  std::vector<image_folder> out;
  for (size_t first = 0; first < all.files.size();) {
    size_t end = first;
    for (uint64_t bytes = 0; end < all.files.size() &&
                             end - first < part_files && bytes < part_bytes;)
      bytes += all.files[end++].stamp.size;
    const auto at = all.files.begin();
    out.push_back({all.path,
                   all.classes,
                   {at + ptrdiff_t(first), at + ptrdiff_t(end)},
                   0,
                   {},
                   std::to_string(first + 1) + "-" + std::to_string(end)});
    first = end;
  }
  return out;
}

image_folder list_images(const source_spec& spec, const std::string& pointer,
                         const store::work_watch& stop) {
  const std::string field = pointer + "/uri";
  image_folder out;
  out.path = folder_of(spec, pointer);
  std::error_code error;
  const fs::file_status about = fs::status(out.path, error);
  if (!fs::exists(about))
    refuse(out.path, "there is no such folder; check the path", field);
  if (!fs::is_directory(about))
    refuse(out.path,
           "is no folder; expected one that holds a folder of images for each "
           "class (for tar archives the format is webdataset)",
           field);
  folder_list(out, field, stop).read();
  return out;
}

} // namespace ballast::data
