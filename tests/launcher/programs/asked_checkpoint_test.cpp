// SPDX-License-Identifier: Apache-2.0
// --checkpoint: the weights of a checkpoint evaluate and reply.
#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/launcher/programs/small_talk.hpp"

using namespace lockstep::tests;

namespace {

// A model with checkpoints of steps 2, 4 and 6.
struct SavedModel {
    PreparedDialogues prepared;
    std::string model = prepared.model;

    explicit SavedModel(const std::string& program = "train --threads 1") {
        SmallTalk::done(program + " --data " + prepared.data + " -mf " + model +
                        " --embedding-size 16 --n-layers 1 --ffn-size 16 --max-train-steps 6 "
                        "--precision fp32 -lr 0.05 --save-every-n-steps 2 --keep 9");
    }
    std::string path(int step) const {
        return model + "/checkpoints/step-0000000" + std::to_string(step);
    }
    // Returns the folder of a model with the weights of this checkpoint.
    std::string converted(int step) const {
        std::string made = prepared.scratch / ("of-" + std::to_string(step));
        SmallTalk::done("lockstep checkpoint convert " + path(step) + " " + made);
        return made;
    }
};

std::string replies(const std::string& words) {
    return SmallTalk::done(
        "lockstep generate --precision fp32 --threads 1 --max-length 8 --json -mf " + words,
        "hello\nmy lord\n");
}

void refused(const std::string& line, const std::vector<std::string>& words) {
    CAPTURE(line);
    const auto run = run_line(line, ProgramInput{"hello\n", {}, ""});
    says(run, 2, words);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("each checkpoint can be asked, and answers as its conversion does") {
    const SavedModel saved;
    const std::string& model = saved.model;
    std::set<std::string> different;
    for (const int step : {2, 4, 6}) {
        const std::string number = std::to_string(step), path = saved.path(step);
        const std::string expected = replies(saved.converted(step));
        for (const std::string& name :
             {number, "step-" + number, "step-0000000" + number, path, path + "/"})
            CHECK(replies(model + " --checkpoint " + name) == expected);
        different.insert(expected);
    }
    CHECK(different.size() == 3);
    CHECK(replies(model + " --checkpoint best") == replies(model));
    CHECK(replies(model + " --checkpoint last") == replies(model + " --checkpoint 6"));
    const std::string eval =
        "lockstep eval --precision fp32 --skip-generation true --split train "
        "--data " +
        saved.prepared.data + " -mf ";
    CHECK(SmallTalk::done(eval + model + " --checkpoint 2") ==
          SmallTalk::done(eval + saved.prepared.scratch.path() + "/of-2"));
    CHECK(SmallTalk::done(eval + model + " --checkpoint 2") !=
          SmallTalk::done(eval + model + " --checkpoint 6"));
}

TEST_CASE("of a checkpoint that ranks have written together, weights alone are read") {
    const SavedModel saved(
        "multiprocessing_train --distributed-world-size 2 --threads 1 --zero 2 --moments int8");
    const std::string expected = replies(saved.converted(4));
    CHECK(replies(saved.model + " --checkpoint 4") == expected);
    int parts = 0;
    for (const auto& entry : std::filesystem::directory_iterator(saved.path(4)))
        if (entry.path().filename().string().starts_with("part-"))
            parts += std::filesystem::remove(entry.path()) ? 1 : 0;
    CHECK(parts == 2);
    CHECK(replies(saved.model + " --checkpoint 4") == expected);

    const std::string weights = saved.path(4) + "/model.safetensors";
    std::string bytes = read_text(weights);
    bytes.back() ^= 1;
    write_text(weights, bytes);
    refused("lockstep generate --checkpoint 4 -mf " + saved.model, {weights});
    std::filesystem::rename(saved.path(2), saved.path(7));
    refused("lockstep generate --checkpoint 7 -mf " + saved.model, {"step-00000007"});
}

TEST_CASE("a checkpoint that is not there, or is given as a model's folder") {
    const SavedModel saved;
    const std::string& model = saved.model;
    const std::string there = "it has best, last, step-00000006, step-00000004, step-00000002\n";
    for (const std::string program : {"lockstep generate", "interactive", "self_chat",
                                      "display_model --split train", "lockstep eval"}) {
        for (const std::string name : {"5", "newest", "step-6x", "/tmp/step-00000006", "-6"})
            refused(program + " --checkpoint=" + name + " -mf " + model,
                    {"--checkpoint " + name + ": " + model + " has no such checkpoint", there});
        for (const std::string& typed : {saved.path(4), saved.path(4) + "/"})
            refused(program + " -mf " + typed,
                    {"is a checkpoint, and no model's folder; give -mf " + model +
                     " --checkpoint step-4\n"});
    }
    refused("lockstep generate -mf " + saved.path(9),
            {"give -mf " + model + " --checkpoint step-9\n"});
    const std::string train = "train --max-train-steps 9 --data " + saved.prepared.data;
    refused(train + " -mf " + saved.path(4),
            {"is a checkpoint of a model", "--init-model " + saved.path(4)});
    refused(train + " --checkpoint 4 -mf " + model,
            {"--checkpoint: not an option here", "--init-model"});
    std::filesystem::remove(model + "/model.safetensors");
    refused("lockstep generate --checkpoint best -mf " + model,
            {"it has last, step-00000006, step-00000004, step-00000002\n"});
    std::filesystem::remove_all(model + "/checkpoints");
    refused("lockstep generate --checkpoint best -mf " + model, {"it has none yet"});
}
