// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/listing.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <regex>

#include "runtime/core/json_text.hpp"
#include "tests/launcher/checkpoints/saved_model.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::launcher::checkpoints;
namespace fs = std::filesystem;

namespace {

std::string without_dates(const std::string& text) {
    return std::regex_replace(
        text, std::regex("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"),
        "2000-01-01T00:00:00Z");
}

const ListedCheckpoint& only(const Listing& listing) {
    REQUIRE(listing.checkpoints.size() == 1);
    return listing.checkpoints.front();
}

}  // namespace

TEST_CASE_FIXTURE(SavedModel, "a listing tells what there is and what keeps it") {
    for (const std::uint64_t step : {10, 20, 30, 1030}) {
        FiniteRun run(step);
        run.set("keep-every-n-steps", "20");
        run.record.trainer.epochs = 1.5;
        save(run);
    }
    save_best();
    fs::rename(checkpoint(30), checkpoint(30) + ".damaged");
    save(25);
    fs::create_directory(checkpoint(40) + ".tmp-12ab");
    fs::create_directory(model + "/checkpoints/notes");
    fs::remove(checkpoint(25) + "/part-00000.safetensors");
    const Listing listing = list_checkpoints(model);
    CHECK(
        without_dates(text(listing)) ==
        model +
            "\n"
            "best weights: model.safetensors, 268 B, saved 2000-01-01T00:00:00Z, ppl 12.5\n"
            "\n" +
            R"(  checkpoint              step   epochs  updates  saved                 format  parts  size      kept by
  step-00001030           1,030  1.5     1,030    2000-01-01T00:00:00Z  2       1      1.29 KiB  --keep 2
  step-00000040.tmp-12ab  40     -       -        -                     -       -      -         unfinished: the next save removes it
  step-00000030.damaged   30     1.5     30       2000-01-01T00:00:00Z  2       1      1.29 KiB  set aside: damaged
  step-00000025           25     -       -        2000-01-01T00:00:00Z  2       1      1.29 KiB  DAMAGED
  step-00000020           20     1.5     20       2000-01-01T00:00:00Z  2       1      1.29 KiB  --keep 2, --keep-every-n-steps 20
  step-00000010           10     1.5     10       2000-01-01T00:00:00Z  2       1      1.29 KiB  -
)" + "DAMAGED " +
            checkpoint(25) + "/part-00000.safetensors: No such file or directory\n");
    const auto json = parse_json(json_text(listing));
    CHECK(json.at("checkpoints").size() == 6);
    CHECK(json.at("checkpoints")[0].at("step") == 1030);
    CHECK(json.at("checkpoints")[0].at("kept_by") == nlohmann::json{"--keep 2"});
    CHECK(json.at("checkpoints")[3].at("state") == "damaged");
    CHECK(json.at("model").at("best") == 12.5);
    CHECK(json.at("run").is_null());
}

TEST_CASE_FIXTURE(SavedModel, "a checkpoint of format version 1 is listed") {
    fs::create_directories(model + "/checkpoints");
    fs::copy("tests/runtime/train/golden/checkpoint_format_1", checkpoint(7));
    const ListedCheckpoint listed = only(list_checkpoints(model));
    CHECK(listed.state == ListedState::complete);
    CHECK(listed.format == 1);
    CHECK(listed.parts == 1);
    CHECK(listed.step == 7);
    CHECK(listed.kept_by.empty());  // it does not say with which options
}

TEST_CASE_FIXTURE(SavedModel, "manifests of any content are listed as damaged, never used") {
    save(10);
    const std::string manifest = checkpoint(10) + "/manifest.json";
    const std::string good = read_text(manifest);
    for (const std::string& content :
         {std::string(), good.substr(0, good.size() / 2), std::string("[]"), std::string("{}"),
          std::string(R"({"format_version":"2","files":{}})"),
          std::string(R"({"format_version":2,"files":[]})"),
          std::string(R"({"format_version":2,"files":{"model.safetensors":1,"state.json":2}})"),
          std::string(R"({"format_version":2,"files":{"../../x":{"bytes":1,"xxh3":""}}})"),
          std::string(R"({"format_version":2,"files":{"model.safetensors":{"bytes":-1,"xxh3":""},)"
                      R"("state.json":{"bytes":1e99,"xxh3":1}}})"),
          std::string(R"({"format_version":0,"files":{}})"), std::string("\xFF\xFE\x00", 3)}) {
        CAPTURE(content);
        write_text(manifest, content);
        const ListedCheckpoint listed = only(list_checkpoints(model));
        CHECK(listed.state == ListedState::damaged);
        CHECK(listed.problem.find("manifest.json") != std::string::npos);
    }
    write_text(manifest, R"({"format_version":3,"files":{}})");
    CHECK(only(list_checkpoints(model)).state == ListedState::unreadable);
    write_text(manifest, good);
    replace_in(checkpoint(10) + "/state.json", "\"updates\": 10", "\"updates\": []");
    CHECK(only(list_checkpoints(model)).state == ListedState::damaged);
}

TEST_CASE_FIXTURE(SavedModel, "a pipe in the place of a file is not waited for") {
    save(10);
    for (const char* name : {"/manifest.json", "/state.json", "/model.safetensors"}) {
        const std::string saved = checkpoint(10) + name;
        const std::string good = read_text(saved);
        fs::remove(saved);
        REQUIRE(::mkfifo(saved.c_str(), 0600) == 0);
        CHECK(only(list_checkpoints(model)).state == ListedState::damaged);
        fs::remove(saved);
        write_text(saved, good);
    }
    CHECK(only(list_checkpoints(model)).state == ListedState::complete);
}

TEST_CASE_FIXTURE(SavedModel, "names that are not UTF-8 are listed, also in JSON") {
    model = folder / "model\xFF";
    train::CheckpointFolder odd(model, {}, log);
    FiniteRun run(10);
    odd.save(run.tensors(), run.record);
    const Listing listing = list_checkpoints(model);
    CHECK(text(listing).starts_with((folder / "model\\xff") + "\n"));
    CHECK(parse_json(json_text(listing)).at("checkpoints").size() == 1);
}

TEST_CASE_FIXTURE(SavedModel, "what is no model folder is refused, and an empty one is listed") {
    check_contains(failure(ErrorKind::config, [&] { list_checkpoints(folder / "none"); }),
                   "no folder");
    check_contains(failure(ErrorKind::config, [&] { list_checkpoints(folder.path()); }),
                   "holds neither config.json nor checkpoints");
    write_text(model + "/config.json", "{}");
    CHECK(text(list_checkpoints(model)) ==
          model + "\nno weights yet (model.safetensors)\nno checkpoints\n");
    fs::create_symlink(folder / "unmounted", model + "/checkpoints");
    check_contains(failure(ErrorKind::io, [&] { list_checkpoints(model); }), "cannot be read");
}

TEST_CASE_FIXTURE(SavedModel, "the run that has the folder is named") {
    save(10);
    write_text(model + "/run.lock", "{}");
    CHECK(list_checkpoints(model).writer == "a run that its lock does not name");
}
