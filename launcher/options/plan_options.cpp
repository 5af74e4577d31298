// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "launcher/command_line/size_option.hpp"
#include "launcher/options/tables.hpp"
#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::launcher {

OptionTable plan_table(RunConfig& config) {
    constexpr int max_per_node = 1 << 12;
    OptionTable table("Plan");
    table.integer("nodes,N", config.nodes, "hosts of the run, as of `lockstep submit`", 1,
                  comm::max_ranks);
    // The number behind a kind, as in a100:4.
    table.add("gpus-per-node", Arity::one, "[KIND:]N", "ranks on each host, one for each GPU", "",
              [&config](const auto& given) {
                  const std::string& word = given.front();
                  config.ranks_per_node = parse_integer(
                      "gpus-per-node", word.substr(word.rfind(':') + 1), 1, max_per_node);
              });
    table.integer("ntasks-per-node,tasks-per-node", config.ranks_per_node, "ranks on each host", 1,
                  max_per_node);
    table.add("memory", Arity::one, "SIZE", "what a rank may take of its device, say 80GiB",
              "the device's", [&config](const auto& given) {
                  config.memory_bytes = parse_bytes("memory", given.front(), std::int64_t{1} << 20);
              });
    table.integer("vocabulary", config.vocabulary,
                  "entries of the dictionary, where there is no "
                  "--data yet",
                  1);
    table.choice<Fit>(
        "fit", config.fit, {{"off", Fit::given}, {"auto", Fit::automatic}},
        "auto: choose what is not given of --zero, --recompute, --moments, on the CPU "
        "--async-save and on a GPU --offload, so that the run fits and is as fast as it "
        "can be, and print its command");
    table.flag("json", config.json, "print one JSON document instead of text");
    return table;
}

}  // namespace lockstep::launcher
