// SPDX-License-Identifier: Apache-2.0
// ParlAI's options of train_model decide how long a run lasts, and when it validates, logs and
// saves.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

const std::string shape =
    " --n-layers 1 --embedding-size 8 --ffn-size 8 --n-heads 1 -bs 4 --text-truncate 8"
    " --label-truncate 4 --threads 1 ";

std::string build_bin() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/";
}

// 40 rows, hence 10 updates an epoch.
struct Dialogues : ValidatedDialogues {
    explicit Dialogues(int rows = 40) : ValidatedDialogues(rows) {}

    ProgramResult train(const std::string& options) const {
        std::filesystem::remove_all(model);
        const auto run = run_line("train --data " + data + " -mf " + model + shape + options);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        return run;
    }

    // The steps of the run's lines of that kind.
    std::vector<int> steps(const std::string& kind, const std::string& options) const {
        train(options);
        std::vector<int> values;
        for (const auto& line : metrics(model, kind)) values.push_back(line.at("step"));
        return values;
    }
    std::vector<int> validations(const std::string& options) const {
        return steps("valid", options);
    }
};

using Steps = std::vector<int>;

}  // namespace

TEST_CASE("validations come by epochs, updates and seconds") {
    const Dialogues dialogues;
    CHECK(dialogues.validations("-eps 1.5 -veps 0.5") == Steps{5, 10, 15});
    CHECK(dialogues.validations("-eps 2 -veps 0.1 -vp -1 -sval false").size() == 20);
    CHECK(dialogues.validations("-eps 2 -veps 0.2 -vp -1 -bs 8") ==
          Steps{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    CHECK(Dialogues(25).steps("train", "-eps 1.36 -bs 1 -lstep 99") == Steps{34});
    CHECK(dialogues.validations("-tstep 6 -vstep 3") == Steps{3, 6});
    CHECK(dialogues.validations("-tstep 3 -vtim 1e-9") == Steps{1, 2, 3});
    dialogues.train("-tstep 2 -vstep 2 -vme 4");
    CHECK(metrics(dialogues.model, "valid").at(0).at("tokens") == 16);
}

TEST_CASE("patience and cutoff end a run as ParlAI's do") {
    const Dialogues dialogues;
    // A loss that is not below the best one counts against patience.
    CHECK(dialogues.validations("-tstep 99 -vstep 3 -vp 2 -lr 0") == Steps{3, 6, 9});
    CHECK(dialogues.validations("-tstep 15 -vstep 3 -vp 0 -lr 0").size() == 5);
    CHECK(dialogues.validations("-tstep 99 -vstep 3 -vp 2 -vmt loss -vmm max -lr 0.05") ==
          Steps{3, 6, 9});
    CHECK(dialogues.validations("-tstep 12 -vstep 3 -vp 2 -vmt loss -vmm min -lr 0.05").size() ==
          4);
    CHECK(dialogues.validations("-tstep 99 -vstep 3 -vmt loss -vcut 100") == Steps{3});
}

TEST_CASE("logs and checkpoints come by seconds, too, and a run ends by time") {
    const Dialogues dialogues;
    CHECK(dialogues.steps("train", "-tstep 5 -lstep 2") == Steps{2, 4, 5});
    CHECK(dialogues.steps("train", "-tstep 3 -lstep 99 -ltim 1e-9") == Steps{1, 2, 3});
    dialogues.train("-tstep 3 -stim 1e-9");
    CHECK(std::filesystem::exists(dialogues.model + "/checkpoints/step-00000002"));
    dialogues.train("-tstep 3");
    CHECK_FALSE(std::filesystem::exists(dialogues.model + "/checkpoints/step-00000002"));
    dialogues.train("-tstep 3 -vstep 2 -sval false");
    CHECK_FALSE(std::filesystem::exists(dialogues.model + "/checkpoints/step-00000002"));
    CHECK(dialogues.train("-eps 1000000 -ttim 0.01").out.find("the time is over") !=
          std::string::npos);
}

TEST_CASE("a trace shows when validations ran and checkpoints were written") {
    const Dialogues dialogues;
    const std::string trace = dialogues.scratch / "trace.json";
    dialogues.train("-tstep 4 -vstep 2 --trace " + trace);
    std::map<std::string, int> spans;
    const auto written = nlohmann::json::parse(read_text(trace));
    for (const auto& event : written.at("traceEvents"))
        ++spans[event.at("name").get<std::string>()];
    CHECK(spans["validation"] >= 2);
    CHECK(spans["checkpoint"] >= 2);
}

TEST_CASE("on a terminal the log's lines stand above the bar" *
          doctest::test_suite(needs_terminal)) {
    const Dialogues dialogues;
    const auto run = run_program({"script", "-qec",
                                  build_bin() + "train --data " + dialogues.data + " -mf " +
                                      dialogues.model + shape + "-tstep 6 -lstep 2 -vstep 3",
                                  "/dev/null"});
    CHECK(run.code == 0);
    // Each line takes the place of the bar.
    for (const std::string line : {"step 2 | ", "step 4 | ", "valid at step 3 | "}) {
        CAPTURE(line);
        CHECK(run.out.find("\r\x1b[K" + line) != std::string::npos);
    }
    CHECK(run.out.find("step 1 | ") == std::string::npos);
    CHECK(run.out.find("%  step 1  epoch") != std::string::npos);
}

TEST_CASE("an evaluation ends after so many rows") {
    const Dialogues dialogues;
    dialogues.train("-tstep 1");
    const auto run = run_line("lockstep eval --data " + dialogues.data + " -mf " + dialogues.model +
                              " -ne 3 --skip-generation true");
    says(run, 0, {"valid tokens 12\n"});
}
