// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/comm/place/rank_info.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/comm/watch/watch_store.hpp"

namespace lockstep::launcher::doctor {

// The ranks' way to talk before it is known what works: over the store, a star around rank 0, which
// stands where links between other hosts do not. Only then comes the communicator.
class Meeting {
public:
    // Joins. Throws what says why this rank cannot; peer, config, store or mpi.
    Meeting(const comm::RankInfo& place, const comm::CommOptions& options);

    int rank() const noexcept { return place_.rank; }
    int size() const noexcept { return place_.size; }
    // By which the other ranks reach this one; empty: alone.
    std::string local_address() const;

    // What this rank says on a topic; rank 0 hears all, each empty that has not come in time.
    void tell(const std::string& topic, const std::string& text);
    std::vector<std::optional<std::string>> hear(const std::string& topic,
                                                 std::chrono::milliseconds longest);
    // What rank 0 says to all. Throws kind peer where it does not in time.
    void announce(const std::string& topic, const std::string& text);
    std::string await(const std::string& topic, std::chrono::milliseconds longest);
    // Until `count` ranks are here.
    void gather(const std::string& topic, int count, std::chrono::milliseconds longest);

    // The one that a run would have; collective. Throws where the ranks cannot connect.
    comm::Communicator& communicator();

private:
    comm::RankInfo place_;
    comm::CommOptions options_;
    std::shared_ptr<comm::Store> store_;
    std::unique_ptr<comm::StoreServer> server_;  // on rank 0 under MPI
    std::unique_ptr<comm::Communicator> communicator_;
};

}  // namespace lockstep::launcher::doctor
