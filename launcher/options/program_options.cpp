// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/program_options.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "launcher/command_line/habits.hpp"

namespace lockstep::launcher {

namespace {

struct Rule {
    std::vector<std::string> names;
    std::string instead;
};

constexpr const char* of_training = "it is for training; leave it out";

std::vector<Rule> rules_of_ranks(Task task, Ranks ranks) {
    const std::string doing = task == Task::evaluate ? "eval" : "train";
    switch (ranks) {
        case Ranks::one:
            return {{{"distributed-world-size", "max-restarts", "rank", "local-rank", "master-addr",
                      "master-port", "backend", "interface", "secret-file"},
                     doing + " is one rank; start several by multiprocessing_" + doing +
                         ", or distributed_" + doing + " under a launcher"}};
        case Ranks::started_here:
            return {{{"rank", "local-rank", "master-addr"},
                     "the ranks are started here; give it to distributed_" + doing}};
        case Ranks::of_job:
            return {{{"max-restarts"},
                     "what starts the ranks can start them again: give it to "
                     "multiprocessing_" +
                         doing + " or distributed_launch"}};
        case Ranks::any:
            break;
    }
    return {};
}

std::vector<Rule> rules_of(Task task) {
    if (task == Task::evaluate || task == Task::display)
        return {{{"trace"}, "only training is traced; leave it out"},
                {{"log-file"}, "only training writes one; redirect the output to a file"},
                {{"update-freq", "num-workers", "logical-shards"}, of_training}};
    if (talks(task)) return {{{"allow-shared-gpu"}, "one process computes here; leave it out"}};
    if (task == Task::ladder)
        return {{{"max-restarts", "rank", "local-rank", "master-addr", "master-port", "backend",
                  "interface", "secret-file", "wandb-log", "mlflow", "comet"},
                 "the ladder's runs are of this machine; leave it out"}};
    return {};
}

void refuse(const Rule& rule, std::vector<OptionTable>& tables) {
    for (OptionTable& table : tables) table.refuse(rule.names, rule.instead);
}

// Adds all options of the task as refused ones. An option that the program has as well stays valid.
void add_others(Task task, const std::string& instead, RunConfig& config,
                std::vector<OptionTable>& tables) {
    for (OptionTable& table : run_tables(task, config)) {
        table.refuse_all(table.caption() == "Model" ? "the model in -mf has its own; leave it out"
                                                    : instead);
        tables.push_back(std::move(table));
    }
}

}  // namespace

std::vector<OptionTable> program_tables(Task task, Ranks ranks, std::vector<OptionTable> tables,
                                        RunConfig& config) {
    for (const Rule& rule : rules_of(task)) refuse(rule, tables);
    for (const Rule& rule : rules_of_ranks(task, ranks)) refuse(rule, tables);
    if (task == Task::evaluate) {
        add_others(Task::train, of_training, config, tables);
    } else if (talks(task) || task == Task::display) {
        // The tables of eval and train both have --metrics and --skip-generation; eval's advice
        // fits these programs better and comes first.
        add_others(Task::evaluate, "it is for `lockstep eval`; leave it out", config, tables);
        add_others(Task::train, of_training, config, tables);
        for (const auto& [other, name] :
             {std::pair{Task::generate, "generate"}, std::pair{Task::interactive, "interactive"},
              std::pair{Task::self_chat, "self_chat"}})
            if (other != task)
                add_others(other, "it is for `lockstep " + std::string(name) + "`; leave it out",
                           config, tables);
    } else {
        add_others(Task::evaluate, "it is for `lockstep eval`; leave it out", config, tables);
        if (task != Task::plan)
            add_others(Task::plan, "it is for `lockstep plan`; leave it out", config, tables);
    }
    if (task == Task::evaluate || task == Task::display || talks(task))
        refuse({{"lora", "lora-r", "lora-alpha", "lora-modules", "lora-modules-to-save",
                 "lora-ensure-weight-tying", "lora-rs"},
                "a folder with adapters, of a run or of PEFT, is given by -mf"},
               tables);
    if (task != Task::evaluate && task != Task::display && !talks(task))
        refuse({{"checkpoint"},
                "training goes on from the newest one; to begin anew from another, give "
                "--init-model MODEL/checkpoints/step-00001234 and a new -mf"},
               tables);
    if (task != Task::plan)
        refuse({{"nodes", "gpus-per-node", "ntasks-per-node"},
                "give it to what starts the ranks: srun or `lockstep submit`; `lockstep plan` has "
                "it, too"},
               tables);
    if (task == Task::evaluate || task == Task::display)
        refuse({{"eval-data"}, instead_of_option("evaltask")}, tables);
    return tables;
}

}  // namespace lockstep::launcher
