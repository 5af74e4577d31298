// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/free_port.hpp"

namespace lockstep::tests {

inline comm::RankInfo rank_info_of(int rank, int size, int port) {
    comm::RankInfo rank_info = comm::alone();
    rank_info.rank = rank;
    rank_info.size = size;
    rank_info.local_rank = rank;
    rank_info.local_size = size;
    rank_info.source = comm::RankSource::flags;
    rank_info.master_addr = "127.0.0.1";
    rank_info.master_port = port;
    return rank_info;
}

inline comm::CommOptions options_of(int timeout_ms) {
    comm::CommOptions options;
    options.timeout_ms = timeout_ms;
    options.secret = comm::Secret("of the test");
    return options;
}

// Runs ranks as threads, each with its own store connection and Gloo sockets, and returns what each
// of them threw.
inline std::vector<std::exception_ptr> run_gloo(
    int size, int timeout_ms, const std::function<void(comm::Communicator&)>& body) {
    const int port = free_port();
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            try {
                const auto rank_info = rank_info_of(rank, size, port);
                const auto communicator =
                    comm::make_communicator(rank_info, options_of(timeout_ms));
                body(*communicator);
            } catch (...) {
                failures[static_cast<std::size_t>(rank)] = std::current_exception();
            }
        });
    }
    for (auto& rank : ranks) rank.join();
    return failures;
}

inline std::string text_of(const std::exception_ptr& failure) {
    if (!failure) return "";
    try {
        std::rethrow_exception(failure);
    } catch (const Error& error) {
        return std::string(name(error.kind())) + ": " + error.what();
    } catch (const std::exception& error) {
        return error.what();
    }
}

}  // namespace lockstep::tests
