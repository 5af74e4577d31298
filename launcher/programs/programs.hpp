// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

// `computes`: the program computes on several OpenMP threads.
enum class Load { light, computes };

// Tells the role of standard output. `log`: the run keeps its results elsewhere, and it neither
// fails nor ends when the log cannot be written or nobody reads it any more. `only_answer`: the
// program makes nothing else, so it ends when nobody reads it any more.
enum class Output { answer, only_answer, log };

// `lockstep NAME` runs this program. run() gets the words after the program's name and returns the
// exit code. It throws errors.
struct Program {
    std::string_view name;
    int (*run)(const std::vector<std::string>& args);
    Load load = Load::light;
    Output output = Output::answer;
};

// Finds a program by its name or an alias. Returns nullptr when there is none.
const Program* find_program(std::string_view word);

// Suggests what to type instead of a name that no program has.
std::string advice_on_program(const std::string& name);

int help_program(const std::vector<std::string>& args);
int prepare_program(const std::vector<std::string>& args);
int build_dict_program(const std::vector<std::string>& args);
int inspect_program(const std::vector<std::string>& args);
int display_data_program(const std::vector<std::string>& args);
int tokenize_program(const std::vector<std::string>& args);
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
int top_program(const std::vector<std::string>& args);
int checkpoint_program(const std::vector<std::string>& args);
int submit_program(const std::vector<std::string>& args);
int display_model_program(const std::vector<std::string>& args);
int generate_program(const std::vector<std::string>& args);
int interactive_program(const std::vector<std::string>& args);
int self_chat_program(const std::vector<std::string>& args);
int version_program(const std::vector<std::string>& args);

}  // namespace lockstep::launcher
