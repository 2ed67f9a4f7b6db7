/// `ballast bench allreduce`: the collectives of this machine, side by side.
#pragma once

namespace ballast::cli {

/// `argv[0]` is the benchmark's name, then its options. Returns an exit code.
/// Starts this program again for each rank, as `bench allreduce ...`.
int bench_allreduce(int argc, char** argv);

} // namespace ballast::cli
