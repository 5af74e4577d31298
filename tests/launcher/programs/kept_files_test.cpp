// SPDX-License-Identifier: Apache-2.0
// What a command names as its output must not be a file that somebody needs, and what a stranger's
// files say is looked at before anything starts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/core/json_text.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep;
using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> shape{
    "--embedding-size", "16",  "--n-layers", "1", "--ffn-size", "16",
    "--threads",        "1",   "-bs",        "8", "--truncate", "64",
    "--precision",      "fp32"};

ProgramResult run(const std::string& program, std::vector<std::string> words) {
    words.insert(words.begin(), program_path(program));
    return run_program(words);
}

void refused(const ProgramResult& ended, const std::vector<std::string>& said) {
    says(ended, 2, said);
    CHECK(std::ranges::count(ended.err, '\n') == 1);
}

struct Trained : PreparedDialogues {
    Trained() { says(train(data, model), 0, {}); }
    ProgramResult train(const std::string& set, const std::string& folder,
                        const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words{"--data", set, "-mf", folder, "--max-train-steps", "2"};
        words.insert(words.end(), shape.begin(), shape.end());
        words.insert(words.end(), more.begin(), more.end());
        return run("train", words);
    }
    std::string prompts() const {
        write_text(scratch / "prompts.txt", "hello\n");
        return scratch / "prompts.txt";
    }
    ProgramResult generate(const std::string& folder, const std::vector<std::string>& more) const {
        std::vector<std::string> words{"generate", "-mf",     folder,   "--max-length",
                                       "3",        "--input", prompts()};
        words.insert(words.end(), more.begin(), more.end());
        return run("lockstep", words);
    }
    // Returns a copy of `folder` with one member of a JSON file changed.
    std::string changed(const std::string& folder, const std::string& file,
                        const std::string& member, const Json& value) const {
        std::string copy = scratch / "changed";
        fs::remove_all(copy);
        fs::copy(folder, copy, fs::copy_options::recursive);
        Json json = Json::parse(read_text(copy + "/" + file));
        json[member] = value;
        write_text(copy + "/" + file, json.dump());
        return copy;
    }
};

}  // namespace

TEST_CASE_FIXTURE(Trained, "replies replace no file unless --overwrite is given") {
    const std::string out = scratch / "thesis.txt";
    write_text(out, "the only copy\n");
    refused(generate(model, {"--output", out}), {out + ": exists", "--overwrite"});
    CHECK(read_text(out) == "the only copy\n");
    says(generate(model, {"--output", out, "--overwrite", "true"}), 0, {});
    CHECK(read_text(out) != "the only copy\n");
}

TEST_CASE_FIXTURE(Trained, "a stranger's model names no file to write") {
    Json defaults = Json::parse(read_text(model + "/config.json")).at("defaults");
    const std::string out = scratch / "thesis.txt";
    defaults["output"] = out;
    const std::string other = changed(model, "config.json", "defaults", defaults);
    refused(generate(other, {}), {"config.json", "\"output\", which a model does not decide"});
    CHECK(!fs::exists(out));
}

TEST_CASE_FIXTURE(Trained, "outputs are no files of the model's folder") {
    const std::string fresh = scratch / "fresh";
    for (const char* name : {"config.json", "model.safetensors", "metrics.jsonl", "run.lock",
                             "checkpoints/trace.json"}) {
        CAPTURE(name);
        refused(train(data, fresh, {"--trace", fresh + "/" + name}),
                {"--trace", name, "is a file of the model's folder"});
        CHECK(!fs::exists(fresh));
    }
    refused(train(data, fresh, {"--world-logs", fresh + "/./metrics.jsonl"}), {"--world-logs"});
    const std::string both = scratch / "both.json";
    refused(train(data, fresh, {"--trace", both, "--world-logs", both}), {"are the same file"});
    refused(train(data, fresh, {"--world-logs", both}), {"--world-logs", "the data has none"});
    refused(run("self_chat", {"-mf", model, "--outfile", model + "/run.lock"}), {"--outfile"});
    says(train(data, fresh, {"--trace", fresh + "/trace.json"}), 0, {});
    refused(run("interactive", {"-mf", model, "--outfile", model + "/report.json"}), {"--outfile"});
    const std::string weights = model + "/checkpoints/step-00000002/model.safetensors";
    const std::string before = read_text(weights);
    refused(generate(model, {"--output", weights, "--overwrite", "true"}), {"--output", weights});
    CHECK(read_text(weights) == before);
    says(generate(model, {"--output", model + "/replies.txt"}), 0, {});
    refused(generate(model, {"--output", model + "/events.out.tfevents.1"}), {"--output"});
}

TEST_CASE_FIXTURE(Trained, "prompts that are not there are refused before anything is written") {
    const std::string out = scratch / "replies.txt";
    refused(run("lockstep",
                {"generate", "-mf", model, "--input", scratch / "none.txt", "--output", out}),
            {"none.txt", "--input cannot be read"});
    CHECK(!fs::exists(out));
}

TEST_CASE_FIXTURE(Trained, "a vocabulary of another size than the dictionary is refused") {
    const std::string set = changed(data, "dataset.json", "vocabulary", 20000);
    refused(train(set, scratch / "fresh"), {"dataset.json: \"vocabulary\" is 20000", "entries"});
    says(run("lockstep", {"inspect", set, "--verify"}), 1, {"\"vocabulary\" is 20000"});
    refused(train(data, scratch / "fresh", {"--eval-data", set, "-vstep", "1"}),
            {"\"vocabulary\" in their dataset.json is 20000 and "});
    refused(generate(changed(model, "config.json", "vocabulary_size", 20000), {}),
            {"config.json: \"vocabulary_size\" is 20000", "entries"});
}

TEST_CASE_FIXTURE(PreparedDialogues, "blanks in paths are parts of them, and line feeds refused") {
    const std::string blank = scratch / "  my  data", broken = scratch / "two\nlines";
    fs::copy(data, blank, fs::copy_options::recursive);
    fs::copy(data, broken, fs::copy_options::recursive);
    std::vector<std::string> words{
        "--data", blank, "-mf", scratch / " my  model", "--max-train-steps", "1"};
    words.insert(words.end(), shape.begin(), shape.end());
    says(run("train", words), 0, {});
    words[1] = broken;
    refused(run("train", words), {"has a line feed in its name"});
}

TEST_CASE_FIXTURE(Trained, "replies that cannot be written end with 1") {
    const std::string line = program_path("lockstep") + " generate -mf " + model +
                             " --max-length 3 --input " + prompts() + " > /dev/full";
    says(run_program({"sh", "-c", line}), 1, {"standard output cannot be written"});
}

namespace {

// Gives all weights of a file values whose squares fp32 cannot hold, and takes out its checksum.
void spoil(const std::string& file) {
    const std::string bytes = tests::read_text(file);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    auto header = nlohmann::json::parse(bytes.substr(sizeof length, length));
    header.erase("__metadata__");
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::vector<float> values((bytes.size() - sizeof length - length) / sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 1e36F : -2e36F;
    length = text.size();
    std::string made(sizeof length + text.size() + values.size() * sizeof(float), '\0');
    std::memcpy(made.data(), &length, sizeof length);
    std::memcpy(made.data() + sizeof length, text.data(), text.size());
    std::memcpy(made.data() + sizeof length + text.size(), values.data(),
                values.size() * sizeof(float));
    tests::write_text(file, made);
}

}  // namespace

TEST_CASE("a run whose last step diverges ends as one of an earlier step, and keeps what was") {
    const ValidatedDialogues set(60);
    const auto trained = [&](const std::string& steps, const std::string& rate) {
        std::vector<std::string> words{
            "--data", set.data, "-mf", set.model, "--optimizer", "sgd", "--max-train-steps",
            steps,    "-lr",    rate};
        words.insert(words.end(), shape.begin(), shape.end());
        return run("train", words);
    };
    says(trained("1", "1e36"), 1,
         {"the loss is not finite with the weights of step 1, the last one, which are not saved"});
    CHECK_FALSE(fs::exists(set.model + "/checkpoints"));
    CHECK_FALSE(fs::exists(set.model + "/model.safetensors"));
    says(trained("1", "0.01"), 0, {});
    says(trained("2", "1e36"), 1, {"with the weights of step 2"});
    CHECK(fs::exists(set.model + "/checkpoints/step-00000001"));
    CHECK_FALSE(fs::exists(set.model + "/checkpoints/step-00000002"));
    says(trained("2", "0.01"), 0, {});
}

TEST_CASE("weights that have diverged are told, not answered with") {
    const ValidatedDialogues set(60);
    const std::string& data = set.data;
    const std::string& model = set.model;
    std::vector<std::string> words{"--data", data, "-mf", model, "--max-train-steps", "1"};
    words.insert(words.end(), shape.begin(), shape.end());
    says(run("train", words), 0, {});
    fs::remove_all(model + "/checkpoints");
    spoil(model + "/model.safetensors");
    says(run_line("lockstep generate -mf " + model, {"hello\n", {}, ""}), 1,
         {"no token a finite score", "diverged"});
    const std::string wrong = model + "/metrics.jsonl";
    refused(run("lockstep", {"eval", "-mf", model, "--world-logs", wrong}), {"--world-logs"});
    says(run_line("multiprocessing_eval --distributed-world-size 2 --skip-generation true -mf " +
                  model),
         1, {"the loss on valid is not finite"});
    says(run_line("lockstep eval --skip-generation true -mf " + model), 1,
         {"the loss on valid is not finite"});
}

TEST_CASE("numbers without a sense are refused") {
    refused(run("train", {"--data", "d", "-mf", "m", "--num-epochs", "1", "--timeout", "1e7"}),
            {"--timeout", "1000000 seconds"});
    refused(run("lockstep", {"doctor", "--data-seconds", "1e300"}),
            {"--data-seconds", "1000000 seconds"});
    refused(run("lockstep", {"prepare", "--input", "i", "--out", "o", "--tokenizer",
                             "sentencepiece", "--vocab-size", "2147483647"}),
            {"--vocab-size", "16777216"});
}
