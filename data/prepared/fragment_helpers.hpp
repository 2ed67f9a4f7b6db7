/// The workers that read files for this process while it prepares a set: who is
/// there, and a mailbox between their actor and the thread that prepares.
/// Shared; any thread. What is passed on is called under a lock and must not
/// wait.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/messages/fragments.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace ballast::data {

/// Who gives files to helpers.
class fragment_listener {
public:
  virtual void joined(worker_id who) = 0;
  virtual void gone(worker_id who) = 0;
  virtual void answered(const fragment_ready& what) = 0;

protected:
  ~fragment_listener() = default;
};

class fragment_helpers {
public:
  using order_to = std::function<void(const prepare_fragment&)>;

  // -- of the actor ---
  void joined(worker_id who, std::string name, order_to send);
  void gone(worker_id who);
  void answered(const fragment_ready& what);

  // -- of who prepares ---
  /// Tells it who is there, and from now on what happens; null: nobody any
  /// more, after the return.
  void listen(fragment_listener* to);
  void order(worker_id who, const prepare_fragment& what);
  bool any();
  /// Empty: it is gone.
  std::string name_of(worker_id who);

private:
  struct helper {
    std::string name;
    order_to send;
  };

  // One for what is told, in its order; one for what is looked up meanwhile.
  std::mutex telling_;
  fragment_listener* listener_ = nullptr;
  std::mutex mutex_;
  std::map<worker_id, helper> all_;
};

} // namespace ballast::data
