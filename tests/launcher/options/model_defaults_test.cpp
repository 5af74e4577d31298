// SPDX-License-Identifier: Apache-2.0
// A model keeps what it was trained with: its options are the defaults of eval, generate and
// interactive, and only the command line changes them.
#include "launcher/options/model_defaults.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "launcher/options/run_command.hpp"
#include "launcher/rank/compute_device.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

using nlohmann::json;

// A model folder as far as the options' defaults read it.
struct Folder {
    ScratchFolder scratch;
    std::string model = scratch / "model";

    explicit Folder(const json& defaults) {
        write_text(model + "/config.json",
                   json{{"dictionary_hash", "00ff"}, {"defaults", defaults}}.dump());
    }
    launcher::RunConfig evaluate(std::vector<std::string> words) const {
        words.insert(words.end(), {"-mf", model});
        return *launcher::parse_run(launcher::Task::evaluate, "", words);
    }
    void refused(const std::string& what) const {
        CHECK_THROWS_WITH_AS(evaluate({"--data", "d"}), doctest::Contains(what.c_str()), Error);
    }
};

const json stored = {{"data", "/tmp"},
                     {"text-truncate", "48"},
                     {"label-truncate", "24"},
                     {"eval-batchsize", "16"},
                     {"batch-tokens", "900"},
                     {"eval-dynamic-batching", "full"},
                     {"inference", "beam"},
                     {"beam-size", "7"},
                     {"delimiter", " "},
                     {"history-size", "2"},
                     {"beam-length-penalty", "0.4"}};

// A small model of dialogues whose rows are cut.
struct TrainedOnCutRows : ValidatedDialogues {
    TrainedOnCutRows() : ValidatedDialogues(60) {
        const auto run = run_line(
            "train --embedding-size 16 --n-layers 1 --n-heads 2 --ffn-size 16 --threads 1 "
            "--n-positions 64 --text-truncate 12 --label-truncate 7 -bs 8 --eval-batchsize 5 "
            "--precision fp32 --max-train-steps 4 -vstep 4 --inference beam --beam-size 3 --data " +
            data + " -mf " + model);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }
    json config() const { return parse_json(read_text(model + "/config.json")); }
};

}  // namespace

TEST_CASE("a stranger's model decides nothing but what training writes") {
    Folder(json{{"world-logs", "/tmp/logs"}})
        .refused(
            "config.json: \"defaults\" has \"world-logs\", which a model does not decide; "
            "remove it from the file");
    Folder(json{{"report-filename", "r.json"}}).refused("report-filename");
    Folder(json{{"device", "cuda"}}).refused("device");
    CHECK(Folder(json{{"a-newer-option", "1"}}).evaluate({"--data", "d"}).data.front() == "d");
}

TEST_CASE("a model's options are the defaults where it is evaluated") {
    const auto config = Folder(stored).evaluate({});
    CHECK(config.data == std::vector<std::string>{"/tmp"});
    CHECK(config.batch.text_truncate == 48);
    CHECK(config.batch.label_truncate == 24);
    CHECK(config.batch.eval_batchsize == 16);
    CHECK(config.batch.batch_tokens == 900);
    CHECK(config.batch.eval_dynamic == "full");
    CHECK(config.generation.inference == model::Inference::beam);
    CHECK(config.generation.beam_size == 7);
    CHECK(config.generation.beam_length_penalty == 0.4);
}

TEST_CASE("a data set of the model's own that is gone is told as such") {
    const Folder folder(json{{"data", "/no/such/data"}});
    CHECK_THROWS_WITH_AS(folder.evaluate({}),
                         "--data: the model's own data set, /no/such/data, is not there; name one "
                         "that `lockstep prepare` wrote",
                         Error);
}

TEST_CASE("the command line replaces a model's options, by their relatives' names too") {
    const Folder folder(stored);
    CHECK(folder.evaluate({"--beam-size", "2"}).generation.beam_size == 2);
    CHECK(folder.evaluate({"--data", "here"}).data.front() == "here");
    const auto cut = folder.evaluate({"--truncate", "10"}).batch;
    CHECK(cut.truncate == 10);
    CHECK(cut.text_truncate == -1);
    CHECK(cut.label_truncate == -1);
    const auto rows = folder.evaluate({"-bs", "3"}).batch;
    CHECK(rows.batchsize == 3);
    CHECK(rows.eval_batchsize == -1);
    CHECK(rows.batch_tokens == -1);
    CHECK(folder.evaluate({"-dynb", "off"}).batch.eval_dynamic.empty());
}

TEST_CASE("defaults that nobody can follow are refused in one line that names the file") {
    Folder(json::array()).refused("/config.json: \"defaults\" is not an object");
    Folder(json{{"beam-size", 7}}).refused("has no text for \"beam-size\"");
    Folder(json{{"beam-size", "0"}}).refused("--beam-size: '0'");
    Folder(json{{"beam-size", "1025"}}).refused("--beam-size: '1025'");
    CHECK(Folder(json{{"of-a-later-version", "x"}}).evaluate({"--data", "d"}).data.front() == "d");
}

TEST_CASE("a model of fp16 computes without a GPU in what the CPU has, unless fp16 is asked for") {
    const Folder folder(json{{"precision", "fp16"}});
    const auto device = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--data", "d", "--device", "cpu"});
        return launcher::lone_device(folder.evaluate(words));
    };
    CHECK(device({}).precision != train::Precision::fp16);
    CHECK_THROWS_WITH_AS(device({"--fp16"}), doctest::Contains("fp16 is for GPUs"), Error);
}

TEST_CASE("training keeps in the model's folder what its text and replies were made with") {
    const TrainedOnCutRows trained;
    const json defaults = trained.config().at("defaults");
    CHECK(defaults.at("data") == std::filesystem::absolute(trained.data).string());
    CHECK(defaults.at("text-truncate") == "12");
    CHECK(defaults.at("label-truncate") == "7");
    CHECK(defaults.at("eval-batchsize") == "5");
    CHECK(defaults.at("eval-dynamic-batching") == "off");
    CHECK(defaults.at("precision") == "fp32");
    CHECK(defaults.at("history-size") == "-1");
    CHECK(defaults.at("delimiter") == "\n");
    CHECK(defaults.at("inference") == "beam");
    CHECK(defaults.at("beam-size") == "3");
    CHECK_FALSE(defaults.contains("batch-tokens"));
}

TEST_CASE("a checkpoint tells the value of every option, given or not") {
    const TrainedOnCutRows trained;
    const json values =
        parse_json(read_text(trained.model + "/checkpoints/step-00000004/state.json"))
            .at("options")
            .at("values");
    CHECK(values.at("batchsize") == "8");
    CHECK(values.at("learningrate") == "0.001");
    CHECK(values.at("betas") == "0.9,0.999");
    CHECK(values.at("lr-scheduler") == "reduceonplateau");
    CHECK(values.at("bucket-mb") == "25");
    CHECK(values.at("seed") == "1");
}

TEST_CASE("eval without further options gives the run's own validation figures") {
    const TrainedOnCutRows trained;
    json validation;
    std::istringstream lines(read_text(trained.model + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
        if (parse_json(line).value("kind", "") == "valid") validation = parse_json(line);
    }
    REQUIRE(validation.contains("ppl"));
    const auto run =
        run_line("lockstep eval --threads 1 --skip-generation true -mf " + trained.model);
    for (const char* metric : {"loss", "ppl", "token_acc", "tokens", "examples"}) {
        std::ostringstream expected;
        expected << std::setprecision(6) << "valid " << metric << ' '
                 << validation.at(metric).get<double>() << '\n';
        says(run, 0, {expected.str()});
    }
}
