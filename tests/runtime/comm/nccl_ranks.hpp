// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/nccl/nccl_communicator.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "tests/support/files.hpp"
#include "tests/support/on_device.hpp"

// The ranks of NCCL's tests are threads. nccl_on_emulation.cpp emulates NCCL and the GPUs; with
// nccl_on_gpus.cpp both are real. A test in the suite "N ranks" needs N GPUs.
namespace lockstep::tests {

// Returns the GPU of a rank.
int gpu_of(int rank);
// The timeout of a rank in tests of timeouts: long enough to join and to connect.
extern const int impatient_ms;
// Returns how many communicators and memory blocks were made or registered and not released; 0 if
// nothing counts them.
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

// Connects the ranks. NCCL connects at the first operation, so that operation waits for all ranks;
// later ones need not wait.
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

// Returns the kind and the text of the error that `function` throws.
inline std::pair<ErrorKind, std::string> thrown_by(const std::function<void()>& function) {
    try {
        function();
    } catch (const Error& error) {
        return {error.kind(), error.what()};
    }
    return {ErrorKind::contract, "nothing was thrown"};
}

}  // namespace lockstep::tests
