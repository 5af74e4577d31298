// SPDX-License-Identifier: Apache-2.0
#include "launcher/programs/programs.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "launcher/command_line/spelling.hpp"
#include "launcher/processes/program_names.hpp"
#include "launcher/programs/foreign_programs.hpp"
#include "launcher/version.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::array programs{
    Program{"prepare", prepare_program},
    Program{"build_dict", build_dict_program},
    Program{"display_data", display_data_program, Load::light, Output::only_answer},
    Program{"inspect", inspect_program, Load::light, Output::only_answer},
    Program{"tokenize", tokenize_program, Load::light, Output::only_answer},
    Program{"train", train_program, Load::computes, Output::log},
    Program{"distributed_train", distributed_train_program, Load::computes, Output::log},
    Program{"multiprocessing_train", multiprocessing_train_program, Load::light, Output::log},
    Program{"eval", eval_program, Load::computes},
    Program{"distributed_eval", distributed_eval_program, Load::computes},
    Program{"multiprocessing_eval", multiprocessing_eval_program, Load::light},
    Program{"distributed_launch", distributed_launch_program, Load::light, Output::log},
    Program{"doctor", doctor_program, Load::computes, Output::only_answer},
    Program{"plan", plan_program, Load::light, Output::only_answer},
    Program{"ladder", ladder_program},
    Program{"report", report_program},
    Program{"top", top_program},
    Program{"checkpoint", checkpoint_program},
    Program{"submit", submit_program},
    Program{"generate", generate_program, Load::computes},
    Program{"display_model", display_model_program, Load::computes, Output::only_answer},
    Program{"interactive", interactive_program, Load::computes},
    Program{"self_chat", self_chat_program, Load::computes},
    Program{"version", version_program},
    Program{"help", help_program},
};

// The shell may have a program of the same name as an alias.
std::string typed(std::string_view aliases) {
    std::istringstream in{std::string(aliases)};
    std::string text;
    for (std::string alias; in >> alias;)
        text += (text.empty() ? "lockstep " : ", lockstep ") + alias;
    return text;
}

}  // namespace

const Program* find_program(std::string_view word) {
    const ProgramName* known = find_program_name(word);
    if (known == nullptr) return nullptr;
    for (const Program& program : programs) {
        if (program.name == known->name) return &program;
    }
    return nullptr;
}

std::string advice_on_program(const std::string& name) {
    std::string instead = instead_of_program(name);
    if (!instead.empty()) return instead;
    std::vector<std::string> words;
    std::string names;
    for (const ProgramName& program : program_names()) {
        names += (names.empty() ? "" : ", ") + std::string(program.name);
        words.emplace_back(program.name);
        std::istringstream aliases{std::string(program.aliases)};
        for (std::string alias; aliases >> alias;) words.push_back(alias);
    }
    const std::string meant = probably_meant(name, words);
    return meant.empty() ? "lockstep has " + names
                         : "did you mean " + meant + "? (lockstep help lists all)";
}

namespace {

int list_programs() {
    std::cout << "Lockstep trains transformers, the same numbers on 1 or N ranks.\n\n"
                 "  lockstep PROGRAM [options]      lockstep help PROGRAM lists its options\n\n";
    for (const ProgramName& program : program_names()) {
        std::cout << "  " << std::left << std::setw(24) << program.name << program.summary;
        if (!program.aliases.empty()) std::cout << " (" << typed(program.aliases) << ')';
        std::cout << '\n';
    }
    return 0;
}

}  // namespace

int help_program(const std::vector<std::string>& args) {
    const auto word = std::find_if(args.begin(), args.end(),
                                   [](const std::string& arg) { return !arg.starts_with("-"); });
    if (word == args.end()) return list_programs();
    std::string name = *word;
    std::replace(name.begin(), name.end(), '-', '_');
    const Program* program = find_program(name);
    if (program == nullptr)
        throw Error(ErrorKind::config,
                    "'" + shown(*word) + "' is no program; " + advice_on_program(name));
    return program->run == help_program ? list_programs() : program->run({"--help"});
}

int version_program(const std::vector<std::string>&) {
    std::cout << "lockstep " << version << '\n';
    return 0;
}

}  // namespace lockstep::launcher
