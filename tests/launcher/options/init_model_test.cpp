// SPDX-License-Identifier: Apache-2.0
// --init-model takes a model for what it is: weights of the same names and shapes that mean
// something else are refused like those of -mf.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/json_text.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

struct Trained : PreparedDialogues {
    Trained() { REQUIRE(train(model, "--n-heads 2 --max-train-steps 2").code == 0); }

    ProgramResult train(const std::string& folder, const std::string& more,
                        const std::string& from = "") const {
        return run_line("train --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1 -bs 8 " +
                        more + " --data " + (from.empty() ? data : from) + " -mf " + folder);
    }
    ProgramResult begin(const std::string& more, const std::string& weights,
                        const std::string& from = "") const {
        const std::string fresh = scratch / "fresh";
        fs::remove_all(fresh);
        return train(fresh, "--max-train-steps 1 --init-model " + weights + " " + more, from);
    }
};

// Returns what follows the header of a safetensors file.
std::string tensors_of(const std::string& file) {
    std::uint64_t header_bytes = 0;
    REQUIRE(file.size() > sizeof header_bytes);
    std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
    return file.substr(sizeof header_bytes + header_bytes);
}

}  // namespace

TEST_CASE("--init-model refuses options that its model contradicts, naming both values") {
    const Trained t;
    says(t.begin("--n-heads 4", t.model), 2,
         {"--n-heads asks for 4, but the model in", "has 2", "another --init-model"});
    says(t.begin("--activation gelu", t.model), 2, {"--activation asks for gelu", "has relu"});
    says(t.begin("--variant xlm", t.model), 2, {"--variant asks for xlm", "has aiayn"});
    says(t.begin("--embeddings-scale false", t.model), 2, {"--embeddings-scale", "sqrt_dim"});
    CHECK_FALSE(fs::exists(t.scratch / "fresh"));
}

TEST_CASE("a truncation that is missing beside --init-model is hinted at by its model's") {
    const Trained t;
    const std::string full = "-dynb full --n-heads 2";
    const auto plain = t.begin(full, t.model);
    says(plain, 2, {"or --truncate, or give --batch-tokens"});
    CHECK(plain.err.find("was trained with") == std::string::npos);
    const std::string other = t.scratch / "other";
    says(t.train(other, full + " --truncate 48 --max-train-steps 1"), 0, {});
    const std::string hint = "; " + other + " was trained with --truncate 48\n";
    says(t.begin(full, other), 2, {hint});
    says(t.begin(full, other + "/checkpoints/step-00000001"), 2, {hint});
    fs::remove_all(other);
    says(t.train(other, full + " --text-truncate 48 --label-truncate 24 --max-train-steps 1"), 0,
         {});
    says(t.begin(full, other), 2, {"with --text-truncate 48 --label-truncate 24\n"});
    says(t.begin(full + " --truncate 48", other), 0, {});
}

TEST_CASE("--init-model gives the new model its shape and arithmetic") {
    const Trained t;
    says(t.begin("--dropout 0.1", t.model), 0,
         {"starting from the weights of", "--learningrate is 0.001, which suits a model"});
    const auto rated = t.begin("-lr 1e-4", t.model);
    CHECK((rated.out + rated.err).find("--learningrate is") == std::string::npos);
    CHECK(read_text(t.scratch / "fresh/config.json").find("\"n_heads\": 2") != std::string::npos);
}

TEST_CASE("a run that begins with --init-model stores the shape of its model") {
    const Trained t;
    const std::string fresh = t.scratch / "fresh", other = t.scratch / "other";
    says(t.train(other,
                 "--n-heads 4 --n-decoder-layers 3 --n-positions 77 --dropout 0.25 "
                 "--learn-positional-embeddings true --activation gelu --max-train-steps 1"),
         0, {});
    says(run_line("train -bs 8 --threads 1 --max-train-steps 1 --data " + t.data + " -mf " + fresh +
                  " -im " + other),
         0, {"starting from the weights of"});
    const auto values = lockstep::parse_json(
        read_text(fresh + "/checkpoints/step-00000001/state.json"))["options"]["values"];
    const std::vector<std::pair<std::string, std::string>> stored{
        {"embedding-size", "16"},  {"n-layers", "3"},
        {"n-encoder-layers", "1"}, {"n-decoder-layers", "-1"},
        {"ffn-size", "16"},        {"n-heads", "4"},
        {"n-positions", "77"},     {"dropout", "0.25"},
        {"activation", "gelu"},    {"learn-positional-embeddings", "true"}};
    for (const auto& [name, value] : stored) {
        CAPTURE(name);
        CHECK(values.at(name) == value);
    }
    says(run_line("train --threads 1 --max-train-steps 2 -mf " + fresh), 0,
         {"continuing after step 1", "continued with --max-train-steps 2 instead of 1\n"});
    says(run_line("train --threads 1 -mf " + fresh + " --n-layers 2"), 2,
         {"--n-layers asks for 2, but the model in", "has 1"});
}

TEST_CASE("--init-model refuses data of another dictionary of the same size") {
    const Trained t;
    std::string text = read_text(t.scratch / "train.txt");
    // A word is replaced by another one: as many tokens, but another dictionary.
    for (std::size_t at = 0; (at = text.find("thou", at)) != std::string::npos; at += 4)
        text.replace(at, 4, "qqqq");
    write_text(t.scratch / "other.txt", text);
    says(run_line("lockstep prepare --input " + (t.scratch / "other.txt") + " --out " +
                  (t.scratch / "other")),
         0, {});
    says(t.begin("", t.model, t.scratch / "other"), 2, {"another dictionary", t.model});
}

TEST_CASE("a model's name on the Hugging Face Hub as --like is told from a folder") {
    const std::string words = "lockstep prepare --input talk.txt --out data --like ";
    says(run_line(words + "no-one/Nothing-1B"), 2,
         {"--like no-one/Nothing-1B: is no folder; name a model's folder; a model of the Hugging "
          "Face Hub is fetched first: hf download no-one/Nothing-1B --local-dir FOLDER\n"});
    says(run_line(words + "./nothing"), 2,
         {"--like ./nothing: is no folder; name a model's folder\n"});
}

TEST_CASE("--init-model knows its model by a checkpoint and by a file, too") {
    const Trained t;
    const std::string checkpoint = t.model + "/checkpoints/step-00000002";
    REQUIRE(fs::exists(checkpoint));
    for (const std::string& weights :
         {checkpoint, checkpoint + "/model.safetensors", t.model + "/model.safetensors"}) {
        says(t.begin("--n-heads 4", weights), 2, {"--n-heads asks for 4", "has 2"});
    }
}

TEST_CASE("weights without a config.json are compared by names and shapes, and this is said") {
    const Trained t;
    const std::string lone = t.scratch / "lone.safetensors";
    fs::copy_file(t.model + "/model.safetensors", lone);
    says(t.begin("--n-heads 2", lone), 0, {"only their names and shapes were compared"});
}

TEST_CASE("a folder with weights but no checkpoint is trained on from these") {
    const Trained t;
    fs::remove_all(t.model + "/checkpoints");
    const std::string before = read_text(t.model + "/model.safetensors");
    says(t.train(t.model, "--max-train-steps 1 -lr 1e-30"), 0,
         {t.model + ": has no checkpoint; starting from its weights"});
    // The header of the best weights has a checksum that the checkpoint's does not need.
    CHECK(tensors_of(read_text(t.model + "/checkpoints/step-00000001/model.safetensors")) ==
          tensors_of(before));
}
