// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/rates.hpp"

#include <algorithm>
#include <cstdint>

#include "launcher/doctor/probes/probe.hpp"

namespace lockstep::launcher::doctor {

namespace {

constexpr std::size_t smallest_count = 16'384;  // floats
constexpr std::size_t largest_count = std::size_t{2} << 20;
constexpr double wanted_s = 0.02;  // of one all-reduce: long enough to measure, short on slow links

// Returns the maximum over the ranks, so that all of them continue alike.
double largest(comm::Communicator& communicator, double mine) {
    std::vector<double> value{mine};
    communicator.all_reduce(view_of(value), comm::ReduceOp::max, "doctor");
    communicator.finish();
    return value.front();
}

double seconds_of_all_reduce(comm::Communicator& communicator, std::vector<float>& values) {
    const auto begin = Clock::now();
    communicator.all_reduce(view_of(values), comm::ReduceOp::sum, "doctor");
    communicator.finish();
    return largest(communicator, seconds_between(begin, Clock::now()));
}

// Returns the index of the pair in `round` that contains rank `me`, or -1 when there is none.
int place_in(const std::vector<Pair>& round, int me) {
    for (std::size_t i = 0; i < round.size(); ++i) {
        if (round[i].first == me || round[i].second == me) return static_cast<int>(i);
    }
    return -1;
}

// Returns the rate of the slower direction; a copy in memory has only one. The rank that does not
// send waits in the next collective, so that the other has the link and the cores to itself.
double link_rate(comm::Communicator& two, const Plan& plan, const Pair& pair, int timeout_ms) {
    const RankEndpoint& first = plan.stands[static_cast<std::size_t>(pair.first)];
    const RankEndpoint& second = plan.stands[static_cast<std::size_t>(pair.second)];
    if (first.host == second.host) return two.rank() == 0 ? copy_rate() : 0;
    const RankEndpoint& there = two.rank() == 0 ? second : first;
    const ProbeTarget target{there.host, there.address, there.probe_port, plan.token};
    std::vector<double> rates(2);
    for (std::size_t sender = 0; sender < 2; ++sender) {
        if (two.rank() == static_cast<int>(sender)) rates[sender] = stream_rate(target, timeout_ms);
        rates[sender] = largest(two, rates[sender]);
    }
    return std::min(rates[0], rates[1]);
}

PairRate measure(comm::Communicator& two, const Plan& plan, const Pair& pair, int timeout_ms) {
    const double link = link_rate(two, plan, pair, timeout_ms);
    return {pair.first, pair.second, link, all_reduce_rate(two)};
}

}  // namespace

double all_reduce_rate(comm::Communicator& communicator) {
    std::vector<float> values(smallest_count);
    seconds_of_all_reduce(communicator, values);  // the first one connects
    const double first = std::max(seconds_of_all_reduce(communicator, values), 1e-6);
    const double wanted = static_cast<double>(smallest_count) * wanted_s / first;
    values.resize(std::clamp(static_cast<std::size_t>(wanted), smallest_count, largest_count));
    double best = first;
    if (values.size() > smallest_count) best = seconds_of_all_reduce(communicator, values);
    for (int i = 0; i < 2; ++i) best = std::min(best, seconds_of_all_reduce(communicator, values));
    const double size = communicator.size();
    const double bytes = static_cast<double>(values.size() * sizeof(float));
    return 2 * (size - 1) / size * bytes / best;
}

Rates measure_rates(Meeting& meeting, const Plan& plan, std::chrono::milliseconds longest) {
    const auto rounds = measuring_rounds(hosts_of(plan.stands));
    const int timeout_ms = static_cast<int>(longest.count());
    comm::Communicator& all = meeting.communicator();
    Rates rates;
    for (const auto& round : rounds) {
        const int mine = place_in(round, meeting.rank());
        // A rank without a partner forms a group of its own.
        const int none = static_cast<int>(round.size()) + meeting.rank();
        const auto part = all.split(mine >= 0 ? mine : none);
        if (mine < 0) continue;
        const Pair& pair = round[static_cast<std::size_t>(mine)];
        const PairRate rate = measure(*part, plan, pair, timeout_ms);
        if (meeting.rank() == pair.first) rates.pairs.push_back(rate);
    }
    rates.ring = all_reduce_rate(all);
    return rates;
}

}  // namespace lockstep::launcher::doctor
