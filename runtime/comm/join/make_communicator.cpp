// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/join/make_communicator.hpp"

#include <algorithm>
#include <utility>

#include "runtime/comm/environment/network_interface.hpp"
#include "runtime/comm/environment/pmix_check.hpp"
#include "runtime/comm/gloo/gloo_transport.hpp"
#include "runtime/comm/join/missing_ranks.hpp"
#include "runtime/comm/mpi/mpi_loader.hpp"
#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/comm/queue/queued_communicator.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/comm/store/store_join.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

std::string position(int rank, int size) {
    return "rank " + std::to_string(rank) + " of " + std::to_string(size);
}

std::unique_ptr<Transport> connect_over_joined(std::shared_ptr<Store> store,
                                               const RankInfo& rank_info,
                                               const CommOptions& options) {
    GlooOptions gloo;
    gloo.interface = options.interface;
    gloo.address = store->local_address();
    gloo.timeout_ms = options.timeout_ms;
    return connect_gloo(rank_info.rank, rank_info.size, std::move(store), gloo);
}

std::unique_ptr<Transport> connect_over(std::shared_ptr<Store> store, const RankInfo& rank_info,
                                        const CommOptions& options) {
    join_store(*store, rank_info, options.timeout_ms, options.while_waiting);
    return connect_over_joined(std::move(store), rank_info, options);
}

std::unique_ptr<Communicator> join_by_gloo(const RankInfo& rank_info, const CommOptions& options) {
    check_gloo(rank_info, options.interface);
    return std::make_unique<QueuedCommunicator>([&] {
        return connect_over(open_store(rank_info, options.secret, options.timeout_ms), rank_info,
                            options);
    });
}

// Ranks divide their host's cores and devices among themselves, so their number must be exact.
void check_local_size(const RankInfo& rank_info, int local_size) {
    if (rank_info.local_size == local_size) return;
    throw Error(ErrorKind::config,
                "ranks on " + rank_info.host + ": MPI has " + std::to_string(local_size) +
                    ", the environment says " + std::to_string(rank_info.local_size) +
                    ": unset the variables that are left over from an outer job");
}

// MPI_Init waits for every rank without a time limit. A rank that gives up leaves the thread in
// MPI_Init running, with everything that thread uses.
std::unique_ptr<Communicator> init_mpi(const RankInfo& rank_info, const CommOptions& options,
                                       const MpiOptions& mpi,
                                       const std::shared_ptr<int>& local_size) {
    require_pmix_daemon(process_environment());
    const int roll_call_ms = std::min(options.timeout_ms / 3, 10'000);
    const MissingRank waiting(rank_info);
    try {
        return std::make_unique<QueuedCommunicator>(
            [module = options.mpi_module, mpi, local_size] {
                return connect_mpi(module, mpi, *local_size);
            },
            options.timeout_ms - roll_call_ms);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::peer) throw;
        const std::string missing = roll_call(rank_info, roll_call_ms);
        throw Error(
            ErrorKind::peer,
            position(rank_info.rank, rank_info.size) + " on " + rank_info.host +
                " waited in vain: " +
                (missing.empty()
                     ? error.what()
                     : missing + " (within " + std::to_string(options.timeout_ms / 1000) +
                           " s). Start one process for each rank, or give a longer --timeout"));
    }
}

std::unique_ptr<Communicator> join_by_mpi(const RankInfo& rank_info, const CommOptions& options) {
    // srun names the host of rank 0, mpirun does not: Gloo is possible only under srun.
    const bool goes_without =
        options.backend == Backend::automatic && !rank_info.master_addr.empty();
    if (goes_without && !mpi_is_here(options.mpi_module)) return join_by_gloo(rank_info, options);
    check_interface(options.interface, rank_info);
    MpiOptions mpi;
    mpi.interface = options.interface;
    mpi.timeout_ms = options.timeout_ms;
    const auto local_size = std::make_shared<int>(0);
    auto joined = init_mpi(rank_info, options, mpi, local_size);
    if (joined->rank() == rank_info.rank && joined->size() == rank_info.size) {
        check_local_size(rank_info, *local_size);
        return joined;
    }
    // An MPI library that does not understand the launcher's PMI sees a world of one rank, on every
    // rank.
    const bool alone = joined->size() == 1;
    if (alone && goes_without) return join_by_gloo(rank_info, options);
    throw Error(ErrorKind::config,
                "MPI says " + position(joined->rank(), joined->size()) + ", " +
                    name(rank_info.source) + "'s environment says " +
                    position(rank_info.rank, rank_info.size) +
                    (alone ? ": this MPI was not started by the mpirun it belongs to"
                           : ": unset the variables that are left over from an outer job"));
}

void check_options(const RankInfo& rank_info, const CommOptions& options) {
    if (options.timeout_ms <= 0) {
        throw Error(ErrorKind::config, "--timeout must be positive");
    }
    if (options.backend == Backend::mpi && rank_info.source != RankSource::mpi) {
        throw Error(
            ErrorKind::config,
            "MPI did not start this run: use mpirun or srun --mpi=pmix, or another backend");
    }
}

}  // namespace

Backend parse_backend(const std::string& text) {
    if (text == "auto") return Backend::automatic;
    if (text == "mpi") return Backend::mpi;
    if (text == "gloo") return Backend::gloo;
    throw Error(ErrorKind::config, "--distributed-backend " + text + ": give auto, mpi or gloo");
}

// Only the ranks of MPI may do without a store, and MPI's launchers tell local ranks.
MetRanks meet_ranks(const RankInfo& rank_info, const CommOptions& options) {
    if (rank_info.local_rank_known || rank_info.size == 1) return {rank_info, nullptr};
    check_options(rank_info, options);
    check_gloo(rank_info, options.interface);
    std::shared_ptr<Store> store = open_store(rank_info, options.secret, options.timeout_ms);
    join_store(*store, rank_info, options.timeout_ms, options.while_waiting);
    RankInfo found = agree_on_local_ranks(*store, rank_info, options.timeout_ms);
    return {std::move(found), std::move(store)};
}

std::unique_ptr<Communicator> make_communicator(const MetRanks& met, const CommOptions& options) {
    if (met.store == nullptr) return make_communicator(met.rank_info, options);
    return std::make_unique<QueuedCommunicator>(
        [&] { return connect_over_joined(met.store, met.rank_info, options); });
}

std::unique_ptr<Communicator> make_gloo_communicator(const RankInfo& rank_info,
                                                     const CommOptions& options,
                                                     std::shared_ptr<Store> store) {
    check_gloo(rank_info, options.interface);
    return std::make_unique<QueuedCommunicator>(
        [&] { return connect_over(std::move(store), rank_info, options); });
}

std::unique_ptr<Communicator> make_communicator(const RankInfo& rank_info,
                                                const CommOptions& options) {
    check_options(rank_info, options);
    if (rank_info.size == 1) return std::make_unique<LocalCommunicator>();
    const bool by_mpi = rank_info.source == RankSource::mpi;
    if (by_mpi && options.backend != Backend::gloo) return join_by_mpi(rank_info, options);
    return join_by_gloo(rank_info, options);
}

}  // namespace lockstep::comm
