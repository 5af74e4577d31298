// SPDX-License-Identifier: Apache-2.0
// Files and options by a stranger, or damaged ones: the program says in one plain line which file
// or option it is and ends with 1 or 2. It takes neither the machine's memory nor its time.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/files/hash.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

const std::string tiny =
    " --embedding-size 8 --n-heads 2 --n-layers 1 --ffn-size 8 --n-positions 16 --threads 1"
    " --validation-every-n-steps 1 -lr 0.01 -bs 4";

// A data set, and a model of it with a checkpoint after its second step.
struct Sound : ValidatedDialogues {
    std::string checkpoint = model + "/checkpoints/step-00000002";

    Sound() : ValidatedDialogues(30) {
        const auto run = run_line("lockstep train --data " + data + " -mf " + model + tiny +
                                  " --max-train-steps 2");
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        fs::remove_all(model + "/checkpoints/step-00000001");  // a run would fall back to it
        write_text(scratch / "prompts", "hello\n");
    }
    std::string train() const {
        return "lockstep train --data " + data + " -mf " + model +
               " --threads 1 --max-train-steps 3";
    }
    std::string generate() const {
        return "lockstep generate --threads 1 -mf " + model + " --input " + (scratch / "prompts");
    }
    std::string report() const {
        return "lockstep report -mf " + model + " --out " + (scratch / "r.html");
    }
    std::string inspect() const { return "lockstep inspect --data " + data; }

    // Lets the manifest fit files that were changed. A checksum is no signature.
    void seal() const {
        Json manifest = Json::parse(read_text(checkpoint + "/manifest.json"));
        for (auto& [name, entry] : manifest["files"].items()) {
            const std::string bytes = read_text(checkpoint + "/" + name);
            entry = {{"bytes", bytes.size()}, {"xxh3", lockstep::hex(lockstep::hash64(bytes))}};
        }
        write_text(checkpoint + "/manifest.json", manifest.dump());
    }
};

// Changes a JSON file, and puts it back when the test is done with it.
class ChangedFile {
public:
    explicit ChangedFile(std::string path) : path_(std::move(path)), before_(read_text(path_)) {}
    ChangedFile(const std::string& path, const std::function<void(Json&)>& change)
        : ChangedFile(path) {
        Json json = Json::parse(before_);
        change(json);
        write_text(path, json.dump());
    }
    // Puts text in place of a value: nlohmann's dump of deep nesting would use up the stack.
    ChangedFile(const std::string& path, const Json::json_pointer& at, const std::string& text)
        : ChangedFile(path, [&](Json& json) { json[at] = "HERE"; }) {
        std::string all = read_text(path);
        all.replace(all.find("\"HERE\""), std::strlen("\"HERE\""), text);
        write_text(path, all);
    }
    ~ChangedFile() {
        fs::remove(path_);
        write_text(path_, before_);
    }
    ChangedFile(const ChangedFile&) = delete;
    ChangedFile& operator=(const ChangedFile&) = delete;

private:
    std::string path_, before_;
};

ProgramResult limited(const std::vector<std::string>& command) {
    std::vector<std::string> words = {
        "bash", "-c", "ulimit -t 20 -v 3000000 -s 8192 -c 0; exec timeout 60 \"$@\"", "bash",
        program_path(command.front())};
    words.insert(words.end(), command.begin() + 1, command.end());
    return run_program(words);
}

bool is_plain(const std::string& text) {
    return std::all_of(text.begin(), text.end(),
                       [](unsigned char c) { return c >= 32 || c == '\n'; });
}

void refused(const ProgramResult& run, const std::vector<std::string>& words) {
    CAPTURE(run.out);
    CAPTURE(run.err);
    CHECK((run.code == 1 || run.code == 2));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(is_plain(run.err));
    CHECK(run.err.size() < 2200);
    for (const char* foreign : {"json.exception", "std::", "_M_range_check", ".cpp:", ".cc("})
        CHECK(run.err.find(foreign) == std::string::npos);
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK(run.err.find(word) != std::string::npos);
    }
}

void refused(const std::string& line, const std::vector<std::string>& words) {
    std::istringstream in(line);
    std::vector<std::string> command;
    for (std::string word; in >> word;) command.push_back(word);
    CAPTURE(line);
    refused(limited(command), words);
}

const std::string nested = std::string(150'000, '[') + std::string(150'000, ']');

}  // namespace

TEST_CASE("JSON that is nested without end is refused wherever it is read") {
    const Sound sound;
    const auto with = [&](const std::string& file, const std::string& member) {
        return std::make_unique<ChangedFile>(file, Json::json_pointer(member), nested);
    };
    const std::string config = sound.model + "/config.json";
    {
        const auto changed = with(sound.data + "/dataset.json", "/options");
        refused(sound.inspect(), {"dataset.json", "nested"});
    }
    {
        const auto changed = with(config, "/more");
        refused(sound.generate(), {"config.json", "nested"});
        refused(sound.train(), {"config.json", "nested"});
        refused(sound.report(), {"config.json", "nested"});
    }
    {
        const auto changed = with(sound.checkpoint + "/manifest.json", "/files/state.json/bytes");
        refused(sound.train(), {"manifest.json", "nested"});
    }
    {
        const auto changed = with(sound.checkpoint + "/manifest.json", "/format_version");
        refused(sound.train(), {"manifest.json", "nested"});
    }
    for (const char* member : {"/options", "/trainer"}) {
        const auto changed = with(sound.checkpoint + "/state.json", member);
        sound.seal();
        refused(sound.train(), {"state.json", "nested"});
    }
    sound.seal();
    const std::string header =
        "{\"x\":{\"dtype\":" + nested + ",\"shape\":[1],\"data_offsets\":[0,4]}}";
    std::uint64_t bytes = header.size();
    std::string weights(sizeof bytes, '\0');
    std::memcpy(weights.data(), &bytes, sizeof bytes);
    write_text(sound.model + "/model.safetensors", weights + header + "1234");
    refused(sound.generate(), {"model.safetensors", "nested"});
}

TEST_CASE("a report of a failure that is nested without end is left out") {
    const Sound sound;
    write_text(sound.model + "/failure.json", "{\"ranks\":" + nested + "}");
    const ProgramResult run = run_line(sound.report());
    CHECK(run.code == 0);
}

TEST_CASE("a pipe or a device in place of a file is refused") {
    const Sound sound;
    const std::string prompts = sound.scratch / "prompts";
    const auto in_place_of = [&](const std::string& path, const std::string& command) {
        for (const bool pipe : {true, false}) {
            const ChangedFile kept(path);
            fs::remove(path);
            if (pipe)
                REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
            else
                fs::create_symlink("/dev/zero", path);
            refused(command, {fs::path(path).filename()});
        }
    };
    in_place_of(sound.data + "/dataset.json", sound.inspect());
    in_place_of(sound.data + "/tokenizer.json", sound.inspect());
    in_place_of(sound.data + "/dictionary.txt", sound.inspect());
    in_place_of(sound.data + "/train-00000-of-00001.h5", sound.inspect());
    in_place_of(sound.model + "/config.json", sound.generate());
    in_place_of(sound.model + "/model.safetensors", sound.generate());
    in_place_of(sound.model + "/metrics.jsonl", sound.report());
    const std::string options = sound.scratch / "run.conf";
    write_text(options, "");
    in_place_of(options, sound.inspect() + " --config " + options);
}

TEST_CASE("numbers that no data set and no model has are named") {
    const Sound sound;
    const auto data_says = [&](const std::string& member, const Json& value) {
        const ChangedFile changed(sound.data + "/dataset.json",
                                  [&](Json& json) { json[Json::json_pointer(member)] = value; });
        refused(sound.inspect(), {"dataset.json", member.substr(1)});
    };
    data_says("/splits/0/rows", std::int64_t{1} << 40);
    data_says("/splits/0/shards/0/rows", -1);
    data_says("/splits/0/shards/0/bytes", "many");
    data_says("/splits/0/longest_source", 1e300);
    data_says("/vocabulary", (std::int64_t{1} << 32) + 5);
    data_says("/splits/0/shards/0/file", "../train-00000-of-00001.h5");
    {
        const ChangedFile changed(sound.data + "/tokenizer.json",
                                  [](Json& json) { json["file"] = "../../../../dev/zero"; });
        refused(sound.inspect(), {"tokenizer.json", "\"file\""});
    }
    const auto model_says = [&](const char* member, std::int64_t value) {
        const ChangedFile changed(sound.model + "/config.json",
                                  [&](Json& json) { json[member] = value; });
        refused(sound.generate(), {"config.json", std::to_string(value)});
        refused(sound.train(), {"config.json", std::to_string(value)});
    };
    for (const char* member : {"n_positions", "embedding_size", "ffn_size", "vocabulary_size"})
        for (const int power : {40, 61, 62}) model_says(member, std::int64_t{1} << power);
}

TEST_CASE("numbers of a checkpoint that no run reaches are named") {
    const Sound sound;
    const auto says = [&](const std::string& member, const Json& value) {
        const ChangedFile manifest(sound.checkpoint + "/manifest.json");
        const ChangedFile changed(sound.checkpoint + "/state.json",
                                  [&](Json& json) { json[Json::json_pointer(member)] = value; });
        sound.seal();
        refused(sound.train(), {"state.json", member.substr(1)});
    };
    for (const Json& lanes : {Json(std::int64_t{1} << 62), Json(0), Json(std::int64_t{1} << 40)})
        says("/trainer/lanes", lanes);
    says("/trainer/epoch", 1e308);
    says("/trainer/step", std::numeric_limits<std::int64_t>::max());
    says("/trainer/step_in_epoch", -5);
    says("/trainer/updates", -7);
    says("/trainer/schedule/factor", -1);
    says("/trainer/schedule/factor", Json::array());
    says("/trainer/validation", 3);
    says("/options/dealing/now/dynamic", 17);
}

TEST_CASE("weights and moments that are not finite are refused with their tensor") {
    const Sound sound;
    const auto spoiled = [](const std::string& path) {
        std::string bytes = read_text(path);
        const float value = std::numeric_limits<float>::quiet_NaN();
        std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
        write_text(path, bytes);
    };
    std::string moments;
    for (const auto& entry : fs::directory_iterator(sound.checkpoint))
        if (entry.path().filename().string().starts_with("part-")) moments = entry.path();
    for (const std::string& path : {moments, sound.checkpoint + "/model.safetensors"}) {
        const ChangedFile kept(path);
        spoiled(path);
        sound.seal();
        refused(sound.train(), {"step-00000002", "tensor", "NaN"});
    }
    sound.seal();
    fs::copy_file(sound.checkpoint + "/model.safetensors", sound.model + "/model.safetensors",
                  fs::copy_options::overwrite_existing);
    spoiled(sound.model + "/model.safetensors");
    refused(sound.generate(), {"model.safetensors", "tensor", "NaN"});
}

TEST_CASE("long and strange values are shown cut and escaped") {
    const std::string dry = "lockstep submit --dry-run true ",
                      what = " -- distributed_train --data d -mf m";
    for (const char* option : {"--mem", "--time", "--gpus-per-node"})
        refused(dry + option + " " + std::string(100'000, '1') + what, {option, "111..."});
    refused(limited({"lockstep", "inspect", "--data", "d", "--rows",
                     "\x1b[31m"
                     "3\a\n"}),
            {"--rows", "\\x1b[31m3\\x07\\x0a"});
    refused("lockstep inspect --" + std::string(100'000, 'x'), {"--xxx", "no such option"});
    refused(limited({"lockstep", "inspect", std::string(100'000, 'x')}), {"xxx"});
}

TEST_CASE("a role that contains a macro is inserted once") {
    const ProgramResult run = limited({"lockstep", "distributed_launch", "--role", "${role_name}",
                                       "--log-line-prefix-template", "${role_name}: ", "--tee", "3",
                                       "--", "/bin/echo", "hi"});
    says(run, 0, {"${role_name}: hi"});
}

TEST_CASE("a word of a job is no shell code") {
    const ProgramResult run = run_program({"lockstep", "submit", "--dry-run", "true", "--mpi",
                                           "pmix$(touch${IFS}x)", "--", "distributed_train",
                                           "--data", "d", "-mf", "m", "--max-train-steps", "2"});
    says(run, 0, {"--mpi='pmix$(touch${IFS}x)'"});
}
