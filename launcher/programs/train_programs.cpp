// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/evaluation.hpp"
#include "launcher/memory/evaluation_memory.hpp"
#include "launcher/memory/weights_memory.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/text/already_told.hpp"
#include "launcher/train/training.hpp"
#include "runtime/comm/environment/environment.hpp"

namespace lockstep::launcher {

namespace {

Ranks ranks_of(LaunchMode mode) { return mode == LaunchMode::alone ? Ranks::one : Ranks::of_job; }

int train_as(LaunchMode mode, const char* program, const std::string& usage,
             const std::vector<std::string>& args) {
    return run_training({program, usage, args, ranks_of(mode)}, mode);
}

// The ranks of a host find the same, and the first one of them tells it.
void check_memory(const RunConfig& config, LaunchMode mode) {
    try {
        require_room_for_weights(config);
    } catch (const Error& error) {
        if (rank_info_of(config, mode).local_rank == 0) throw;
        throw AlreadyTold(error);
    }
}

int evaluate_as(LaunchMode mode, const char* usage, const std::vector<std::string>& args) {
    const auto config = parse_run(Task::evaluate, usage, args, ranks_of(mode));
    if (!config) return 0;
    check_memory(*config, mode);
    return run_evaluation(*config, mode, check_evaluation_memory);
}

}  // namespace

int train_program(const std::vector<std::string>& args) {
    require_one_process("train", args, comm::process_environment());
    return train_as(LaunchMode::alone, "train",
                    "train --data DIR -mf DIR [options]\n"
                    "Trains as one rank.\n" +
                        std::string(how_to_continue),
                    args);
}

int distributed_train_program(const std::vector<std::string>& args) {
    return train_as(LaunchMode::in_job, "distributed_train",
                    "srun|mpirun|torchrun ... distributed_train --data DIR -mf DIR [options]\n"
                    "Trains as one rank of the job that started it.\n" +
                        std::string(how_to_continue),
                    args);
}

int eval_program(const std::vector<std::string>& args) {
    require_one_process("eval", args, comm::process_environment());
    return evaluate_as(
        LaunchMode::alone,
        "lockstep eval -mf DIR [--data DIR] [options]\n"
        "Evaluates a model: loss, perplexity, token accuracy, and metrics of its replies.\n"
        "It reads the split valid of the run's own data, unless --split and --data say else.\n",
        args);
}

int distributed_eval_program(const std::vector<std::string>& args) {
    return evaluate_as(LaunchMode::in_job,
                       "srun|mpirun|torchrun ... distributed_eval -mf DIR [--data DIR] [options]\n"
                       "Evaluates as one rank of the job that started it.\n",
                       args);
}

}  // namespace lockstep::launcher
