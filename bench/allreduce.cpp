// SPDX-License-Identifier: Apache-2.0
// Measures the speed of each communicator's all-reduce: bench_allreduce --ranks 2 [--backend
// gloo|threads|nccl], or under mpirun for MPI. Every size is verified before it is timed.
#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <iostream>

#include "bench/own_ranks.hpp"
#include "bench/summing_ranks.hpp"
#include "launcher/processes/openmp_wait_policy.hpp"
#include "launcher/rank/gpu_assignment.hpp"
#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/core/error.hpp"

namespace {

using namespace lockstep;

struct Options {
    int ranks = 1;
    std::string backend = "auto";
    std::size_t least_bytes = 1024, max_bytes = std::size_t{100} << 20;
    int repeats = 30;
    launcher::SharedGpu shared_gpu = launcher::SharedGpu::refused;
};

// Returns small whole numbers: their sums are exact in any order.
float part_of(int rank, std::size_t i) { return static_cast<float>((i + 7 * rank) % 101); }

void fill(std::vector<float>& values, int rank) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = part_of(rank, i);
}

void verify(const std::vector<float>& values, int size) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        float expected = 0;
        for (int rank = 0; rank < size; ++rank) expected += part_of(rank, i);
        if (values[i] == expected) continue;
        throw Error(ErrorKind::contract, "the sum of " + std::to_string(values.size()) +
                                             " elements is wrong at " + std::to_string(i) + ": " +
                                             std::to_string(values[i]) + " instead of " +
                                             std::to_string(expected));
    }
}

std::vector<double> sorted_seconds(const bench::SummingRanks& ranks, std::size_t count,
                                   int repeats) {
    std::vector<double> seconds;
    for (int i = 0; i < repeats; ++i) seconds.push_back(ranks.timed_sum(count));
    std::ranges::sort(seconds);
    return seconds;
}

// algbw is the buffer's bytes over the median time. busbw is algbw times 2 (n - 1) / n: the traffic
// of each link in the best algorithm, which can be compared with the link's rate for any number of
// ranks.
void measure(const bench::SummingRanks& ranks, const Options& options) {
    const int size = ranks.size;
    if (ranks.rank == 0)
        std::printf("%12s %10s %10s %12s %12s\n", "bytes", "p50 us", "p99 us", "algbw GB/s",
                    "busbw GB/s");
    for (std::size_t bytes = options.least_bytes; bytes <= options.max_bytes; bytes *= 4) {
        std::vector<float> values(bytes / sizeof(float));
        fill(values, ranks.rank);
        ranks.sum(values);
        verify(values, size);
        const auto seconds = sorted_seconds(ranks, values.size(), options.repeats);
        if (ranks.rank != 0) continue;
        const double p50 = seconds[seconds.size() / 2];
        const double p99 = seconds[(seconds.size() * 99 - 1) / 100];
        const double algbw = static_cast<double>(bytes) / p50 * 1e-9;
        std::printf("%12zu %10.1f %10.1f %12.3f %12.3f\n", bytes, p50 * 1e6, p99 * 1e6, algbw,
                    algbw * 2 * (size - 1) / size);
        std::fflush(stdout);
    }
}

std::optional<Options> parse(int argc, char** argv) {
    namespace po = boost::program_options;
    Options o;
    po::options_description options("bench_allreduce [options]: times sums over ranks");
    auto add = options.add_options();
    add("help,h", "this list");
    add("ranks", po::value(&o.ranks), "ranks on this machine, where no launcher started any");
    add("backend", po::value(&o.backend),
        "auto, gloo, mpi (under mpirun), threads, or nccl (a GPU each)");
    add("least-bytes", po::value(&o.least_bytes), "smallest size");
    add("max-bytes", po::value(&o.max_bytes), "largest size; sizes grow fourfold");
    add("repeats", po::value(&o.repeats), "timed sums of each size");
    add("allow-shared-gpu", "with nccl: ranks take turns where there are fewer GPUs");
    po::variables_map given;
    po::store(po::parse_command_line(argc, argv, options), given);
    po::notify(given);
    if (given.count("help") > 0) {
        std::cout << options;
        return std::nullopt;
    }
    if (given.count("allow-shared-gpu") > 0) o.shared_gpu = launcher::SharedGpu::allowed;
    if (o.ranks < 1 || o.repeats < 1 || o.least_bytes < sizeof(float))
        throw Error(ErrorKind::config, "--ranks and --repeats are at least 1, --least-bytes 4");
    return o;
}

int run(int argc, char** argv) {
    const auto options = parse(argc, argv);
    if (!options) return 0;
    if (options->backend == "threads") {
        comm::run_as_threads(options->ranks, [&](comm::Communicator& rank) {
            measure(bench::host_ranks(rank), *options);
        });
        return 0;
    }
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (const auto code = bench::start_own_ranks(options->ranks, arguments)) return *code;
    const auto environment = comm::process_environment();
    comm::CommOptions join;
    const bool by_nccl = options->backend == "nccl";
    join.backend = comm::parse_backend(by_nccl ? "auto" : options->backend);
    join.secret = comm::Secret::from(environment);
    const comm::RankInfo rank_info = comm::find_rank_info(environment, {});
    const auto host = comm::make_communicator(rank_info, join);
    measure(by_nccl ? bench::nccl_ranks(*host, rank_info, options->shared_gpu, join.timeout_ms)
                    : bench::host_ranks(*host),
            *options);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    launcher::set_openmp_wait_policy(argv);
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "bench_allreduce: " << e.what() << std::endl;
        return 2;
    }
}
