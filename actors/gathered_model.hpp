/// The final parameters, from the workers that have them into one file: each
/// worker writes a piece after the other where it sees the file, else they are
/// fetched. The first of the workers hashes all of them meanwhile; what others
/// wrote must be what it has.
///
/// Threads: of one owner; works on several of its own. Throws ballast_error
/// that names the worker: digest_mismatch where they have different parameters;
/// disk_full and run_dir_unusable of the file.
#pragma once

#include "actors/gathered_pieces.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <semaphore>
#include <string>
#include <vector>

namespace ballast::actors {

class gathered_model {
public:
  /// Asks all of them; that they have the same file, or throws.
  gathered_model(const std::vector<image_holder>& from,
                 const std::string& token, std::string image = model_blob);
  ~gathered_model();

  uint64_t bytes() const;
  /// The weights_sha256() of the file. `digest`: that the workers ended with;
  /// empty: there was only one.
  std::string write(const data::unfinished_state& into,
                    const std::string& digest);

private:
  struct source;
  /// Of each piece, who wrote it, and what.
  struct written {
    size_t by = 0;
    std::string xxh64;
  };

  void check() const;
  byte_range piece(size_t number) const;
  void reach_all(const data::unfinished_state& into);
  void sync_all(const data::unfinished_state& into);
  void write_pieces(size_t by, const data::unfinished_state& into,
                    bool checked);
  std::string fetch(holder_client& from, const byte_range& part,
                    const data::unfinished_state& into);
  data::streamed_weights::hashes hash_all(bool checked);
  void compare(size_t piece, const std::string& xxh64) const;
  void with(const source& from, const std::function<void()>& work) const;

  const std::string token_;
  const std::string image_;
  std::vector<source> sources_;
  std::vector<written> pieces_;
  std::vector<std::string> hashed_; // checksum of each; empty: not checked
  std::atomic<size_t> next_{0};     // the first piece that nobody writes
  std::atomic<bool> failed_{false};
  std::counting_semaphore<> fetched_{fetched_max};
};

} // namespace ballast::actors
