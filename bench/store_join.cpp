// SPDX-License-Identifier: Apache-2.0
// Measures how long many ranks take to join through the store. Threads run the steps of a rank
// before it has a communicator, without a model.
//  bench_store_join [RANKS]     default 4096
#include "runtime/comm/store/store_join.hpp"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/store/store.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/trace.hpp"

namespace {

using namespace lockstep;

constexpr int timeout_ms = 60'000;

comm::RankInfo rank_info_of(int rank, int size) {
    comm::RankInfo rank_info = comm::alone();
    rank_info.rank = rank_info.local_rank = rank;
    rank_info.size = rank_info.local_size = size;
    rank_info.master_addr = "127.0.0.1";
    rank_info.master_port = comm::default_master_port;
    return rank_info;
}

// Returns the seconds from the first rank's start until the last rank knows that all have joined.
double join_all(int size) {
    const comm::Secret secret = comm::Secret::make();
    std::latch joined(size);
    std::vector<std::thread> ranks;
    std::mutex mutex;
    std::string problem;
    const auto begin = Clock::now();
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            const comm::RankInfo rank_info = rank_info_of(rank, size);
            std::unique_ptr<comm::Store> store;
            try {
                store = comm::open_store(rank_info, secret, timeout_ms);
                comm::join_store(*store, rank_info, timeout_ms);
            } catch (const Error& error) {
                const std::lock_guard lock(mutex);
                problem = error.what();
            }
            joined.arrive_and_wait();  // every connection stays open until then
        });
    }
    joined.wait();
    const std::chrono::duration<double> took = Clock::now() - begin;
    for (auto& rank : ranks) rank.join();
    if (!problem.empty()) throw Error(ErrorKind::store, problem);
    return took.count();
}

}  // namespace

int main(int argc, char** argv) {
    const int size = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 4096;
    try {
        comm::allow_connections(2 * size);  // both ends are in this process
        std::cout << size << " ranks joined in " << std::fixed << std::setprecision(2)
                  << join_all(size) << " s on " << std::thread::hardware_concurrency()
                  << " cores\n";
        return 0;
    } catch (const Error& error) {
        std::cerr << "store_join: " << error.what() << '\n';
        return 1;
    }
}
