// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/rank_info.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

namespace {

// Reads lines of the form NAME=value.
comm::Environment environment_of(std::string_view text) {
    comm::Environment environment;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos)
            environment[std::string(line.substr(0, equals))] = line.substr(equals + 1);
        text.remove_prefix(line.size() == text.size() ? text.size() : line.size() + 1);
    }
    return environment;
}

}  // namespace

// The input is the variables that Slurm, Open MPI, PMIx or torchrun gives a rank.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::expect_answer([&] {
        const comm::RankInfo info =
            comm::find_rank_info(environment_of(fuzz::text_of(data, size)), {});
        fuzz::expect(info.rank >= 0 && info.rank < info.size && info.local_rank >= 0 &&
                         info.local_rank < info.local_size && info.local_size <= info.size,
                     "a rank outside of its job");
    });
    return 0;
}
