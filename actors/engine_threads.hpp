/// The threads of a worker engine. Each begins once those before it have ended:
/// they may be on their way out of a long forward pass, and the caller does not
/// wait for that. The engine guards this with its mutex, which is not held
/// while threads are joined.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace ballast::actors {

class engine_threads {
public:
  using work = std::function<void()>;

  /// Loads, connects, then is the step thread; the next generation, opened
  /// beside the present one, has ended by then.
  void compute(work what);
  /// Opens the next generation meanwhile.
  void beside(work what);
  /// Gets chunks that are to be owned soon.
  void copy(work what);
  /// The same thread as compute(), behind everything else.
  void last(work what);
  /// All of them, for the caller to join.
  std::vector<std::thread> take();
  static void join(std::vector<std::thread>& all);

private:
  std::thread compute_;
  std::thread beside_;
  std::thread copier_;
};

} // namespace ballast::actors
