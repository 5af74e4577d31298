// SPDX-License-Identifier: Apache-2.0
// mpirun starts this: mpi_communicator_check collectives | chunks | late | memory. It exits with
// code 0 if all is well.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/comm/mpi/mpi_loader.hpp"
#include "runtime/comm/queue/queued_communicator.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/collective_checks.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::comm;

RankInfo own_place() { return find_rank_info(process_environment(), {}); }

void expect(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
}

void check_collectives() {
    const RankInfo rank_info = own_place();
    expect(rank_info.source == RankSource::mpi, "not started by mpirun");
    const auto ranks = make_communicator(rank_info, CommOptions());
    expect(ranks->rank() == rank_info.rank && ranks->size() == rank_info.size,
           "another rank than mpirun's");
    for (const std::size_t count : {0u, 1u, 5u, 100'000u}) {
        tests::check_collectives(*ranks, count);
    }
    tests::check_ring_order(*ranks, 300'000);  // two pieces for each part
    for (const std::size_t count : {0u, 1u, 5u, 1'100'000u}) tests::check_owner_sums(*ranks, count);
    tests::check_split(*ranks, 5);
}

// Checks the same with MPI calls that can count only to three.
void check_chunks() {
    MpiOptions options;
    options.max_count = 3;
    int local_size = 0;
    QueuedCommunicator ranks([&] { return connect_mpi("", options, local_size); });
    expect(local_size == ranks.size(), "ranks of one host do not see each other");
    for (const std::size_t count : {1u, 3u, 4u, 20u}) tests::check_collectives(ranks, count);
    tests::check_ring_order(ranks, 20);
    tests::check_owner_sums(ranks, 20);
}

// Rank 0 waits for a sum that no rank joins. Then it decides, as a launcher would, to end the job.
void check_late() {
    CommOptions options;
    options.timeout_ms = 5000;  // also limits joining, which is slow on a busy machine
    const auto ranks = make_communicator(own_place(), options);
    std::vector<float> data(10);
    if (ranks->rank() != 0) {
        std::this_thread::sleep_for(std::chrono::hours(1));
        return;
    }
    try {
        ranks->all_reduce(view_of(data), ReduceOp::sum, "bucket 2");
        ranks->finish();
    } catch (const Error& error) {
        // The error was thrown in the module, so its type has crossed the border.
        std::cout << name(error.kind()) << " " << error.what() << std::endl;
        ranks->abort(3);
    }
}

// Rank 0 gets no further memory, which a sum in MPI needs.
void check_memory() {
    CommOptions options;
    options.timeout_ms = 5000;
    const auto ranks = make_communicator(own_place(), options);
    std::vector<float> data(8'000'000);
    constexpr rlimit nothing_more{1 << 20, 1 << 20};
    if (ranks->rank() == 0) ::setrlimit(RLIMIT_DATA, &nothing_more);
    try {
        ranks->all_reduce(view_of(data), ReduceOp::max, "bucket 2");
        ranks->finish();
        std::cout << "the sum succeeded" << std::endl;
    } catch (const Error& error) {
        std::cout << name(error.kind()) << " " << error.what() << std::endl;
    }
    ranks->abort(3);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    try {
        if (what == "collectives") return check_collectives(), 0;
        if (what == "chunks") return check_chunks(), 0;
        if (what == "late") return check_late(), 0;
        if (what == "memory") return check_memory(), 0;
        std::cerr << "collectives, chunks, late or memory?\n";
    } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
    }
    ::_exit(1);  // skips MPI_Finalize, so that mpirun ends the others
}
