// SPDX-License-Identifier: Apache-2.0
#include "launcher/programs/parlai_programs.hpp"

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

struct ParlaiProgram {
    std::string_view name;
    const char* instead;
};

constexpr std::array parlai_programs{
    ParlaiProgram{"interactive_web", terminal},
    ParlaiProgram{"iweb", terminal},
    ParlaiProgram{"flask", terminal},
    ParlaiProgram{"safe_interactive", no_filter},
    ParlaiProgram{"detect_offensive", no_filter},
    ParlaiProgram{"detect_offensive_language", no_filter},
    ParlaiProgram{"data_stats", counts},
    ParlaiProgram{"token_stats", counts},
    ParlaiProgram{"verify_data",
                  "lockstep prepare checks every line, and names the file and the line that is "
                  "wrong"},
    ParlaiProgram{"convert_to_parlai", text_files},
    ParlaiProgram{"convert_data_to_parlai", text_files},
    ParlaiProgram{"convert_data_to_parlai_format", text_files},
    ParlaiProgram{"convert_to_json", dialogues},
    ParlaiProgram{"convert_data_to_json_format", dialogues},
    ParlaiProgram{"convo_render",
                  "it is ParlAI's and reads conversations of JSON lines; run it there"},
    ParlaiProgram{"generate_model_card", one_page},
    ParlaiProgram{"gmc", one_page},
    ParlaiProgram{"compare_opts", "lockstep report -mf A B compares the settings of two runs"},
    ParlaiProgram{"profile_train", "train --trace FILE writes what took how long, for Perfetto"},
    ParlaiProgram{"profile_interactive",
                  "train --trace FILE writes what took how long, of training alone"},
    ParlaiProgram{"vacuum",
                  "there is nothing to strip: a model folder's model.safetensors has no state of "
                  "the optimizer; delete the folder's checkpoints to save room"},
    ParlaiProgram{"torchscript",
                  "model.safetensors and config.json of a model folder are open formats "
                  "(docs/model-format.md)"},
    ParlaiProgram{"build_candidates", "Lockstep has no rankers, its models generate"},
    ParlaiProgram{"eval_wordstat", "lockstep eval --metrics all measures replies"},
    ParlaiProgram{"extract_image_feature", only_text},
    ParlaiProgram{"tod_world_script", no_goals},
    ParlaiProgram{"distributed_tod_world_script", no_goals},
};

}  // namespace

std::string instead_of_parlai_program(std::string_view name) {
    for (const ParlaiProgram& program : parlai_programs) {
        if (program.name == name) return program.instead;
    }
    return "";
}

}  // namespace lockstep::launcher
