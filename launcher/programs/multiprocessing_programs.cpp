// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "launcher/evaluate/evaluation.hpp"
#include "launcher/memory/evaluation_memory.hpp"
#include "launcher/model_folder/newest_checkpoint.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/processes/process_group.hpp"
#include "launcher/processes/restarts.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/rank/compute_device.hpp"
#include "launcher/rank/gpu_assignment.hpp"
#include "launcher/rank/job.hpp"
#include "launcher/rank/threads_per_rank.hpp"
#include "launcher/text/log_file.hpp"
#include "launcher/train/log_folder.hpp"
#include "launcher/train/training.hpp"
#include "runtime/comm/environment/environment.hpp"
#include "runtime/files/own_binary.hpp"

namespace lockstep::launcher {

namespace {

// Returns one rank for each GPU, or for each core when there is no GPU. Throws once, here, for a
// device that the ranks could not compute on.
int ranks_here(const RunConfig& config) {
    const Gpus gpus = gpus_for(config);
    const auto own = gpus.visible.empty() ? usable_cores() : static_cast<int>(gpus.visible.size());
    comm::RankInfo last = comm::alone();
    last.local_size = config.world_size > 0 ? static_cast<int>(config.world_size) : own;
    last.local_rank = last.local_size - 1;
    if (choose_gpu(config, last, gpus))
        require_gpu_for_each(last, gpus.visible.size(), sharing(config));
    return last.local_size;
}

// This environment variable tells a process that it is a rank started by the named program.
constexpr const char* ranks_of = "LOCKSTEP_RANKS_OF";

bool is_rank_of(const std::string& program) {
    const auto variables = comm::process_environment();
    const auto found = variables.find(ranks_of);
    return found != variables.end() && found->second == program;
}

// The processes repeat the whole command as ranks, so that their messages name it. A stop from
// outside that all ranks obeyed (exit 0) is a success. Each attempt has its own port and secret, so
// that remains of the last attempt cannot join it. The ranks continue from the model folder's
// newest checkpoint. `trained` is the folder that they train into; empty: none. A --secret-file
// that they would all refuse is refused here, once.
int run_ranks(const char* program, const RunConfig& config, const std::vector<std::string>& args,
              const std::string& trained) {
    require_threads(config.threads);
    if (!config.secret_file.empty()) (void)comm::Secret::from_file(config.secret_file);
    auto base = comm::process_environment();
    base[ranks_of] = program;
    const auto run = [&](int) {
        LocalRanks ranks;
        ranks.command = {own_binary(), program};
        ranks.command.insert(ranks.command.end(), args.begin(), args.end());
        ranks.size = ranks_here(config);
        ranks.master_port = static_cast<int>(std::max<std::int64_t>(config.master_port, 0));
        ranks.threads_per_rank = std::max(1, usable_cores() / ranks.size);
        ranks.secret = comm::Secret::make();
        // The ranks watch each other, and one that hangs makes all of them end. The launcher
        // therefore waits as long as the ranks take to stop.
        GroupOptions options;
        options.stop_grace_ms.reset();
        return run_process_group(local_ranks(ranks, base), options);
    };
    make_folder_of_log(config, 0);
    LogFile log_file(config.log_file, 0);  // beside rank 0, which writes there, too
    RestartPolicy policy;
    policy.max_restarts = config.max_restarts;
    policy.newest_checkpoint = [&] { return newest_checkpoint_name(config.model_file); };
    const auto failed = [&](const GroupResult& result, const AfterFailure& after) {
        if (const std::string request = ended_by_request(result); !request.empty()) {
            const std::string last = trained.empty() ? "" : "; " + last_checkpoint_text(trained);
            std::cerr << program << ": " << request << last << std::endl;
            return;
        }
        if (result.status == 2) return;  // the rank has reported the error
        std::cerr << program << ": rank " << result.failed_rank << ' '
                  << failure_text(result, after, policy) << std::endl;
    };
    return log_file.keep(program,
                         [&] { return exit_code_of(run_with_restarts(run, policy, failed)); });
}

}  // namespace

// The ranks find what is wrong with data and model folder: rank 0 alone looks at the folder.
int multiprocessing_train_program(const std::vector<std::string>& args) {
    constexpr const char* program = "multiprocessing_train";
    const TrainingCommand command{program,
                                  "multiprocessing_train --data DIR -mf DIR [options]\n"
                                  "Trains on this machine with --distributed-world-size ranks.\n" +
                                      std::string(how_to_continue),
                                  args, Ranks::started_here};
    if (is_rank_of(program)) return run_training(command, LaunchMode::in_job);
    require_one_process(program, args, comm::process_environment());
    const auto launch = parse_launch(command.usage, args, command.ranks);
    return launch ? run_ranks(program, *launch, args, launch->model_file) : 0;
}

int multiprocessing_eval_program(const std::vector<std::string>& args) {
    constexpr const char* program = "multiprocessing_eval";
    if (!is_rank_of(program)) require_one_process(program, args, comm::process_environment());
    const auto config =
        parse_run(Task::evaluate,
                  "multiprocessing_eval -mf DIR [--data DIR] [options]\n"
                  "Evaluates on this machine with --distributed-world-size ranks.\n",
                  args, Ranks::started_here);
    if (!config) return 0;
    if (is_rank_of(program))
        return run_evaluation(*config, LaunchMode::in_job, check_evaluation_memory);
    check_patiently(*config, [&] { check_evaluation(*config, data::MissingShards::refuse); });
    return run_ranks(program, *config, args, "");
}

}  // namespace lockstep::launcher
