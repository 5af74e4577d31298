// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/threads_per_rank.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

#include "runtime/comm/environment/environment.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

// Every rank sends as many limits. More of them would be quotas of groups around groups with
// tighter ones.
constexpr std::size_t sent_limits = 8, words_of_limit = 3;

std::vector<std::uint64_t> words_of(std::vector<CoreLimit> limits) {
    std::stable_sort(std::next(limits.begin()), limits.end(),
                     [](const auto& a, const auto& b) { return a.cores < b.cores; });
    std::vector<std::uint64_t> words;
    for (const CoreLimit& limit : limits) {
        words.push_back(static_cast<std::uint64_t>(limit.kind));
        words.push_back(std::bit_cast<std::uint64_t>(limit.cores));
        words.push_back(limit.id);
    }
    words.resize(sent_limits * words_of_limit, 0);
    return words;
}

std::vector<CoreLimit> limits_of(const std::uint64_t* words) {
    std::vector<CoreLimit> limits;
    for (std::size_t i = 0; i < sent_limits; ++i, words += words_of_limit) {
        const auto cores = std::bit_cast<double>(words[1]);
        if (cores > 0) limits.push_back({static_cast<CoreLimit::Kind>(words[0]), cores, words[2]});
    }
    return limits;
}

}  // namespace

ThreadShare lone_share() {
    return thread_shares({core_limits(comm::process_environment())}).front();
}

int usable_cores() { return lone_share().threads; }

int within_thread_limit(int threads) { return std::clamp(threads, 1, omp_get_thread_limit()); }

void require_threads(std::int64_t threads) {
    const int limit = omp_get_thread_limit();
    if (threads <= limit) return;
    throw Error(ErrorKind::config, "--threads " + std::to_string(threads) +
                                       ": OMP_THREAD_LIMIT allows " + std::to_string(limit) +
                                       "; unset it, or give --threads " + std::to_string(limit));
}

ThreadShare share_of_cores(const std::vector<CoreLimit>& own, comm::Communicator& communicator) {
    std::vector<std::uint64_t> mine = words_of(own);
    std::vector<std::uint64_t> all(mine.size() * static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(view_of(mine), view_of(all), "cores");
    communicator.finish();
    std::vector<std::vector<CoreLimit>> of_ranks;
    for (std::size_t at = 0; at < all.size(); at += mine.size())
        of_ranks.push_back(limits_of(&all[at]));
    ThreadShare share = thread_shares(of_ranks)[static_cast<std::size_t>(communicator.rank())];
    share.threads = within_thread_limit(share.threads);
    return share;
}

int share_of_cores(comm::Communicator& communicator) {
    return share_of_cores(core_limits(comm::process_environment()), communicator).threads;
}

}  // namespace lockstep::launcher
