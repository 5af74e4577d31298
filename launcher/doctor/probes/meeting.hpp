// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/comm/watch/watch_store.hpp"

namespace lockstep::launcher::doctor {

// Lets the ranks exchange texts before it is known which connections work. The texts go through the
// store, a star around rank 0 that works even when other hosts cannot reach each other. The
// communicator is made later.
class Meeting {
public:
    // Joins the meeting. Throws an error of kind peer, config, store or mpi that says why this rank
    // cannot join.
    Meeting(const comm::RankInfo& rank_info, const comm::CommOptions& options);

    int rank() const noexcept { return rank_info_.rank; }
    int size() const noexcept { return rank_info_.size; }
    // Returns the address at which the other ranks reach this one; empty when there is only one
    // rank.
    std::string local_address() const;

    // tell() publishes this rank's text on a topic. hear() returns every rank's text to rank 0; an
    // element is empty when its text has not come in time.
    void tell(const std::string& topic, const std::string& text);
    std::vector<std::optional<std::string>> hear(const std::string& topic,
                                                 std::chrono::milliseconds longest);
    // announce() publishes rank 0's text to all. await() returns it, and throws kind peer when it
    // does not come in time.
    void announce(const std::string& topic, const std::string& text);
    std::string await(const std::string& topic, std::chrono::milliseconds longest);
    // Waits until `count` ranks are here.
    void gather(const std::string& topic, int count, std::chrono::milliseconds longest);

    // Returns the communicator that a run would have. Collective. Throws when the ranks cannot
    // connect.
    comm::Communicator& communicator();

private:
    comm::RankInfo rank_info_;
    comm::CommOptions options_;
    std::shared_ptr<comm::Store> store_;
    std::unique_ptr<comm::StoreServer> server_;  // rank 0 has one under MPI
    std::unique_ptr<comm::Communicator> communicator_;
};

}  // namespace lockstep::launcher::doctor
