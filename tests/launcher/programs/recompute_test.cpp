// SPDX-License-Identifier: Apache-2.0
// --recompute of the programs: the level changes no number, may change on a continued run, and a
// wrong one is refused before anything is written.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace {

struct Prepared : PreparedDialogues {
    std::string folder(const std::string& name) const { return scratch / name; }

    std::string start(const std::string& name) const {
        return " --data " + data + " -mf " + folder(name) +
               " --n-layers 3 --embedding-size 16 --ffn-size 32 --n-heads 2 --threads 1 -bs 4"
               " --dropout 0.1 --attention-dropout 0.1 --relu-dropout 0.1 --precision bf16"
               " --logical-shards 4 --log-every-n-steps 1";
    }
    std::string run(const std::string& line) const {
        const auto result = run_line(line);
        REQUIRE_MESSAGE(result.code == 0, line << "\n" << result.out << result.err);
        return result.out + result.err;
    }
    std::string weights(const std::string& name) const {
        return read_text(folder(name) + "/checkpoints/step-00000006/model.safetensors");
    }
    std::vector<double> losses(const std::string& name) const {
        std::vector<double> values;
        for (const auto& line : train_metrics(folder(name)))
            values.push_back(line.at("loss").get<double>());
        return values;
    }
};

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string ranks(int world) {
    return world == 1 ? "train"
                      : "multiprocessing_train --distributed-world-size " + std::to_string(world);
}

}  // namespace

TEST_CASE("processes train the same weights at any level, which may change on the way") {
    const Prepared prepared;
    for (const int world : {1, 2, 4}) {
        CAPTURE(world);
        const std::string of = std::to_string(world);
        prepared.run(ranks(world) + prepared.start("kept" + of) + " --max-train-steps 6");
        prepared.run(ranks(world) + prepared.start("again" + of) +
                     " --max-train-steps 2 --checkpoint-activations");
        const std::string again =
            ranks(world) + " -mf " + prepared.folder("again" + of) + " --threads 1";
        const std::string said = prepared.run(again + " --max-train-steps 4 --recompute ffn");
        CHECK_MESSAGE(holds(said, "--recompute ffn instead of layer"), said);
        CHECK_MESSAGE(!holds(said, "not bit for bit"), said);
        const std::string chosen = prepared.run(again + " --max-train-steps 6 --recompute auto");
        CHECK_MESSAGE(holds(chosen, "--recompute auto takes none: "), chosen);
        CHECK(prepared.weights("again" + of) == prepared.weights("kept" + of));
        CHECK(prepared.losses("again" + of) == prepared.losses("kept" + of));
    }
}

TEST_CASE("a level that the model has not the layers for is refused in one line") {
    const Prepared prepared;
    for (const int world : {1, 2}) {
        const auto run =
            run_line(ranks(world) + prepared.start("new") + " --num-epochs 1 --recompute layer:99");
        INFO(run.err);
        CHECK(run.code == 2);
        CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
        CHECK(holds(run.err,
                    "--recompute layer:99: the model has 3 layers; give layer:3, or layer "
                    "for all of them"));
        CHECK_FALSE(std::filesystem::exists(prepared.folder("new") + "/config.json"));
    }
    const auto planned = run_line("lockstep plan" + prepared.start("new") + " --recompute layer:4");
    CHECK(planned.code == 2);
    CHECK(holds(planned.err, "give layer:3"));
    const auto evaluated = run_line("lockstep eval -mf none --recompute layer");
    CHECK(evaluated.code == 2);
    CHECK(holds(evaluated.err, "--recompute: not an option here; it is for training"));
}
