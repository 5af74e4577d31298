// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/nccl/nccl_communicator.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "tests/support/on_device.hpp"

// The ranks of NCCL's tests, which are threads. nccl_on_emulation.cpp plays NCCL and the GPUs, with
// nccl_on_gpus.cpp both are real. A test is in the suite "N ranks": so many GPUs does it need.
namespace lockstep::tests {

// A rank's GPU.
int gpu_of(int rank);
// What a rank waits for the others before it gives up, where that is what a test is about: enough
// to join and to connect.
extern const int impatient_ms;
// Communicators and memory that were made or registered and not given back; 0 where nobody counts.
int left_behind();

constexpr int patient_ms = 60'000;

struct Rank {
    explicit Rank(comm::Communicator& ranks, int timeout_ms = patient_ms)
        : host(ranks), context(gpu_of(ranks.rank())), nccl(context, ranks, timeout_ms) {}

    comm::Communicator& host;
    device::CudaContext context;
    comm::NcclCommunicator nccl;
};

inline void run_ranks(int size, const std::function<void(Rank&)>& body) {
    comm::run_as_threads(size, [&](comm::Communicator& host) {
        Rank rank(host);
        body(rank);
    });
}

// NCCL connects at the first operation, which therefore waits for all ranks; those after it need
// not.
inline void connect(Rank& rank) {
    rank.nccl.barrier("connect");
    rank.nccl.finish();
    (void)rank.nccl.take_timings();
    rank.host.barrier("connected");
    rank.host.finish();
}

template <class T>
std::vector<T> filled(std::size_t count, int value) {
    return std::vector<T>(count, static_cast<T>(static_cast<float>(value)));
}

// The kind and the text of what `function` throws.
inline std::pair<ErrorKind, std::string> thrown_by(const std::function<void()>& function) {
    try {
        function();
    } catch (const Error& error) {
        return {error.kind(), error.what()};
    }
    return {ErrorKind::contract, "nothing was thrown"};
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace lockstep::tests
