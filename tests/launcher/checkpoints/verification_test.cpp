// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/verification.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>

#include "runtime/core/json_text.hpp"
#include "runtime/train/checkpoint/tensor_pieces.hpp"
#include "tests/launcher/checkpoints/saved_model.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::launcher::checkpoints;
namespace fs = std::filesystem;

namespace {

std::vector<Verified> all_of(const std::string& path) {
    std::vector<Verified> all;
    const bool good = verify(path, [&](const Verified& one) { all.push_back(one); });
    bool none_bad = true;
    for (const Verified& one : all) none_bad = none_bad && one.verdict != Verdict::bad;
    CHECK(good == none_bad);
    return all;
}

Verified one_of(const std::string& path) {
    const auto all = all_of(path);
    REQUIRE(all.size() == 1);
    return all.front();
}

std::string findings(const std::string& path) {
    std::string text;
    for (const std::string& finding : one_of(path).findings) text += finding + "\n";
    return text;
}

// All that a change of the folder would show.
std::set<std::string> facts(const std::string& folder) {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        struct stat status {};
        REQUIRE(::lstat(entry.path().c_str(), &status) == 0);
        found.insert(entry.path().string() + " " + std::to_string(status.st_ino) + " " +
                     std::to_string(status.st_mtim.tv_nsec) + " " +
                     std::to_string(status.st_ctim.tv_nsec) + " " + std::to_string(status.st_size));
    }
    return found;
}

// Writes a checkpoint whose optimizer's tensors are in these pieces of the list of elements.
void write_pieces(const std::string& path, FiniteRun& run,
                  const std::vector<std::pair<std::size_t, std::size_t>>& pieces) {
    std::vector<train::TensorExtent> optimizer;
    for (const auto& t : run.optimizer) optimizer.push_back({t.name, t.shape, t.values});
    const auto whole = train::whole_tensors(optimizer);
    fs::create_directories(fs::path(path).parent_path());
    train::CheckpointDraft draft(path);
    draft.add("model.safetensors",
              train::write_places(draft.folder() + "/model.safetensors",
                                  train::places_of(run.table, view_of(run.master))));
    for (std::size_t i = 0; i < pieces.size(); ++i)
        draft.add(train::part_name(i),
                  train::write_part(draft.folder() + "/" + train::part_name(i),
                                    train::cut(whole, pieces[i].first, pieces[i].second)));
    draft.commit(run.record);
}

}  // namespace

TEST_CASE_FIXTURE(SavedModel, "good checkpoints and best weights are told with what was read") {
    const std::string saved = save(10);
    const Verified verified = one_of(saved);
    CHECK(verified.verdict == Verdict::good);
    CHECK(verified.files == 3);
    CHECK(verified.tensors == 4);
    CHECK(text(verified).starts_with("good     " + saved + " (3 files, "));
    save_best();
    const Verified best = one_of(model + "/model.safetensors");
    CHECK(best.verdict == Verdict::good);
    CHECK(best.note.empty());
    CHECK(one_of(saved + "/model.safetensors").note.find("no checksum") != std::string::npos);
    fs::remove(model + "/config.json");
    CHECK(all_of(model).size() == 2);
    const auto json = parse_json(json_text(all_of(model)));
    CHECK(json[1].at("verdict") == "good");
    CHECK(one_of("tests/runtime/train/golden/checkpoint_format_1").files == 3);
}

TEST_CASE_FIXTURE(SavedModel, "every file that is damaged is named") {
    const std::string saved = save(10);
    flip_last(saved + "/model.safetensors");
    fs::remove(saved + "/part-00000.safetensors");
    write_text(saved + "/state.json", "{}");
    const std::string found = findings(saved);
    check_contains(found, saved + "/model.safetensors: is damaged: its checksum");
    check_contains(found, saved + "/part-00000.safetensors: is missing");
    check_contains(found, saved + "/state.json: is damaged: it has 2 bytes");
    CHECK(text(one_of(saved)).starts_with("BAD      " + saved));
    save_best();
    flip_last(model + "/model.safetensors");
    check_contains(findings(model + "/model.safetensors"), "is damaged: its tensors do not have");
    write_text(saved + "/manifest.json", read_text(saved + "/manifest.json").substr(0, 30));
    check_contains(findings(saved), "manifest.json: is damaged: not a JSON object");
}

TEST_CASE_FIXTURE(SavedModel, "a file that is missing or cut is one finding") {
    const std::string saved = save(10);
    write_text(saved + "/state.json", "{}");
    CHECK(one_of(saved).findings.size() == 1);
    for (const std::string name :
         {"state.json", "part-00000.safetensors", "model.safetensors", "manifest.json"}) {
        fs::remove_all(saved);
        save(10);
        fs::remove(saved + "/" + name);
        CHECK(findings(saved) == saved + "/" + name + ": is missing from the checkpoint\n");
    }
}

TEST_CASE_FIXTURE(SavedModel, "pieces that leave a hole or overlap are named") {
    FiniteRun run(10);
    write_pieces(checkpoint(10), run, {{0, 5}, {5, 8}});
    CHECK(one_of(checkpoint(10)).verdict == Verdict::good);
    fs::remove_all(checkpoint(10));
    write_pieces(checkpoint(10), run, {{0, 5}, {7, 6}});
    check_contains(findings(checkpoint(10)),
                   "elements 5 to 6 of layer.weight.exp_avg are in no part");
    fs::remove_all(checkpoint(10));
    write_pieces(checkpoint(10), run, {{0, 5}, {3, 10}});
    check_contains(findings(checkpoint(10)), "elements 3 to 4 of layer.weight.exp_avg are also in");
}

TEST_CASE_FIXTURE(SavedModel, "values that are not finite are counted and named") {
    FiniteRun run(10);
    run.master[0] = std::numeric_limits<float>::infinity();
    run.master[3] = std::numeric_limits<float>::quiet_NaN();
    run.optimizer_values[12] = -std::numeric_limits<float>::infinity();
    const std::string saved = save(run);
    CHECK(findings(saved) == saved +
                                 ": layer.weight has 2 of 12 values that are not finite, or "
                                 "negative means of squares\n" +
                                 saved +
                                 ": layer.bias.row has 1 of 1 values that are not finite, or "
                                 "negative means of squares\n");
}

TEST_CASE_FIXTURE(SavedModel, "verifying changes nothing, also where nothing may be written") {
    save(10);
    save(20);
    flip_a_bit(checkpoint(20) + "/state.json");
    fs::create_directory(checkpoint(30) + ".tmp-12ab");
    write_text(model + "/run.lock", "a run");
    fs::permissions(model, fs::perms::owner_read | fs::perms::owner_exec);
    const auto before = facts(model);
    CHECK(all_of(model).size() == 2);
    CHECK(facts(model) == before);
    fs::permissions(model, fs::perms::owner_all);
}

TEST_CASE_FIXTURE(SavedModel, "a checkpoint that a run removes meanwhile is no damage") {
    save(10);
    save(20);
    std::vector<Verified> all;
    const bool good = verify(model, [&](const Verified& one) {
        all.push_back(one);
        fs::remove_all(checkpoint(10));  // while the newer one is told
    });
    CHECK(good);
    REQUIRE(all.size() == 2);
    CHECK(all[1].verdict == Verdict::gone);
    check_contains(text(all[1]), checkpoint(10) + ": it was removed meanwhile");
}

TEST_CASE_FIXTURE(SavedModel,
                  "a checkpoint that was set aside is told, and verified if it is named") {
    const std::string saved = save(10) + ".damaged";
    save(20);
    fs::rename(checkpoint(10), saved);
    flip_a_bit(saved + "/state.json");
    const auto all = all_of(model);
    REQUIRE(all.size() == 2);
    CHECK(all[1].verdict == Verdict::skipped);
    CHECK(one_of(saved).verdict == Verdict::bad);
}

TEST_CASE_FIXTURE(SavedModel, "files of any kind and content end in a finding") {
    const std::string saved = save(10), part = saved + "/part-00000.safetensors";
    fs::remove(part);
    REQUIRE(::mkfifo(part.c_str(), 0600) == 0);
    CHECK(one_of(saved).verdict == Verdict::bad);
    const std::string file = folder / "file.safetensors";
    for (const std::string& content :
         {std::string(), std::string("x"), std::string(8, '\xFF'), std::string(8, '\0') + "{}",
          std::string("\x02\0\0\0\0\0\0\0{}", 10) + "more",
          std::string("\x3F\0\0\0\0\0\0\0", 8) +
              R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})"}) {
        write_text(file, content);
        CHECK(one_of(file).verdict == Verdict::bad);
    }
    check_contains(failure(ErrorKind::config, [&] { all_of(folder / "none"); }), "does not exist");
    check_contains(failure(ErrorKind::config, [&] { all_of(folder.path()); }), "is neither");
}
