// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

// computes: on several threads, by OpenMP.
enum class Load { light, computes };

// What standard output is. log: of a run that keeps its results elsewhere and is no failure where
// they cannot be shown.
enum class Output { answer, log };

// What `lockstep NAME` runs. run() gets the words behind the program's name and returns the
// exit code; what goes wrong is thrown.
struct Program {
    std::string_view name;
    int (*run)(const std::vector<std::string>& args);
    Load load = Load::light;
    Output output = Output::answer;
};

// By its name or an alias; nullptr where there is none.
const Program* find_program(std::string_view word);

// What to type instead of a name that no program has.
std::string advice_on_program(const std::string& name);

int help_program(const std::vector<std::string>& args);
int prepare_program(const std::vector<std::string>& args);
int build_dict_program(const std::vector<std::string>& args);
int inspect_program(const std::vector<std::string>& args);
int display_data_program(const std::vector<std::string>& args);
int train_program(const std::vector<std::string>& args);
int distributed_train_program(const std::vector<std::string>& args);
int multiprocessing_train_program(const std::vector<std::string>& args);
int eval_program(const std::vector<std::string>& args);
int distributed_eval_program(const std::vector<std::string>& args);
int multiprocessing_eval_program(const std::vector<std::string>& args);
int distributed_launch_program(const std::vector<std::string>& args);
int doctor_program(const std::vector<std::string>& args);
int plan_program(const std::vector<std::string>& args);
int ladder_program(const std::vector<std::string>& args);
int report_program(const std::vector<std::string>& args);
int submit_program(const std::vector<std::string>& args);
int display_model_program(const std::vector<std::string>& args);
int generate_program(const std::vector<std::string>& args);
int interactive_program(const std::vector<std::string>& args);
int self_chat_program(const std::vector<std::string>& args);
int version_program(const std::vector<std::string>& args);

}  // namespace lockstep::launcher
