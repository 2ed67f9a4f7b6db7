#include "data/prepared/prepared_folder.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace ballast::data {

namespace {

/// How the rows lie in files is no part of it.
bool same_chunks(const ledger::manifest& a, const ledger::manifest& b) {
  const auto equal = [](const std::vector<ledger::chunk_info>& one,
                        const std::vector<ledger::chunk_info>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const auto& x, const auto& y) {
                        return x.rows == y.rows && x.checksum == y.checksum &&
                               x.label_histogram == y.label_histogram;
                      });
  };
  return ledger::manifest_header(a) == ledger::manifest_header(b) &&
         equal(a.train, b.train) && equal(a.test, b.test);
}

class repairing final : public prepared_set {
public:
  repairing(std::shared_ptr<prepared_set> now, set_maker make_again)
      : about_(now->about()), now_(std::move(now)),
        make_again_(std::move(make_again)) {}

  const ledger::manifest& about() const override { return about_; }
  std::filesystem::path folder() const override { return current()->folder(); }

  chunk_ptr read(data_part part, chunk_id id) const override {
    std::shared_ptr<prepared_set> from = current();
    try {
      return from->read(part, id);
    } catch (const ballast_error& error) {
      if (error.what_failed().code != errc::invalid_data)
        throw;
      repair(from, error.what());
    }
    return current()->read(part, id);
  }

private:
  std::shared_ptr<prepared_set> current() const {
    std::lock_guard lock(mutex_);
    return now_;
  }

  /// Concurrent readers wait for the repair, or read intact chunks.
  void repair(const std::shared_ptr<prepared_set>& damaged,
              const std::string& why) const {
    std::lock_guard turn(repairing_);
    if (current() != damaged)
      return; // another thread was faster
    if (std::exchange(tried_, true))
      throw ballast_error(errc::invalid_data, why + "; " + why_not_again_);
    std::shared_ptr<prepared_set> fresh;
    try {
      fresh = make_again_(why);
    } catch (const ballast_error& error) {
      why_not_again_ =
          "it cannot be prepared again: " + error.what_failed().message;
      throw ballast_error(errc::invalid_data, why + "; " + why_not_again_);
    }
    if (!same_chunks(fresh->about(), about_))
      throw ballast_error(errc::invalid_data,
                          why + "; its manifest was damaged too, and the set "
                                "was prepared again: start the run again");
    std::lock_guard lock(mutex_);
    now_ = std::move(fresh);
  }

  const ledger::manifest about_;
  mutable std::mutex mutex_; // guards now_
  mutable std::shared_ptr<prepared_set> now_;
  mutable std::mutex repairing_; // held throughout a repair
  mutable bool tried_ = false;
  mutable std::string why_not_again_ =
      "it was prepared again only now: look at the disk and the memory of this "
      "machine";
  set_maker make_again_;
};

} // namespace

std::shared_ptr<prepared_set> repairing_set(std::shared_ptr<prepared_set> now,
                                            set_maker make_again) {
  return std::make_shared<repairing>(std::move(now), std::move(make_again));
}

} // namespace ballast::data
