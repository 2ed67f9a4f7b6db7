/// The final parameters: which of the workers was asked for them, and what
/// became of them. Begun anew with each run; pure.
#pragma once

#include "runtime/coordinator/recovery_times.hpp"

#include <optional>
#include <set>
#include <string>
#include <utility>

namespace ballast::coordinator {

class final_model {
public:
  /// All have finished with these parameters.
  void begin(std::string weights_digest, std::string best_digest) {
    digest_ = std::move(weights_digest);
    best_digest_ = std::move(best_digest);
    sha256_.clear();
    asked_together_ = false;
    asked_.clear();
    search_.reset();
  }
  /// First of all they are asked together: true if they were not yet.
  bool ask_together() { return !std::exchange(asked_together_, true); }
  /// Then each by itself, once in a round: true if it was not yet.
  bool ask(worker_id who) { return asked_.insert(who).second; }
  /// All were asked in vain: the next round comes later.
  void in_vain(std::string why);
  void give_up_search() { search_.reset(); }
  const std::optional<model_search>& search() const { return search_; }
  /// The last round failed: the moments of the next and of the last one.
  void wait(instant again, instant until);
  /// Another round: why the last one failed.
  std::string next_round(instant again);

  /// It is published.
  void saved(const std::string& weights_sha256, step_number step);
  /// That the workers agreed on.
  const std::string& digest() const { return digest_; }
  const std::string& best_digest() const { return best_digest_; }
  /// Of what is published.
  const std::string& sha256() const { return sha256_; }
  /// Of model.safetensors; 0: there is none.
  step_number step() const { return step_; }

private:
  bool asked_together_ = false;
  std::set<worker_id> asked_;
  std::optional<model_search> search_;
  std::string digest_;
  std::string best_digest_;
  std::string sha256_;
  step_number step_{};
};

} // namespace ballast::coordinator
