// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "bench/summing_ranks.hpp"

namespace lockstep::bench {

SummingRanks host_ranks(comm::Communicator& ranks) {
    const auto buffer = std::make_shared<std::vector<float>>();
    const auto sum = [&ranks](std::vector<float>& values) {
        ranks.all_reduce(view_of(values), comm::ReduceOp::sum, "sum");
        ranks.finish();
    };
    const auto timed_sum = [&ranks, buffer, sum](std::size_t count) {
        buffer->assign(count, 0.0f);
        ranks.barrier("start");
        ranks.finish();
        const auto begin = Clock::now();
        sum(*buffer);
        return seconds_between(begin, Clock::now());
    };
    return {ranks.rank(), ranks.size(), sum, timed_sum};
}

}  // namespace lockstep::bench
