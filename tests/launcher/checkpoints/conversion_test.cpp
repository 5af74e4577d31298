// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/conversion.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>

#include "launcher/checkpoints/comparison.hpp"
#include "runtime/train/checkpoint/stored_tensors.hpp"
#include "runtime/train/folder/folder_lock.hpp"
#include "tests/launcher/checkpoints/saved_model.hpp"
#include "tests/runtime/train/file_size_limit.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::launcher::checkpoints;
namespace fs = std::filesystem;
using Names = std::set<std::string>;

namespace {

constexpr const char* old_format = "tests/runtime/train/golden/checkpoint_format_1";

struct Conversions : SavedModel {
    std::string convert_to(const std::string& from, const std::string& to,
                           Existing existing = Existing::refuse) const {
        const train::LockWaiting waiting{[](const std::string&) {}, [] { return false; }};
        return convert({from, to, "", existing}, waiting);
    }
    std::string refusal(ErrorKind kind, const std::string& from, const std::string& to,
                        Existing existing = Existing::refuse) const {
        return failure(kind, [&] { convert_to(from, to, existing); });
    }
};

}  // namespace

TEST_CASE_FIXTURE(Conversions, "a checkpoint of format version 1 becomes one of version 2") {
    const std::string to = folder / "step-00000007";
    check_contains(convert_to(old_format, to), "in format version 2");
    SavedRun saved(7), loaded(8);
    const auto record = train::load_checkpoint(to, loaded.tensors());
    CHECK(loaded.same_tensors(saved));
    CHECK(record.options_json == saved.record.options_json);
    CHECK(fs::exists(to + "/part-00000.safetensors"));
    CHECK_FALSE(compare(old_format, to, 0).differs());
    check_contains(refusal(ErrorKind::config, old_format, to),
                   "exists; choose another name, or give");
    convert_to(to, to, Existing::overwrite);  // in its own place
    CHECK_FALSE(compare(old_format, to, 0).differs());
    CHECK(folder.names() == Names{"step-00000007"});
    check_contains(refusal(ErrorKind::config, old_format, folder / "step-00000008"),
                   "the checkpoint is of step 7; name it step-00000007");
}

TEST_CASE_FIXTURE(Conversions, "weights go into a model folder under its lock") {
    save(10);
    write_text(model + "/config.json", "{}");
    const std::string to = model + "/weights.safetensors";
    {
        const train::FolderLock run(model, train::this_process(),
                                    {[](const std::string&) {}, [] { return false; }});
        check_contains(refusal(ErrorKind::config, old_format, to), model);
        CHECK_FALSE(fs::exists(to));
    }
    convert_to(old_format, to);
    CHECK(folder.names("model") == Names{"config.json", "checkpoints", "weights.safetensors"});
}

TEST_CASE_FIXTURE(Conversions, "a checkpoint is put into a model folder under its lock") {
    save(10);
    write_text(model + "/config.json", "{}");
    convert_to(old_format, checkpoint(7));
    train::verify_checkpoint(checkpoint(7));
    CHECK(folder.names("model") == Names{"config.json", "checkpoints"});
    write_text(model + "/run.lock", train::to_json(train::this_process()));
    check_contains(refusal(ErrorKind::config, old_format, checkpoint(7), Existing::overwrite),
                   " trains there since ");
}

TEST_CASE_FIXTURE(Conversions, "weights are taken out into one plain file") {
    FiniteRun run(10);
    const std::string from = save(run), to = folder / "weights.safetensors";
    convert_to(from, to);
    train::StoredTensors stored(to);
    stored.verify();
    CHECK(stored.has_checksum());
    CHECK(stored.tensors().size() == 2);
    CHECK_FALSE(compare(from, to, 0).differs());
    check_contains(refusal(ErrorKind::config, from, to), "exists");
    flip_last(to);
    convert_to(from, to, Existing::overwrite);
    CHECK_FALSE(compare(from, to, 0).differs());
}

TEST_CASE_FIXTURE(Conversions, "the folder of the result is made") {
    const std::string from = save(10);
    convert_to(from, folder / "a/b/weights.safetensors");
    convert_to(from, folder / "c/d/step-00000010");
    CHECK_FALSE(compare(from, folder / "a/b/weights.safetensors", 0).differs());
    CHECK_FALSE(compare(from, folder / "c/d/step-00000010", 0).differs());
    write_text(folder / "file", "x");
    check_contains(refusal(ErrorKind::config, from, folder / "file/weights.safetensors"),
                   folder / "file" + " is a file; choose another name");
    (void)refusal(ErrorKind::config, from, folder / "e/step-00000011");
    CHECK_FALSE(fs::exists(folder / "e"));
}

TEST_CASE_FIXTURE(Conversions, "BF16 becomes F32, and values stay") {
    const std::vector<bf16> values{bf16(1.5F), bf16(-2.0F), bf16(0.0F)};
    const std::vector<train::TensorToWrite> tensors{
        {"a", {3}, HostView<const bf16>(values.data(), 3)}};
    const std::string from = folder / "half.safetensors", to = folder / "full.safetensors";
    train::write_safetensors(from, tensors, {});
    convert_to(from, to);
    CHECK(train::SafetensorsFile(to).tensors()[0].type == Dtype::fp32);
    CHECK_FALSE(compare(from, to, 0).differs());
}

TEST_CASE_FIXTURE(Conversions, "a full disk leaves nothing, and what was there") {
    const std::string from = save(10);
    const auto before = folder.names();
    for (const rlim_t bytes : {10, 150, 250}) {
        const FileSizeLimit limit(bytes);
        check_contains(refusal(ErrorKind::io, from, folder / "weights.safetensors"),
                       "File too large");
        check_contains(refusal(ErrorKind::io, from, folder / "step-00000010"), "File too large");
    }
    CHECK(folder.names() == before);
    const std::string to = folder / "weights.safetensors";
    write_text(to, "the older one");
    {
        const FileSizeLimit limit(150);
        check_contains(refusal(ErrorKind::io, from, to, Existing::overwrite), "File too large");
    }
    CHECK(read_text(to) == "the older one");
}

TEST_CASE_FIXTURE(Conversions, "what cannot be done is refused before anything is written") {
    const std::string from = save(10), weights = from + "/model.safetensors";
    const std::string pipe = folder / "pipe.safetensors";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    write_text(folder / "step-00000010/notes", "x");
    const auto before = folder.names();
    check_contains(refusal(ErrorKind::config, weights, folder / "step-00000011"),
                   "has weights alone");
    check_contains(
        refusal(ErrorKind::config, from, folder / "step-00000010/notes/x", Existing::refuse),
        "no config.json describes");
    check_contains(refusal(ErrorKind::config, from, folder / "step-00000010", Existing::overwrite),
                   "is no checkpoint, and is not replaced");
    check_contains(refusal(ErrorKind::config, weights, folder / "new"), "give --like");
    check_contains(refusal(ErrorKind::io, from, pipe, Existing::overwrite), "no regular file");
    check_contains(refusal(ErrorKind::config, folder / "none", folder / "new"), "does not exist");
    check_contains(refusal(ErrorKind::config, folder.path(), folder / "new"), "is neither");
    flip_last(weights);
    check_contains(refusal(ErrorKind::data, from, folder / "x.safetensors"), "checksum");
    CHECK(folder.names() == before);
}

TEST_CASE_FIXTURE(Conversions, "--like is refused where no config.json is written") {
    const std::string from = save(10);
    const train::LockWaiting waiting{[](const std::string&) {}, [] { return false; }};
    for (const char* name : {"weights.safetensors", "step-00000010"}) {
        const std::string to = folder / name;
        check_contains(failure(ErrorKind::config,
                               [&] {
                                   convert({from, to, model, Existing::refuse}, waiting);
                               }),
                       "--like is for a model's folder as the result");
        CHECK_FALSE(fs::exists(to));
    }
}

TEST_CASE_FIXTURE(Conversions, "files of tensors that no model has are refused in one line") {
    const std::string from = folder / "a.safetensors", to = folder / "b.safetensors";
    const std::vector<std::uint64_t> whole{1};
    train::write_safetensors(from,
                             std::vector<train::TensorToWrite>{
                                 {"n", {1}, HostView<const std::uint64_t>(whole.data(), 1)}},
                             {});
    check_contains(refusal(ErrorKind::data, from, to), "has whole numbers for n");
    train::write_safetensors(
        from, std::vector<train::TensorToWrite>{{"n", {0}, HostView<const float>(nullptr, 0)}}, {});
    check_contains(refusal(ErrorKind::data, from, to), "n: has no elements");
    CHECK_FALSE(fs::exists(to));
}
