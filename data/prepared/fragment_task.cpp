#include "data/prepared/fragment_task.hpp"

#include "data/base/content_hash.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/source/found_files.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace ballast::data {

namespace {

using nlohmann::json;

/// Increased when the same file gives another fragment.
constexpr int format_of_fragments = 2;

source_request request_of(const fragment_task& task) {
  source_request out;
  out.pointer = task.pointer;
  out.label = label_of(*task.what);
  out.kept = kept_columns(*task.what);
  if (task.pointer != "/data/train") // groups, weights: those of training rows
    out.kept.resize(task.what->balance.by.size());
  return out;
}

bool is_kept(const prepare_cache& cache, const std::string& key) {
  std::error_code ignored;
  return std::filesystem::exists(cache.fragment_path(key), ignored);
}

/// The file that is meant, or why this process does not have it.
stored_file find_same(const prepare_fragment& order, const source_spec& spec,
                      prepare_cache& cache, const store::work_watch& stop,
                      found_files* found) {
  const std::string pointer = order.pointer + "/uri";
  if (int fault = fault_point("fragment.find"))
    throw ballast_error(errc::invalid_data,
                        std::generic_category().message(fault), pointer);
  std::vector<stored_file> all =
      spec.format == source_format::images
          ? (found != nullptr ? found->parts(spec, order.pointer, stop)
                              : parts_of_images(spec, order.pointer, stop))
          : find_files(found, spec.uri, pointer, stop);
  for (stored_file& one : all) {
    if (one.name != order.file)
      continue;
    if (identity_of(one, pointer, cache, stop) != order.identity)
      throw ballast_error(errc::invalid_data,
                          printable(one.name) + " has another content here",
                          pointer);
    return one;
  }
  throw ballast_error(errc::invalid_data,
                      printable(order.file) + " is not here", pointer);
}

} // namespace

std::string identity_of(const stored_file& file, const std::string& pointer,
                        prepare_cache& cache, const store::work_watch& stop) {
  if (file.images != nullptr) {
    content_hash classes; // their numbers follow from all of them
    for (const std::string& name : file.images->classes)
      classes.update(name + '\0');
    return cache.hash_of(*file.images, pointer, stop) + hex16(classes.digest());
  }
  return file.system ? file.name + " " + file.version
                     : cache.hash_of(file.path, pointer, stop);
}

const source_spec& source_of(const job& what, const std::string& pointer) {
  return pointer == "/data/test" && what.data.test ? *what.data.test
                                                   : what.data.train;
}

std::string key_of(const fragment_task& task) {
  const source_request request = request_of(task);
  json spec =
      to_json(*task.what)["data"][&source_of(*task.what, task.pointer) ==
                                          &task.what->data.train
                                      ? "train"
                                      : "test"];
  spec.erase("uri"); // the same file, wherever it lies
  json kept = json::array();
  for (const column_to_keep& one : request.kept) {
    kept.push_back(one.name);
    // The others may be features, too.
    if (one.pointer == sampling_column_field)
      kept.push_back("for sampling alone");
  }
  json texts = json::array();
  for (const fragment_choice::left_out& one : task.choice.texts)
    texts.push_back(one.column); // the rest is for messages
  json all{{"format", format_of_fragments},
           {"source", std::move(spec)},
           {"label", int(request.label)},
           {"kept", std::move(kept)},
           {"identity", task.identity},
           {"columns", task.choice.columns},
           {"text_labels", task.choice.text_labels},
           {"texts", std::move(texts)}};
  // Added later: files that are read as ever keep their key.
  if (const error_policy policy = task.what->data.on_error;
      policy != error_policy::fail)
    all["on_error"] = to_string(policy);
  content_hash hash;
  hash.update(json_text(all));
  return hex16(hash.digest());
}

void make_fragment(const fragment_task& task, uint64_t room_bytes,
                   prepare_cache& cache, const store::work_watch& stop) {
  const std::string key = key_of(task);
  const std::filesystem::path place = cache.fragment_path(key);
  (void)fault_point("fragment.read");
  source_request request = request_of(task);
  request.stop = stop;
  request.room = {room_bytes,
                  place.string() + "." + std::to_string(::getpid()) + ".rows",
                  refuse_write};
  std::optional<row_faults> faults = row_faults::of(task.what->data);
  request.faults = faults ? &*faults : nullptr;
  table_fragment read = read_fragment(source_of(*task.what, task.pointer),
                                      request, task.file, task.choice);
  if (faults)
    read.faults = faults->found(); // too many of them: of all files together
  if (!task.file.system &&
      identity_of(task.file, task.pointer, cache, stop) != task.identity)
    throw ballast_error(errc::invalid_data,
                        printable(task.file.name) +
                            ": changed while it was read",
                        task.pointer);
  fragment_file::write(place, read, refuse_write, stop);
}

fragment_ready carry_out(const prepare_fragment& order, uint64_t room_bytes,
                         prepare_cache& cache, const store::work_watch& stop,
                         found_files* found) {
  fragment_ready out;
  out.number = order.number;
  out.key = order.key;
  try {
    job_result parsed = parse_job(order.job, {}, "/");
    if (!parsed.value)
      throw ballast_error(parsed.mistakes.at(0));
    fragment_task task;
    task.what = std::make_shared<const job>(std::move(*parsed.value));
    task.pointer = order.pointer;
    task.identity = order.identity;
    task.choice = order.choice;
    const source_spec& spec = source_of(*task.what, task.pointer);
    if (key_of(task) != order.key)
      throw ballast_error(errc::other_build, "it knows the file as another");
    if (!is_kept(cache, order.key)) {
      task.file = find_same(order, spec, cache, stop, found);
      out.outcome = fragment_outcome::refused;
      make_fragment(task, room_bytes, cache, stop);
    }
    out.bytes = std::filesystem::file_size(cache.fragment_path(order.key));
    out.outcome = fragment_outcome::ready;
  } catch (const ballast_error& error) {
    out.why = error.what_failed().message;
    if (error.what_failed().code != errc::invalid_data)
      out.outcome = fragment_outcome::not_here; // its disk, its memory
  } catch (const std::exception& error) {
    out.why = error.what();
    out.outcome = fragment_outcome::not_here;
  }
  return out;
}

bool read_part(const prepare_cache& cache, const std::string& key, uint64_t at,
               std::string& out) {
  const unique_fd file(::open(cache.fragment_path(key).c_str(),
                              O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 ||
      at >= uint64_t(about.st_size))
    return false;
  out.resize(
      std::min<uint64_t>(fragment_part_bytes, uint64_t(about.st_size) - at));
  for (size_t done = 0; done < out.size();) {
    const ssize_t got = ::pread(file.get(), out.data() + done,
                                out.size() - done, off_t(at + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    done += size_t(got);
  }
  return true;
}

} // namespace ballast::data
