// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/primitives/team_size.hpp"

#include <chrono>
#include <utility>

namespace lockstep::kernels::cpu {

TeamSize::TeamSize(Read read, Now now)
    : read_(std::move(read)), now_(std::move(now)), times_(read_()), begin_(now_()) {}

// A team of another size than one or all would end threads of libgomp and start them again.
int TeamSize::of(int threads) {
    constexpr std::chrono::milliseconds first(50), later(200);
    constexpr double least_cores = 1.5;  // for more than one thread
    if (threads == 1) return 1;
    const auto now = now_();
    if (now - begin_ >= (looked_ ? later : first)) {
        looked_ = true;
        const auto times = read_();
        const double passed_s = seconds_between(begin_, now);
        alone_ = times && times_ &&
                 times->cores - cores_of_others(*times_, *times, passed_s) < least_cores;
        times_ = times;
        begin_ = now;
    }
    return alone_ ? 1 : threads;
}

}  // namespace lockstep::kernels::cpu
