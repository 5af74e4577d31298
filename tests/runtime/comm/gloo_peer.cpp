// SPDX-License-Identifier: Apache-2.0
// This is one rank in its own process, for gloo_test: gloo_peer RANK SIZE PORT TIMEOUT_MS READY_FD
// GO_FD fp32|bf16. It joins, tells so, waits until it may go on, and only then sums with this
// time-out.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "runtime/comm/join/make_communicator.hpp"
#include "runtime/core/error.hpp"

namespace {

using namespace lockstep;

template <class T>
void sum_without_end(comm::Communicator& ranks) {
    std::vector<T> data(300'000);
    for (;;) {
        ranks.all_reduce(view_of(data), comm::ReduceOp::sum, "without end");
        ranks.finish();
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8) return 2;
    comm::RankInfo rank_info = comm::alone();
    rank_info.rank = std::stoi(argv[1]);
    rank_info.size = rank_info.local_size = std::stoi(argv[2]);
    rank_info.master_addr = "127.0.0.1";
    rank_info.master_port = std::stoi(argv[3]);
    comm::CommOptions options;
    options.timeout_ms = 60'000;
    options.secret = comm::Secret("of the test");
    try {
        const auto ranks = comm::make_communicator(rank_info, options);
        ranks->barrier("joined");
        ranks->finish();
        char go = 0;
        if (::write(std::stoi(argv[5]), "r", 1) != 1 || ::read(std::stoi(argv[6]), &go, 1) != 1)
            return 1;
        ranks->set_timeout(std::stoi(argv[4]));
        if (argv[7] == std::string("bf16")) sum_without_end<bf16>(*ranks);
        sum_without_end<float>(*ranks);
    } catch (const Error& error) {
        return error.kind() == ErrorKind::peer ? 3 : 1;
    }
}
