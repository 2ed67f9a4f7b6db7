#include "data/source/tar_samples.hpp"

#include "data/source/cell_number.hpp"
#include "data/source/image_codec.hpp"
#include "data/source/image_folder.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace ballast::data {

namespace {

constexpr uint64_t label_bytes_max = uint64_t{16} << 20;
constexpr size_t shown_max = 40;

std::string_view text_of(const std::vector<unsigned char>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Where the ending begins; npos: there is none.
size_t ending_of(const std::string& name) {
  const size_t slash = name.rfind('/');
  return name.find('.', slash == std::string::npos ? 0 : slash + 1);
}

bool is_regular_name(const std::string& name) {
  const size_t slash = name.rfind('/');
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const size_t point = ending_of(name);
  return point != std::string::npos && point > begin;
}

} // namespace

tar_samples::tar_samples(const stored_file& file, std::string pointer,
                         const store::work_watch& stop)
    : name_(file.name), pointer_(std::move(pointer)),
      file_(file, pointer_, stop) {}

std::string tar_samples::place_of(const std::string& member) const {
  return printable(name_) + ": member " + printable(member);
}

void tar_samples::refuse(const std::string& member, const std::string& why,
                         const std::string& detail) const {
  throw source_error(place_of(member) + ": " + why, pointer_, detail);
}

/// KEY.cls
double tar_samples::number_in(const tar_file::member& one) {
  const std::vector<unsigned char> bytes = file_.read(one, label_bytes_max);
  std::string_view text = text_of(bytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  double out = 0;
  if (parse_number(text, out) != parsed::number)
    refuse(one.name, "expected the number of a class, in text",
           "found '" + printable(text, shown_max) + "'");
  return out;
}

/// KEY.json; nothing: it says other things.
std::optional<double> tar_samples::label_in(const tar_file::member& one) {
  using nlohmann::json;
  const std::vector<unsigned char> bytes = file_.read(one, label_bytes_max);
  const json read = json::parse(text_of(bytes), nullptr, false);
  if (!read.is_object())
    refuse(one.name, "expected a JSON object that has the label");
  for (const char* field : {"label", "cls"}) {
    const auto found = read.find(field);
    if (found == read.end())
      continue;
    if (!found->is_number())
      refuse(one.name,
             std::string("expected a number as \"") + field +
                 "\"; give the classes numbers from 0",
             "found a value of the type " + std::string(found->type_name()));
    return found->get<double>();
  }
  return std::nullopt;
}

void tar_samples::take_member(const tar_file::member& one) {
  const std::string ending = one.name.substr(ending_of(one.name) + 1);
  // Only the last part counts of KEY.seg.png, which is no other image of KEY.
  const bool plain = ending.find('.') == std::string::npos;
  if (plain && is_image_name(one.name)) {
    if (!now_.image.empty())
      refuse(one.name, "is a second image of its key, beside " +
                           printable(now_.image) +
                           "; expected one; give each a key of its own");
    now_.image = one.name;
    now_.bytes = file_.read(one, image_bytes_max);
  } else if (ending == "cls") {
    now_.cls = one.name;
    now_.from_cls = number_in(one);
  } else if (ending == "json") {
    now_.json = one.name;
    now_.from_json = label_in(one);
  } else if (++skipped_ == 1) {
    first_skipped_ = place_of(one.name);
  }
}

/// Precondition: it has parts.
tar_sample tar_samples::whole(parts from) const {
  if (from.image.empty())
    refuse(from.cls.empty() ? from.json : from.cls,
           "has no image right beside it; expected " + printable(from.key) +
               ".jpg, .jpeg or .png");
  const std::optional<double> label =
      from.from_cls ? from.from_cls : from.from_json;
  if (!label && !from.json.empty())
    refuse(from.json, "has neither \"label\" nor \"cls\", and there is no " +
                          printable(from.key) + ".cls beside it");
  if (!label)
    refuse(from.image, "has no label right beside it; expected " +
                           printable(from.key) + ".cls with a number, or " +
                           printable(from.key) + ".json with one as \"label\"");
  return {place_of(from.image), std::move(from.bytes), *label};
}

std::optional<tar_sample> tar_samples::next() {
  while (!ended_) {
    tar_file::member one;
    ended_ = !file_.next(one);
    if (!ended_ && (!one.is_file || !is_regular_name(one.name))) {
      if (one.is_file && ++skipped_ == 1)
        first_skipped_ = place_of(one.name);
      continue;
    }
    std::string key =
        ended_ ? std::string() : one.name.substr(0, ending_of(one.name));
    parts before;
    if (ended_ || key != now_.key) {
      before = std::exchange(now_, {});
      now_.key = std::move(key);
    }
    if (!ended_)
      take_member(one);
    if (!before.empty())
      return whole(std::move(before));
  }
  return std::nullopt;
}

} // namespace ballast::data
