// SPDX-License-Identifier: Apache-2.0
#include "launcher/programs.hpp"

#include <array>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "launcher/options/spelling.hpp"
#include "launcher/parlai_programs.hpp"
#include "launcher/version.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::array programs{
    Program{"prepare", "text to a dictionary or tokenizer and HDF5 shards", prepare_program},
    Program{"build_dict", "the dictionary alone, as ParlAI's build_dict", build_dict_program},
    Program{"display_data", "the first rows of prepared data: contexts and labels",
            display_data_program, Load::light, "dd"},
    Program{"inspect", "counts, lengths and sample rows of prepared data", inspect_program},
    Program{"train", "train on this machine as one rank", train_program, Load::computes,
            "train_model tm", Output::log},
    Program{"distributed_train", "one rank of a job that srun, mpirun or a launcher started",
            distributed_train_program, Load::computes, "", Output::log},
    Program{"multiprocessing_train", "train on this machine with several ranks",
            multiprocessing_train_program, Load::light, "mp_train", Output::log},
    Program{"eval", "loss, perplexity, accuracy, F1, BLEU, ROUGE of a model", eval_program,
            Load::computes, "eval_model em"},
    Program{"distributed_eval", "eval as one rank of a job", distributed_eval_program,
            Load::computes},
    Program{"multiprocessing_eval", "eval with several ranks on this machine",
            multiprocessing_eval_program, Load::light, "mp_eval"},
    Program{"distributed_launch", "start any program as ranks, as torchrun does",
            distributed_launch_program},
    Program{"doctor", "checks hosts, network, folders and data before a run", doctor_program,
            Load::computes},
    Program{"plan", "what a run takes of a device's memory, before it starts", plan_program},
    Program{"ladder", "measures each speed-up of training on your data", ladder_program},
    Program{"report", "an HTML page of a training run, or of several side by side", report_program},
    Program{"submit", "write and submit a Slurm job", submit_program},
    Program{"generate", "replies to prompts from a file or standard input", generate_program,
            Load::computes},
    Program{"display_model", "rows of a split with the replies of a model", display_model_program,
            Load::computes, "dm"},
    Program{"interactive", "talk to a model", interactive_program, Load::computes, "i"},
    Program{"self_chat", "a model talks to itself", self_chat_program, Load::computes},
    Program{"version", "the version of Lockstep", version_program},
    Program{"help", "this list", help_program},
};

bool has_name(const Program& program, std::string_view name) {
    if (program.name == name) return true;
    std::istringstream aliases{std::string(program.aliases)};
    for (std::string alias; aliases >> alias;) {
        if (alias == name) return true;
    }
    return false;
}

}  // namespace

const Program* find_program(std::string_view name) {
    for (const Program& program : programs) {
        if (has_name(program, name)) return &program;
    }
    return nullptr;
}

std::string advice_on_program(const std::string& name) {
    const std::string instead = instead_of_parlai_program(name);
    if (!instead.empty()) return instead;
    std::vector<std::string> words;
    std::string names;
    for (const Program& program : programs) {
        names += (names.empty() ? "" : ", ") + std::string(program.name);
        words.emplace_back(program.name);
        std::istringstream aliases{std::string(program.aliases)};
        for (std::string alias; aliases >> alias;) words.push_back(alias);
    }
    const std::string meant = probably_meant(name, words);
    return meant.empty() ? "lockstep has " + names
                         : "did you mean " + meant + "? (lockstep help lists all)";
}

int help_program(const std::vector<std::string>&) {
    std::cout << "Lockstep trains transformers, the same numbers on 1 or N ranks.\n\n"
                 "  lockstep PROGRAM [options]      lockstep PROGRAM --help lists its options\n\n";
    for (const Program& program : programs) {
        std::cout << "  " << std::left << std::setw(24) << program.name << program.summary;
        if (!program.aliases.empty()) std::cout << " (" << program.aliases << ')';
        std::cout << '\n';
    }
    return 0;
}

int version_program(const std::vector<std::string>&) {
    std::cout << "lockstep " << version << '\n';
    return 0;
}

}  // namespace lockstep::launcher
