// SPDX-License-Identifier: Apache-2.0
#include "launcher/programs/foreign_programs.hpp"

#include <array>

namespace lockstep::launcher {

namespace {

constexpr const char* terminal = "talk to a model in the terminal: lockstep interactive -mf MODEL";
constexpr const char* counts = "lockstep inspect DATA shows counts, lengths and sample rows";
constexpr const char* text_files =
    "it is ParlAI's, for its own tasks: run parlai convert_to_parlai there, then "
    "lockstep prepare --format parlai --input FILE --out DATA here";
constexpr const char* dialogues =
    "it is ParlAI's, for its own tasks: run parlai convert_to_json there, then lockstep prepare "
    "--format jsonl --input "
    "FILE --out DATA here";
constexpr const char* one_page =
    "lockstep report -mf MODEL writes a page of a run, its settings and its curves";
constexpr const char* no_filter = "Lockstep has no filter of offensive words";
constexpr const char* only_text = "Lockstep reads text alone, no images";
constexpr const char* no_goals = "Lockstep has no worlds of task-oriented dialogue";

// These programs are those of fine-tuning tools and of servers.
constexpr const char* merge =
    "lockstep checkpoint convert RUN OUT --merge makes a model of adapters and their base";
constexpr const char* fine_tuning =
    "lockstep prepare --like FOLDER --format messages --input TALKS --out DATA, and then "
    "lockstep train --data DATA -mf RUN --init-model FOLDER, with --lora-r N for adapters";
constexpr const char* export_folder =
    "lockstep checkpoint convert RUN OUT --to transformers writes a folder that transformers loads";
constexpr const char* replies =
    "lockstep generate -mf MODEL answers prompts of a file, interactive those of a terminal";
constexpr const char* no_server =
    "Lockstep has no server; lockstep checkpoint convert RUN OUT --to transformers makes a folder "
    "for one, and lockstep generate answers a file of prompts";
constexpr const char* no_quantizing =
    "Lockstep does not quantize weights; lockstep checkpoint convert RUN OUT --to transformers "
    "makes a folder for a tool that does, with --dtype bf16 for half of the size";
constexpr const char* no_preferences =
    "Lockstep has no training on preferences or rewards; lockstep train learns from answers";
constexpr const char* no_hub =
    "nothing is sent or downloaded: give a folder that is there as -mf, --like or --init-model";
constexpr const char* evaluation = "lockstep eval -mf MODEL --data DATA measures a model";

struct ForeignProgram {
    std::string_view name;
    const char* instead;
};

constexpr std::array foreign_programs{
    ForeignProgram{"interactive_web", terminal},
    ForeignProgram{"iweb", terminal},
    ForeignProgram{"flask", terminal},
    ForeignProgram{"safe_interactive", no_filter},
    ForeignProgram{"detect_offensive", no_filter},
    ForeignProgram{"detect_offensive_language", no_filter},
    ForeignProgram{"data_stats", counts},
    ForeignProgram{"token_stats", counts},
    ForeignProgram{"verify_data",
                   "lockstep prepare checks every line, and names the file and the line that is "
                   "wrong"},
    ForeignProgram{"convert_to_parlai", text_files},
    ForeignProgram{"convert_data_to_parlai", text_files},
    ForeignProgram{"convert_data_to_parlai_format", text_files},
    ForeignProgram{"convert_to_json", dialogues},
    ForeignProgram{"convert_data_to_json_format", dialogues},
    ForeignProgram{"convo_render",
                   "it is ParlAI's and reads conversations of JSON lines; run it there"},
    ForeignProgram{"generate_model_card", one_page},
    ForeignProgram{"gmc", one_page},
    ForeignProgram{"compare_opts", "lockstep report -mf A B compares the settings of two runs"},
    ForeignProgram{"profile_train", "train --trace FILE writes what took how long, for Perfetto"},
    ForeignProgram{"profile_interactive",
                   "train --trace FILE writes what took how long, of training alone"},
    ForeignProgram{"vacuum",
                   "there is nothing to strip: a model folder's model.safetensors has no state of "
                   "the optimizer; delete the folder's checkpoints to save room"},
    ForeignProgram{"torchscript",
                   "model.safetensors and config.json of a model folder are open formats "
                   "(docs/model-format.md)"},
    ForeignProgram{"build_candidates", "Lockstep has no rankers, its models generate"},
    ForeignProgram{"eval_wordstat", "lockstep eval --metrics all measures replies"},
    ForeignProgram{"extract_image_feature", only_text},
    ForeignProgram{"tod_world_script", no_goals},
    ForeignProgram{"distributed_tod_world_script", no_goals},
    ForeignProgram{"merge", merge},
    ForeignProgram{"merge_lora", merge},
    ForeignProgram{"merge_adapter", merge},
    ForeignProgram{"chat", terminal},
    ForeignProgram{"talk", terminal},
    ForeignProgram{"cli", terminal},
    ForeignProgram{"webchat", terminal},
    ForeignProgram{"sft", fine_tuning},
    ForeignProgram{"finetune", fine_tuning},
    ForeignProgram{"fine_tune", fine_tuning},
    ForeignProgram{"tune", fine_tuning},
    ForeignProgram{"lora", fine_tuning},
    ForeignProgram{"qlora", fine_tuning},
    ForeignProgram{"pretrain", "lockstep train --data DATA -mf RUN begins at random weights"},
    ForeignProgram{"serve", no_server},
    ForeignProgram{"server", no_server},
    ForeignProgram{"api", no_server},
    ForeignProgram{"export", export_folder},
    ForeignProgram{"convert", export_folder},
    ForeignProgram{"quantize", no_quantizing},
    ForeignProgram{"quantise", no_quantizing},
    ForeignProgram{"dpo", no_preferences},
    ForeignProgram{"grpo", no_preferences},
    ForeignProgram{"kto", no_preferences},
    ForeignProgram{"orpo", no_preferences},
    ForeignProgram{"ppo", no_preferences},
    ForeignProgram{"reward", no_preferences},
    ForeignProgram{"rlhf", no_preferences},
    ForeignProgram{"infer", replies},
    ForeignProgram{"inference", replies},
    ForeignProgram{"predict", replies},
    ForeignProgram{"run", "lockstep train trains, and lockstep generate answers prompts"},
    ForeignProgram{"evaluate", evaluation},
    ForeignProgram{"validate", evaluation},
    ForeignProgram{"test", evaluation},
    ForeignProgram{"upload", no_hub},
    ForeignProgram{"download", no_hub},
    ForeignProgram{"preprocess", "lockstep prepare --input FILE --out DATA reads text"},
    ForeignProgram{"tokenizer",
                   "lockstep prepare --tokenizer bytelevelbpe makes one, lockstep tokenize -mf "
                   "FOLDER shows what it does"},
};

}  // namespace

std::string instead_of_program(std::string_view name) {
    for (const ForeignProgram& program : foreign_programs) {
        if (program.name == name) return program.instead;
    }
    return "";
}

}  // namespace lockstep::launcher
