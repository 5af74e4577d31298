// SPDX-License-Identifier: Apache-2.0
#include "launcher/torchrun/unsupported_options.hpp"

#include <array>

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

struct Refusal {
    const char* option;
    const char* instead;
};

constexpr std::array refusals{
    Refusal{
        "local-addr",
        "all hosts meet at host 0's address; give that to each by --master-addr, and Lockstep's "
        "programs --interface"},
    Refusal{"event-log-handler", "there are no event logs; --log-dir keeps what the ranks write"},
    Refusal{"logs-specs", "--log-dir, --redirects and --tee say where output goes"},
    Refusal{"duplicate-stdout-filters", "keep the output by --log-dir and grep its files"},
    Refusal{"duplicate-stderr-filters", "keep the output by --log-dir and grep its files"},
    Refusal{
        "numa-binding",
        "put `numactl --cpunodebind=N --membind=N` before PROGRAM, or let srun --cpu-bind do it"},
    Refusal{"signals-to-handle", "INT, TERM, USR1 and USR2 are always handed on, and no others"},
    Refusal{"virtual-local-rank", "LOCAL_RANK is the true one; PROGRAM chooses its GPU by it"},
    Refusal{"print-completion", "there is no completion for shells; --help lists the options"},
};

}  // namespace

std::vector<std::string_view> unsupported_options() {
    std::vector<std::string_view> names;
    for (const Refusal& refusal : refusals) names.emplace_back(refusal.option);
    return names;
}

void refuse_option_of_torchrun(const std::string& name) {
    for (const Refusal& refusal : refusals) {
        if (name != refusal.option) continue;
        throw Error(ErrorKind::config,
                    "--" + name + ": leave it out: " + std::string(refusal.instead));
    }
}

}  // namespace lockstep::launcher
