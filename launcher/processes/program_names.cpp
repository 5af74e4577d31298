// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/program_names.hpp"

#include <array>
#include <sstream>
#include <string>

namespace lockstep::launcher {

namespace {

constexpr std::array names{
    ProgramName{"prepare", "text to a dictionary or tokenizer and HDF5 shards"},
    ProgramName{"build_dict", "the dictionary alone, as ParlAI's build_dict"},
    ProgramName{"display_data", "the first rows of prepared data: contexts and labels", "dd"},
    ProgramName{"inspect", "counts, lengths and sample rows of prepared data"},
    ProgramName{"tokenize", "texts to the ids of tokens, and back"},
    ProgramName{"train", "train on this machine as one rank", "train_model tm"},
    ProgramName{"distributed_train", "one rank of a job that srun, mpirun or a launcher started"},
    ProgramName{"multiprocessing_train", "train on this machine with several ranks", "mp_train"},
    ProgramName{"eval", "loss, perplexity, accuracy, F1, BLEU, ROUGE of a model", "eval_model em"},
    ProgramName{"distributed_eval", "eval as one rank of a job"},
    ProgramName{"multiprocessing_eval", "eval with several ranks on this machine", "mp_eval"},
    ProgramName{"distributed_launch", "start any program as ranks, as torchrun does"},
    ProgramName{"doctor", "checks hosts, network, folders and data before a run"},
    ProgramName{"plan", "what a run takes of a device's memory, before it starts"},
    ProgramName{"ladder", "measures each speed-up of training on your data"},
    ProgramName{"report", "an HTML page of a training run, or of several side by side"},
    ProgramName{"top", "a training run on the terminal while it goes on"},
    ProgramName{"checkpoint", "lists, verifies, compares and converts checkpoints"},
    ProgramName{"submit", "write and submit a Slurm job"},
    ProgramName{"generate", "replies to prompts from a file or standard input"},
    ProgramName{"display_model", "rows of a split with the replies of a model", "dm"},
    ProgramName{"interactive", "talk to a model", "i"},
    ProgramName{"self_chat", "a model talks to itself"},
    ProgramName{"version", "the version of Lockstep"},
    ProgramName{"help", "this list"},
};

bool has_name(const ProgramName& program, std::string_view name) {
    if (program.name == name) return true;
    std::istringstream aliases{std::string(program.aliases)};
    for (std::string alias; aliases >> alias;) {
        if (alias == name) return true;
    }
    return false;
}

}  // namespace

std::span<const ProgramName> program_names() { return names; }

const ProgramName* find_program_name(std::string_view word) {
    for (const ProgramName& program : names) {
        if (has_name(program, word)) return &program;
    }
    return nullptr;
}

}  // namespace lockstep::launcher
