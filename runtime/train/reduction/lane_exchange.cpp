// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/lane_exchange.hpp"

#include <algorithm>
#include <array>

#include "runtime/comm/reduction.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::train {

namespace {

// So many elements of every branch on the stack fit the second-level cache.
constexpr std::size_t block = 4096;

HostView<float> part_of(HostView<float> values, int part, int parts) {
    const comm::HostRange range = comm::even_part_of(values, part, parts);
    return {static_cast<float*>(range.data), range.count};
}

void add_into(float* left, const float* right, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) left[i] += right[i];
}

std::size_t max_part(std::size_t count, int ranks) {
    return count / static_cast<std::size_t>(ranks) + 1;
}

}  // namespace

std::size_t received_floats(std::int64_t lanes, int ranks, std::size_t max_count) {
    std::size_t branches = 0;
    for (int rank = 0; rank < ranks; ++rank)
        branches += branches_of(lanes_of_rank(lanes, rank, ranks), lanes).size();
    return branches * max_part(max_count, ranks);
}

LaneExchange::LaneExchange(comm::Communicator& communicator, std::int64_t lanes,
                           HostView<float> received)
    : communicator_(communicator), received_(received) {
    const int ranks = communicator.size();
    LaneStack stack(lanes);
    for (int rank = 0; rank < ranks; ++rank) {
        first_of_rank_.push_back(sums_.size());
        for (const LaneBranch& branch : branches_of(lanes_of_rank(lanes, rank, ranks), lanes))
            sums_.push_back(stack.push(branch));
    }
    first_of_rank_.push_back(sums_.size());
    require(stack.branches().size() == 1, "the branches of all ranks are not the whole tree");
}

// In round k the ranks whose numbers add up to k, modulo the number of ranks, are partners. A rank
// that is its own partner pauses.
int LaneExchange::partner(int round) const noexcept {
    const int ranks = communicator_.size();
    return (round - communicator_.rank() + ranks) % ranks;
}

// A small bucket has empty parts, which nobody sends.
void LaneExchange::send(HostView<float> values, int to, const std::string& label) {
    if (values.size() > 0) communicator_.send(values, to, label);
}

void LaneExchange::receive(HostView<float> values, int from, const std::string& label) {
    if (values.size() > 0) communicator_.recv(values, from, label);
}

void LaneExchange::send_branches(const std::vector<HostView<float>>& branches, int to,
                                 const std::string& label) {
    for (const HostView<float>& branch : branches)
        send(part_of(branch, to, communicator_.size()), to, label);
}

void LaneExchange::receive_branches(int from, std::size_t part, const std::string& label) {
    const auto rank = static_cast<std::size_t>(from);
    for (std::size_t i = first_of_rank_[rank]; i < first_of_rank_[rank + 1]; ++i)
        receive({received_.data() + i * part, part}, from, label);
}

std::vector<LaneExchange::Arrival> LaneExchange::arrivals(
    const std::vector<HostView<float>>& branches, std::size_t part) const {
    const auto rank = static_cast<std::size_t>(communicator_.rank());
    require(branches.size() == first_of_rank_[rank + 1] - first_of_rank_[rank],
            "a rank gives other branches than its lanes have");
    std::vector<Arrival> arrivals(sums_.size());
    for (std::size_t i = 0; i < sums_.size(); ++i)
        arrivals[i] = {received_.data() + i * part, sums_[i]};
    for (std::size_t i = 0; i < branches.size(); ++i)
        arrivals[first_of_rank_[rank] + i].values =
            part_of(branches[i], communicator_.rank(), communicator_.size()).data();
    return arrivals;
}

// The blocks are added on a stack like LaneStack's. `sum` may be one of the arrivals: a block of it
// is written after all of them were read.
void LaneExchange::add(const std::vector<Arrival>& arrivals, HostView<float> sum) {
    std::vector<std::array<float, block>> stack(arrivals.size());
    for (std::size_t first = 0; first < sum.size(); first += block) {
        const std::size_t count = std::min(block, sum.size() - first);
        std::size_t depth = 0;
        for (const Arrival& arrival : arrivals) {
            std::copy_n(arrival.values + first, count, stack[depth++].begin());
            for (std::size_t left = arrival.sums; left > 0; --left, --depth)
                add_into(stack[depth - 2].data(), stack[depth - 1].data(), count);
        }
        std::copy_n(stack.front().begin(), count, sum.data() + first);
    }
}

void LaneExchange::queue(const std::vector<HostView<float>>& branches, HostView<float> sum,
                         const std::string& label) {
    const int rank = communicator_.rank(), ranks = communicator_.size();
    const HostView<float> own = part_of(sum, rank, ranks);
    const auto in_pairs = [&](const auto& give, const auto& take) {
        for (int round = 0; round < ranks; ++round) {
            const int other = partner(round);
            if (other == rank) continue;
            if (rank < other) give(other);
            take(other);
            if (rank > other) give(other);
        }
    };
    in_pairs([&](int to) { send_branches(branches, to, label); },
             [&](int from) { receive_branches(from, own.size(), label); });
    communicator_.run([arrived = arrivals(branches, own.size()), own] { add(arrived, own); },
                      label);
    in_pairs([&](int to) { send(own, to, label); },
             [&](int from) { receive(part_of(sum, from, ranks), from, label); });
}

}  // namespace lockstep::train
