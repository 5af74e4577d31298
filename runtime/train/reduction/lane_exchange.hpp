// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/train/reduction/lane_tree.hpp"

namespace lockstep::train {

// Returns how many floats arrive at a LaneExchange whose largest bucket has `max_count`.
std::size_t received_floats(std::int64_t lanes, int ranks, std::size_t max_count);

// Adds the branches of all ranks in the order of the lane tree, whatever the ranks have of it. A
// bucket is cut into one part for each rank. Each rank gets its part of all branches from the
// others, adds them and sends the sum to all. Pairs of ranks exchange messages, in an order in
// which no rank waits for one that waits for it.
class LaneExchange {
public:
    // `received` has the floats that received_floats() gives for the largest bucket. It and the
    // communicator must outlive the object.
    LaneExchange(comm::Communicator& communicator, std::int64_t lanes, HostView<float> received);

    // Queues the sum of a bucket over all lanes. `branches` has this rank's values of
    // branches_of(its lanes), in their order; the last one may be `sum`, and the others are not
    // changed. Everything must stay valid until the communicator's finish().
    void queue(const std::vector<HostView<float>>& branches, HostView<float> sum,
               const std::string& label);

private:
    struct Arrival {
        const float* values = nullptr;
        std::size_t sums = 0;  // see LaneStack::push
    };

    int partner(int round) const noexcept;
    void send(HostView<float> values, int to, const std::string& label);
    void receive(HostView<float> values, int from, const std::string& label);
    void send_branches(const std::vector<HostView<float>>& branches, int to,
                       const std::string& label);
    void receive_branches(int from, std::size_t part, const std::string& label);
    std::vector<Arrival> arrivals(const std::vector<HostView<float>>& branches,
                                  std::size_t part) const;
    static void add(const std::vector<Arrival>& arrivals, HostView<float> sum);

    comm::Communicator& communicator_;
    std::vector<std::size_t> first_of_rank_;  // [ranks + 1] number of branches before each rank's
    std::vector<std::size_t> sums_;           // of each branch, in order: see LaneStack::push
    HostView<float> received_;                // parts of the other ranks' branches
};

}  // namespace lockstep::train
