// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/continuing_command.hpp"

#include "launcher/text/shell_word.hpp"

namespace lockstep::launcher {

std::string continuing_command(const std::string& program, Ranks ranks, const RunConfig& config) {
    std::string command = program;
    const auto values = option_values(Task::train, config);
    for (const std::string name : {"distributed-world-size", "device", "threads", "max-restarts",
                                   "zero-ranks", "tensor", "pipeline"}) {
        const auto value = values.find(name);
        if (config.given.contains(name) && value != values.end())
            command += " --" + name + " " + shell_word(value->second);
    }
    command += " -mf " + shell_word(config.model_file);
    return command + (ranks == Ranks::of_job ? ", started on as many ranks" : "");
}

}  // namespace lockstep::launcher
