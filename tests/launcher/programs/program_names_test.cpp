// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "launcher/programs/foreign_programs.hpp"
#include "launcher/programs/programs.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::launcher;
using lockstep::tests::run_line;
namespace fs = std::filesystem;

namespace {

std::string name_of(std::string_view called) {
    const Program* program = find_program(called);
    return program == nullptr ? "" : std::string(program->name);
}

// The one line that refuses a program's name.
std::string refusal_of(const std::string& name) {
    const auto run = run_line("lockstep " + name + " --task convai2 -bs 8");
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    return run.err;
}

}  // namespace

TEST_CASE("programs are known by ParlAI's names too") {
    CHECK(name_of("train_model") == "train");
    CHECK(name_of("tm") == "train");
    CHECK(name_of("eval_model") == "eval");
    CHECK(name_of("em") == "eval");
    CHECK(name_of("mp_train") == "multiprocessing_train");
    CHECK(name_of("mp_eval") == "multiprocessing_eval");
    CHECK(name_of("i") == "interactive");
    CHECK(name_of("train ").empty());
    CHECK(name_of("").empty());
    const auto help = run_line("lockstep train-model --help");
    CHECK(help.code == 0);
    CHECK(help.out.starts_with("train --data DIR"));
}

TEST_CASE("every link beside the program is one of its programs") {
    const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
    int links = 0;
    for (const auto& entry : fs::directory_iterator(bin)) {
        if (!entry.is_symlink() || fs::read_symlink(entry.path()) != "lockstep") continue;
        CAPTURE(entry.path().string());
        CHECK_FALSE(name_of(entry.path().filename().string()).empty());
        ++links;
    }
    CHECK(links >= 13);
    // The shell has an `eval` of its own, and the others have no link.
    for (const std::string name : {"eval", "report", "submit"}) {
        CAPTURE(name);
        CHECK(run_line("lockstep " + name + " --help").out.starts_with("lockstep " + name + " "));
    }
    CHECK(run_line("eval_model --help").out.starts_with("lockstep eval -mf DIR"));
}

TEST_CASE("ParlAI's other programs are refused by what to do instead") {
    for (const char* name : {"build_candidates",
                             "compare_opts",
                             "convert_data_to_json_format",
                             "convert_to_json",
                             "convert_data_to_parlai",
                             "convert_data_to_parlai_format",
                             "convert_to_parlai",
                             "convo_render",
                             "data_stats",
                             "detect_offensive",
                             "detect_offensive_language",
                             "distributed_tod_world_script",
                             "eval_wordstat",
                             "extract_image_feature",
                             "flask",
                             "generate_model_card",
                             "gmc",
                             "interactive_web",
                             "iweb",
                             "profile_interactive",
                             "profile_train",
                             "safe_interactive",
                             "token_stats",
                             "tod_world_script",
                             "torchscript",
                             "vacuum",
                             "verify_data"}) {
        CAPTURE(name);
        CHECK(refusal_of(name) ==
              std::string(name) + ": no such program; " + instead_of_program(name) + "\n");
        CHECK_FALSE(instead_of_program(name).empty());
        CHECK(name_of(name).empty());
    }
    CHECK(refusal_of("interactive_web") ==
          "interactive_web: no such program; talk to a model in the terminal: lockstep interactive "
          "-mf MODEL\n");
}

TEST_CASE("programs of other tools for fine-tuning name ours, or say that there is none") {
    const auto says = [](const std::string& name, const std::string& words) {
        const std::string said = refusal_of(name);
        CHECK_MESSAGE(said.find(words) != std::string::npos, said);
        CHECK(said.find("lockstep has prepare") == std::string::npos);
    };
    says("merge", "lockstep checkpoint convert RUN OUT --merge");
    says("chat", "lockstep interactive -mf MODEL");
    for (const char* name : {"sft", "finetune", "lora"}) says(name, "--init-model FOLDER");
    says("serve", "Lockstep has no server");
    says("export", "--to transformers");
    says("quantize", "does not quantize");
    says("dpo", "no training on preferences");
    says("infer", "lockstep generate -mf MODEL");
    says("evaluate", "lockstep eval -mf MODEL");
}

TEST_CASE("a mistyped program names the one that was meant, another word all of them") {
    CHECK(refusal_of("trian") ==
          "trian: no such program; did you mean train? (lockstep help lists all)\n");
    CHECK(refusal_of("eval_modle").find("did you mean eval_model?") != std::string::npos);
    CHECK(refusal_of("--verison").starts_with("--verison: no such program; did you mean version?"));
    CHECK(refusal_of("swim").find("lockstep has prepare, build_dict") != std::string::npos);
}

TEST_CASE("a name cannot write to the terminal") {
    const std::string told = refusal_of("no\x1b[31m\x07");
    CHECK(told.starts_with("no\\x1b[31m\\x07: no such program; "));
    CHECK(told.find_first_of("\x1b\x07") == std::string::npos);
}

TEST_CASE("the version is told") {
    const std::string line = run_line("lockstep --version").out;
    CHECK(std::regex_match(line, std::regex("lockstep [0-9]+\\.[0-9]+\\.[0-9]+\n")));
    CHECK(run_line("lockstep version").out == line);
}
