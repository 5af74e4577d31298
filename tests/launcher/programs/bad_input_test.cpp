// SPDX-License-Identifier: Apache-2.0
// What a wrong request gets: one line that says what, where and what to do; exit code 2; nothing
// written.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/faulty_files.hpp"
#include "tests/support/files.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

void refused(const ProgramResult& run, const std::vector<std::string>& words) {
    CAPTURE(run.out);
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK(run.err.find(word) != std::string::npos);
    }
}

// Prepares `text`; it must be refused with `words` in the message and leave nothing.
void refused_text(const std::string& text, const std::vector<std::string>& words,
                  const std::string& more = "") {
    const ScratchFolder scratch;
    write_text(scratch / "in.txt", text);
    const auto run = run_line("lockstep prepare --input " + (scratch / "in.txt") + " --out " +
                              (scratch / "data") + " " + more);
    refused(run, words);
    CHECK_FALSE(fs::exists(scratch / "data"));
    CHECK(std::distance(fs::directory_iterator(scratch / ""), {}) == 1);
}

struct Prepared : PreparedDialogues {
    ProgramResult train(const std::string& more) const {
        return run_line("train --data " + data + " -mf " + model +
                        " --embedding-size 16 --n-layers 1 --ffn-size 16 --max-train-steps 2 "
                        "--threads 1 " +
                        more);
    }
};

}  // namespace

TEST_CASE("text that cannot be read") {
    const ScratchFolder scratch;
    refused(run_line("lockstep prepare --input " + (scratch / "none.txt") + " --out " +
                     (scratch / "data")),
            {"none.txt"});
    refused(run_line("lockstep prepare --input " + (scratch / "") + " --out " + (scratch / "data")),
            {"not a regular file"});
    refused_text("", {"in.txt", "empty"});
    refused_text("text:hello\tlabels:h\xFFi\n", {"in.txt", "1", "UTF-8"});
    refused_text("text:a\tlabels:b\ntext:no answer\n", {"in.txt:2", "labels"});
    refused_text("labels:b\n", {"in.txt:1", "text"});
    refused_text("{\"messages\":[{\"role\":\"user\",\"content\":1}]}", {"in.txt:1", "messages"},
                 "--format messages");
    refused_text("\x1F\x8B\x08", {"in.txt:1", "gzip", "cut off"});
    refused(run_line("lockstep prepare --input - --out " + (scratch / "data")),
            {"standard input", "name a file"});
}

TEST_CASE("rows of prepared data are displayed as ParlAI's display_data does") {
    const Prepared prepared;
    for (const char* program : {"display_data ", "lockstep dd --data "}) {
        const auto run = run_line(program + prepared.data + " -n 1 --split train");
        says(run, 0, {"- - - train 0 - - -\n", "\n   ", "train: 1 of 60 rows\n"});
    }
    says(run_line("display_data " + prepared.data), 0, {"train: 10 of 60 rows"});
    refused(run_line("display_data " + prepared.data + " --split test"), {"test", "train"});
    refused(run_line("display_data"), {"--data"});
}

TEST_CASE("episode_done:False is read as ParlAI does, and said once") {
    const ScratchFolder scratch;
    write_text(scratch / "in.txt",
               "text:a\tlabels:b\tepisode_done:False\ntext:c\tlabels:d\tepisode_done:False\n");
    const auto run = run_line("lockstep prepare --input " + (scratch / "in.txt") + " --out " +
                              (scratch / "data"));
    CHECK(run.code == 0);
    const std::string said = run.out + run.err;
    const auto at = said.find("episode_done:False");
    REQUIRE(at != std::string::npos);
    CHECK(said.find("episode_done:False", at + 1) == std::string::npos);
}

TEST_CASE("options that do not exist or contradict each other") {
    const Prepared prepared;
    refused(prepared.train("--batchsise 8"), {"--batchsise", "--batchsize"});
    refused(prepared.train("--batch_size 8"), {"--batch_size", "--batchsize"});
    refused(prepared.train("-bs 0"), {"--batchsize", "0"});
    refused(prepared.train("-bs many"), {"--batchsize", "many"});
    refused(prepared.train("--n-heads 3"), {"--n-heads", "--embedding-size"});
    refused(prepared.train("--dropout 1.5"), {"--dropout", "[0, 1)"});
    refused(prepared.train("--batch-tokens 100 -dynb batchsort"),
            {"--batch-tokens", "--dynamic-batching"});
    refused(run_line("train --data " + prepared.data + " -mf " + prepared.model), {"--num-epochs"});
    refused(run_line("train -mf " + prepared.model + " --num-epochs 1"), {"--data"});
    CHECK_FALSE(fs::exists(prepared.model));
}

TEST_CASE("a run for which no host has the memory") {
    const Prepared data;
    const auto run = run_line("train --data " + data.data + " -mf " + data.model +
                              " --embedding-size 16384 --ffn-size 65536 --n-layers 64 --n-heads 64"
                              " --device cpu --max-train-steps 2 --threads 1");
    refused(run, {"this run takes at least ", "take a smaller model"});
    CHECK_FALSE(fs::exists(data.model));
}

TEST_CASE("a model whose weights no host has the memory for") {
    const Prepared data;
    REQUIRE(data.train("").code == 0);
    const std::string config = data.model + "/config.json",
                      weights = data.model + "/model.safetensors";
    auto json = nlohmann::json::parse(read_text(config));
    json["embedding_size"] = 1 << 17;
    json["n_encoder_layers"] = json["n_decoder_layers"] = 4;
    write_text(config, json.dump());
    // A file with holes takes no space.
    fs::resize_file(weights, std::uintmax_t{1} << 42);
    write_text(data.scratch / "prompts", "hello\n");
    for (const std::string& program :
         {"lockstep eval --data " + data.data,
          "lockstep generate --input " + (data.scratch / "prompts"), std::string("interactive"),
          std::string("self_chat"), "display_model --split train --data " + data.data})
        refused(run_line(program + " --device cpu -mf " + data.model),
                {"the weights in " + data.model + " alone take ", "take a smaller model"});
}

TEST_CASE("a GPU that is not there, and what only GPUs can do") {
    ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
    const Prepared prepared;
    refused(prepared.train("--device cuda"), {"--device cuda", "--device cpu"});
    refused(prepared.train("--fp16 --device cpu"), {"fp16", "--precision bf16"});
    refused(prepared.train("--device cpu --tf32"), {"--tf32"});
    refused(prepared.train("--device gpu"), {"--device", "gpu", "cuda"});
    refused(run_line("multiprocessing_train --data " + prepared.data + " -mf " + prepared.model +
                     " --num-epochs 1 --distributed-world-size 2 --device cuda"),
            {"--device cuda"});
    CHECK_FALSE(fs::exists(prepared.model));
    ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_CASE("data that is not what the model needs") {
    const Prepared prepared;
    refused(run_line("train --data /nonexistent -mf " + prepared.model + " --num-epochs 1"),
            {"/nonexistent", "prepare"});

    write_text(prepared.scratch / "plain.txt", "to be or not to be\n");
    const std::string plain = prepared.scratch / "plain";
    REQUIRE(run_line("lockstep prepare --format text --input " + (prepared.scratch / "plain.txt") +
                     " --out " + plain)
                .code == 0);
    refused(run_line("train --data " + plain + " -mf " + prepared.model + " --num-epochs 1"),
            {"gpt2"});
}

TEST_CASE("names of files that are not UTF-8") {
    const Prepared prepared;
    const std::string text = prepared.scratch / "text\xFF", data = prepared.scratch / "data\xFE",
                      model = prepared.scratch / "model\xFD";
    fs::copy_file(prepared.scratch / "train.txt", text);
    says(run_line("lockstep prepare --input " + text + " --valid " + text + " --out " + data), 0,
         {});
    says(run_line("train --data " + data + " -mf " + model +
                  " --embedding-size 16 --n-layers 1 --ffn-size 16 --max-train-steps 2 "
                  "--threads 1"),
         0, {});
    says(run_line("lockstep eval --skip-generation true --data " + data + " -mf " + model), 0, {});
    // The model and its checkpoint know the path.
    says(run_line("lockstep eval --skip-generation true -mf " + model), 0, {});
    says(run_line("train -mf " + model + " --max-train-steps 3 --threads 1"), 0,
         {"continuing after step 2", "--max-train-steps 3 instead of 2"});
    says(run_line("multiprocessing_train --distributed-world-size 2 -mf " + model +
                  " --max-train-steps 4 --threads 1"),
         0, {"continuing after step 3"});
}

TEST_CASE("data whose dictionary was changed") {
    const Prepared prepared;
    write_text(prepared.data + "/dictionary.txt",
               read_text(prepared.data + "/dictionary.txt") + "notthereyet\t1\n");
    refused(prepared.train(""), {"dictionary.txt: changed since it was prepared"});
    CHECK_FALSE(fs::exists(prepared.model));
}

TEST_CASE("a damaged shard is named") {
    const Prepared prepared;
    for (const auto& entry : fs::directory_iterator(prepared.data)) {
        const std::string name = entry.path().filename();
        if (name.starts_with("train-")) fs::resize_file(entry.path(), entry.file_size() / 2);
    }
    refused(prepared.train(""), {"train-", "prepare"});
}

TEST_CASE("a shard that is missing is named before an evaluation or a run starts") {
    const ValidatedDialogues made(30);
    const std::string options = " --data " + made.data + " -mf " + made.model + " --threads 1";
    const std::string sizes =
        " --embedding-size 8 --n-heads 2 --n-layers 1 --ffn-size 8 --n-positions 16"
        " --max-train-steps 1";
    REQUIRE(run_line("train" + options + sizes).code == 0);
    const std::string valid = "valid-00000-of-00001.h5";
    fs::rename(made.data + "/" + valid, made.data + "/aside");
    refused(run_line("lockstep eval" + options), {valid});
    refused(run_line("lockstep display_model" + options), {valid});
    refused(run_line("lockstep multiprocessing_eval --distributed-world-size 2" + options),
            {valid});
    fs::remove_all(made.model);
    refused(run_line("lockstep multiprocessing_train --distributed-world-size 2" + options + sizes),
            {valid});
}

TEST_CASE("weights of --init-model that are damaged are refused before anything starts") {
    const Prepared prepared;
    REQUIRE(prepared.train("").code == 0);
    const std::string weights = prepared.scratch / "w.safetensors";
    const std::string sound = read_text(prepared.model + "/model.safetensors");
    fs::remove_all(prepared.model);
    const std::string asked = "--init-model " + weights;
    std::string changed = sound;
    changed[changed.size() - 9] ^= 1;
    for (const std::string& bytes : {changed, std::string()}) {
        write_text(weights, bytes);
        refused(prepared.train(asked), {"--init-model", "w.safetensors"});
    }
    fs::remove(weights);
    REQUIRE(::mkfifo(weights.c_str(), 0600) == 0);
    refused(prepared.train(asked), {"--init-model", "w.safetensors", "not a regular file"});
    fs::remove(weights);
    write_text(weights, sound);
    CHECK(prepared.train(asked).code == 0);
}

TEST_CASE("a shard made with another dictionary is named") {
    const Prepared prepared, other;
    write_text(other.scratch / "other.txt", "text:quite other words\tlabels:indeed\n");
    const std::string data = other.scratch / "other";
    REQUIRE(run_line("lockstep prepare --input " + (other.scratch / "other.txt") + " --out " + data)
                .code == 0);
    const std::string shard = "/train-00000-of-00001.h5";
    REQUIRE(fs::exists(prepared.data + shard));
    fs::copy_file(data + shard, prepared.data + shard, fs::copy_options::overwrite_existing);
    refused(prepared.train(""), {"train-00000-of-00001.h5", "dictionary"});
}

TEST_CASE("an existing model of other dimensions or of another dictionary") {
    const Prepared prepared;
    REQUIRE(prepared.train("").code == 0);
    const std::string config = read_text(prepared.model + "/config.json");
    const auto run = run_line("train --data " + prepared.data + " -mf " + prepared.model +
                              " --embedding-size 32 --max-train-steps 4");
    refused(run, {"--embedding-size", "32", "16", prepared.model});
    CHECK(read_text(prepared.model + "/config.json") == config);

    write_text(prepared.scratch / "other.txt", "text:quite other words\tlabels:indeed\n");
    const std::string other = prepared.scratch / "other";
    REQUIRE(
        run_line("lockstep prepare --input " + (prepared.scratch / "other.txt") + " --out " + other)
            .code == 0);
    refused(run_line("train --data " + other + " -mf " + prepared.model + " --max-train-steps 4"),
            {"dictionary"});
}

TEST_CASE("rows longer than the model's positions are cut and counted") {
    const Prepared prepared;
    const auto run = prepared.train("--n-positions 16 --log-every-n-steps 1 -bs 4");
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    CHECK(read_text(prepared.model + "/metrics.jsonl").find("\"truncated_rows\"") !=
          std::string::npos);
}

TEST_CASE("a folder where a file belongs") {
    const Prepared prepared;
    const std::string folder = prepared.scratch / "folder";
    fs::create_directory(folder);
    const std::string why = "Is a directory";
    refused(prepared.train("--config " + folder), {"--config", folder, why});
    REQUIRE(prepared.train("--max-train-steps 1").code == 0);
    refused(run_line("lockstep generate -mf " + prepared.model + " --input " + folder),
            {"--input", folder, why});
    refused(run_line("lockstep prepare --input " + (prepared.scratch / "train.txt") + " --out " +
                     (prepared.scratch / "new") + " --dict-file " + folder),
            {folder, "tokenizer.json"});
    refused(run_line("train --num-epochs 1 --data " + prepared.data + " -mf " + prepared.data),
            {"-mf", "prepared data set"});
}

TEST_CASE("a path that cannot be followed") {
    const Prepared prepared;
    fs::create_symlink("loop", prepared.scratch / "loop");
    const std::string path = prepared.scratch / "loop/file";
    const std::string train = "train --num-epochs 1 --data " + prepared.data;
    for (const std::string& line :
         {train + " -mf " + path, train + " -mf " + prepared.model + " --init-model " + path,
          "train --num-epochs 1 --data " + path + " -mf " + prepared.model,
          train + " -mf " + prepared.model + " --trace " + path,
          "lockstep eval --split train --data " + prepared.data + " -mf " + path,
          "lockstep generate -mf " + path, "lockstep checkpoint list " + path,
          "lockstep checkpoint verify " + path, "lockstep plan --data " + path,
          "lockstep ladder --data " + prepared.data + " -mf " + path, "lockstep inspect " + path,
          "lockstep prepare --input " + path + " --out " + (prepared.scratch / "new"),
          "lockstep prepare --input " + (prepared.scratch / "train.txt") + " --out " + path,
          "lockstep submit --script " + path + " -- " + train + " -mf " + prepared.model}) {
        CAPTURE(line);
        refused(run_line(line), {prepared.scratch / "loop", "Too many levels of symbolic links"});
    }
    says(run_line("lockstep doctor --data " + prepared.data + " -mf " + path), 1,
         {"PROBLEM [folder]", "Too many levels of symbolic links"});
}

TEST_CASE("damaged data is a result of inspect --verify, and otherwise a wrong request") {
    const Prepared prepared;
    const std::string shard = prepared.data + "/train-00000-of-00001.h5";
    const std::string verify = "lockstep inspect " + prepared.data + " --verify --rows 0";
    says(run_line(verify), 0, {": intact: index.h5 and 1 shard have the hashes in dataset.json\n"});
    fs::resize_file(shard, fs::file_size(shard) - 1);
    const auto damaged = run_line(verify);
    says(damaged, 1, {"\n" + prepared.data + ": damaged: " + shard});
    CHECK(damaged.err.empty());
    refused(run_line("lockstep inspect " + prepared.data), {shard});
    refused(run_line("lockstep inspect --verify " + prepared.model), {"no such folder"});
}

TEST_CASE("a trace that could not be written at the end") {
    const Prepared prepared;
    const std::string train = "train --num-epochs 1 --data " + prepared.data + " -mf ";
    refused(run_line(train + prepared.model + " --trace " + prepared.data),
            {"--trace", "is a folder"});
    refused(run_line(train + prepared.model + " --trace " + (prepared.scratch / "none/trace")),
            {"--trace", "there is no folder"});
    CHECK_FALSE(fs::exists(prepared.model));
}

TEST_CASE("a folder that takes no files") {
    const Prepared prepared;
    const std::string file = prepared.scratch / "file";
    write_text(file, "x");
    refused(run_line("train --data " + prepared.data + " -mf " + file + "/model --num-epochs 1"),
            {file});
    refused(run_line("train --data " + prepared.data + " -mf /proc/model --num-epochs 1"),
            {"/proc"});
    refused(run_line("lockstep prepare --input " + (prepared.scratch / "train.txt") +
                     " --out /proc/data"),
            {"/proc"});
    refused(run_line("lockstep prepare --input " + (prepared.scratch / "train.txt") + " --out " +
                     prepared.data),
            {prepared.data, "--overwrite"});
}

TEST_CASE("a disk that will not hold the checkpoints" * doctest::test_suite(needs_small_disk)) {
    const Prepared prepared;
    const std::string disk = prepared.scratch / "disk";
    fs::create_directory(disk);
    const std::string train = fs::read_symlink("/proc/self/exe").parent_path().string() + "/train";
    const std::string script = "mount -t tmpfs -o size=256k tmpfs " + disk + " && trap 'umount " +
                               disk + "' EXIT; " + train + " --data " + prepared.data + " -mf " +
                               disk + "/model --embedding-size 64 --max-train-steps 2";
    std::vector<std::string> command{"bash", "-c", script};
    // A namespace gives anybody the right to mount; root has it, also where there are none.
    if (geteuid() != 0) command.insert(command.begin(), {"unshare", "--map-root-user", "--mount"});
    const auto run = run_program(command);
    refused(run, {disk, "checkpoints", "MiB"});
}

TEST_CASE("a data set whose file server fails is tried again, and is no wrong request") {
    const PreparedDialogues prepared;
    const std::string line = "multiprocessing_train --distributed-world-size 2 --data " +
                             prepared.data + " -mf " + prepared.model +
                             " --embedding-size 8 --n-layers 1 --ffn-size 8 --max-train-steps 1"
                             " --timeout 10";
    for (const int fault : {EIO, ESTALE}) {
        const auto broken = run_line(line, {"", faulty_files("dataset.json", fault), ""});
        says(broken, 1, {"dataset.json", "trying again for at most 5 s"});
    }
    const auto mended = run_line(line, {"", faulty_files("dataset.json", EIO, 2), ""});
    says(mended, 0, {"trying again for at most 5 s"});
    const auto wrong = run_line(line, {"", faulty_files("dataset.json", EACCES), ""});
    says(wrong, 2, {"dataset.json"});
}
