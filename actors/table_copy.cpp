#include "actors/table_copy.hpp"

#include "data/prepared/set_tables.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/thread_name.hpp"
#include "store/atomic_file.hpp"
#include "store/refuse_file.hpp"

#include <fstream>
#include <system_error>
#include <vector>

namespace ballast::actors {

namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& from, const fs::path& to) {
  std::error_code missing;
  const auto bytes = fs::file_size(to, missing);
  return !missing && bytes == fs::file_size(from, missing) && !missing;
}

void copy(const fs::path& from, const fs::path& to,
          const fs::path& unfinished_in) {
  if (is_there(from, to))
    return;
  std::ifstream in(from, std::ios::binary);
  if (!in)
    throw ballast_error(errc::invalid_data, from.string() + " is missing");
  try {
    store::atomic_file out(to, {.unfinished_in = unfinished_in});
    std::vector<char> block(1 << 20);
    while (in.read(block.data(), std::streamsize(block.size())) ||
           in.gcount() > 0)
      out.append(block.data(), size_t(in.gcount()));
    out.publish();
  } catch (const store::file_failure& e) {
    store::refuse_file(to, e.action(), e.number());
  }
}

void copy_tables(const fs::path& from, const fs::path& to,
                 const fs::path& unfinished_in) {
  for (const char* name : {data::chunk_table_name, data::sample_table_name})
    copy(from / name, to / name, unfinished_in);
}

} // namespace

void table_copy::begin(const fs::path& from, const fs::path& to,
                       const fs::path& unfinished_in) {
  from_ = from;
  to_ = to;
  unfinished_in_ = unfinished_in;
  thread_ = std::jthread([from, to, unfinished_in] {
    name_this_thread("bl-tables");
    try {
      copy_tables(from, to, unfinished_in);
    } catch (const std::exception& e) {
      monitor::log().warn(
          "the tables of the set: {}; they are copied at the end", e.what());
    }
  });
}

void table_copy::complete() {
  if (thread_.joinable())
    thread_.join();
  if (!from_.empty())
    copy_tables(from_, to_, unfinished_in_);
}

} // namespace ballast::actors
