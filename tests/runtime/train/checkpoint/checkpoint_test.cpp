// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/checkpoint.hpp"

#include <doctest/doctest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "runtime/train/checkpoint/tensor_pieces.hpp"
#include "tests/runtime/train/checkpoint/saved_run.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::train;
using Names = std::set<std::string>;

TEST_CASE_FIXTURE(LoggedFolder, "a checkpoint gives back every bit") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SavedRun saved(seed), loaded(seed + 100);
        REQUIRE_FALSE(saved.same_tensors(loaded));
        save_checkpoint(path, saved.tensors(), saved.record);
        const RunRecord record = load_checkpoint(path, loaded.tensors());
        CHECK(saved.same_tensors(loaded));
        CHECK(nlohmann::json(record.trainer) == nlohmann::json(saved.record.trainer));
        CHECK(record.options_json == saved.record.options_json);
        CHECK(record.versions == saved.record.versions);
    }
    CHECK(folder.names("step-1") ==
          Names{"model.safetensors", "part-00000.safetensors", "state.json", "manifest.json"});
    CHECK(folder.names() == Names{"step-1"});
}

TEST_CASE_FIXTURE(LoggedFolder, "damage to any file is found and the file is named") {
    SavedRun run(1);
    for (const std::string file : {"model.safetensors", "part-00000.safetensors", "state.json"}) {
        const std::string damaged = path + "/" + file;
        save_checkpoint(path, run.tensors(), run.record);
        flip_a_bit(damaged);
        check_contains(failure(ErrorKind::data, [&] { verify_checkpoint(path); }),
                       damaged + ": is damaged: its checksum");
        tests::write_text(damaged, "{}");
        check_contains(failure(ErrorKind::data, [&] { verify_checkpoint(path); }),
                       damaged + ": is dama");
        std::filesystem::remove(damaged);
        check_contains(failure(ErrorKind::data, [&] { verify_checkpoint(path); }),
                       damaged + ": is miss");
    }
    save_checkpoint(path, run.tensors(), run.record);
    const std::string manifest = path + "/manifest.json";
    const std::string good = tests::read_text(manifest);
    for (std::size_t length = 0; length < good.size() - 1; length += 7) {
        tests::write_text(manifest, good.substr(0, length));
        check_contains(failure(ErrorKind::data, [&] { verify_checkpoint(path); }), manifest + ": ");
    }
    tests::write_text(manifest, R"({"format_version":3,"files":{}})");
    check_contains(failure(ErrorKind::config, [&] { verify_checkpoint(path); }),
                   "is of format version 3, and this program reads versions 1 to 2");
    tests::write_text(manifest, R"({"format_version":2,"files":{"../elsewhere":{}}})");
    check_contains(failure(ErrorKind::data, [&] { verify_checkpoint(path); }),
                   "it lists ../elsewhere");
    std::filesystem::remove(manifest);
    std::filesystem::create_directory(manifest);
    check_contains(failure(ErrorKind::data, [&] { verify_checkpoint(path); }),
                   manifest + ": is damaged: it is a folder");
    std::filesystem::remove(manifest);
    check_contains(failure(ErrorKind::data, [&] { verify_checkpoint(path); }),
                   manifest + ": is missing");
}

TEST_CASE_FIXTURE(LoggedFolder, "weights and moments that are not finite are refused") {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    SavedRun run(1), other(2);
    const auto refusal = [&](float& value, float bad) {
        const float good = std::exchange(value, bad);
        save_checkpoint(path, run.tensors(), run.record);
        value = good;
        const std::string message =
            failure(ErrorKind::data, [&] { (void)load_checkpoint(path, other.tensors()); });
        std::filesystem::remove_all(path);
        return message;
    };
    check_contains(refusal(run.master[3], nan),
                   path + "/model.safetensors: is damaged: tensor layer.weight has the value NaN");
    check_contains(refusal(run.optimizer_values[12], -infinity),
                   path + ": is damaged: tensor layer.bias.row has the value infinity");
    CHECK(is_possible("layer.weight.exp_avg", -1));
    CHECK(is_possible("layer.weight.exp_avg_sq", 0));
    for (const char* name :
         {"a.exp_avg_sq", "a.max_exp_avg_sq", "a.exp_avg_sq_row", "a.exp_avg_sq_col"})
        CHECK_FALSE(is_possible(name, -1e-30F));
}

TEST_CASE_FIXTURE(LoggedFolder, "another model or optimizer is refused before anything is read") {
    SavedRun saved(1), other(2);
    save_checkpoint(path, saved.tensors(), saved.record);
    const SavedRun before = other;

    ParameterTable wider;
    wider.add("layer.weight", {3, 4}, 0, WeightDecay::apply);
    wider.add("layer.bias", {6}, 0, WeightDecay::skip);
    const RunTensors other_shape{wider, view_of(other.master), other.optimizer};
    check_contains(failure(ErrorKind::config, [&] { load_checkpoint(path, other_shape); }),
                   "model.safetensors: it has [5] for layer.bias of shape [6]; continue with");

    other.optimizer[1].name = "layer.bias.column";
    check_contains(failure(ErrorKind::config, [&] { load_checkpoint(path, other.tensors()); }),
                   path + ": it lacks layer.bias.column of shape [1, 1]; continue with");
    other.optimizer.pop_back();
    check_contains(failure(ErrorKind::config, [&] { load_checkpoint(path, other.tensors()); }),
                   "it has layer.bias.row of shape [1, 1], which this run lacks");
    CHECK(other.same_tensors(before));
}

TEST_CASE_FIXTURE(LoggedFolder,
                  "the newest good checkpoint is used and damaged ones are set aside") {
    CheckpointFolder checkpoints(folder.path(), {}, log);
    CHECK_FALSE(newest_good_checkpoint(folder.path()));
    for (const std::uint64_t step : {9, 10, 100'000'000, 100'000'001}) {
        SavedRun run(step);
        checkpoints.save(run.tensors(), run.record);
    }
    CHECK(folder.names("checkpoints") == Names{"step-100000000", "step-100000001"});
    const std::string older = folder / "checkpoints/step-100000000";
    const std::string newer = folder / "checkpoints/step-100000001";
    CHECK(newest_good_checkpoint(folder.path()) == newer);

    flip_a_bit(newer + "/part-00000.safetensors");
    const CheckpointChoice choice = choose_checkpoint(folder.path());
    CHECK(choice.path == older);
    CHECK(folder.names("checkpoints") == Names{"step-100000000", "step-100000001"});
    set_aside(choice, log);
    check_contains(lines.str(),
                   newer + ".damaged (" + newer + "/part-00000.safetensors: is damaged");
    CHECK(folder.names("checkpoints") == Names{"step-100000000", "step-100000001.damaged"});

    flip_a_bit(older + "/state.json");
    const auto choose = [&] { (void)choose_checkpoint(folder.path()); };
    check_contains(failure(ErrorKind::data, choose), "no checkpoint there is good (" + older);
    std::filesystem::remove_all(older);
    const std::string refusal = failure(ErrorKind::data, choose);
    check_contains(refusal, "no checkpoint there is good (" + newer);
    check_contains(refusal, std::string("give another -mf to begin anew, or remove ") +
                                (folder / "checkpoints: "));
}

TEST_CASE_FIXTURE(LoggedFolder, "only a checkpoint with wrong contents is passed over") {
    CheckpointFolder checkpoints(folder.path(), {}, log);
    SavedRun early(10), late(20);
    checkpoints.save(early.tensors(), early.record);
    checkpoints.save(late.tensors(), late.record);
    const std::string file = folder / "checkpoints/step-00000020/state.json";
    const auto choose = [&] { (void)choose_checkpoint(folder.path()); };
    const std::string good = tests::read_text(file);
    std::filesystem::remove(file);
    std::filesystem::create_symlink(file, file);  // cannot be looked at
    check_contains(failure(ErrorKind::io, choose), file + ": cannot be looked at: ");
    std::filesystem::remove(file);
    tests::write_text(file, good);
    const std::string manifest = folder / "checkpoints/step-00000020/manifest.json";
    tests::write_text(manifest, R"({"format_version":7,"files":{}})");
    check_contains(failure(ErrorKind::config, choose), manifest + ": is of format version 7");
}

TEST_CASE_FIXTURE(LoggedFolder, "saving replaces the same step and leftovers, never a later step") {
    CheckpointFolder checkpoints(folder.path(), {1, -1}, log);
    SavedRun late(30), early(20);
    checkpoints.save(late.tensors(), late.record);
    const std::string leftover = folder / "checkpoints/step-00000040.tmp-99";
    std::filesystem::create_directory(leftover);
    CHECK(checkpoints.paths().size() == 1);
    checkpoints.save(early.tensors(), early.record);
    CHECK(folder.names("checkpoints") == Names{"step-00000020", "step-00000030"});
    std::filesystem::remove_all(folder / "checkpoints/step-00000030");
    early.master[0] = 42;
    checkpoints.save(early.tensors(), early.record);
    SavedRun loaded(1);
    load_checkpoint(newest_good_checkpoint(folder.path()).value(), loaded.tensors());
    CHECK(loaded.master[0] == 42);
}

TEST_CASE_FIXTURE(LoggedFolder, "a checkpoint goes once enough newer ones are known to be good") {
    SavedRun first(1), second(2), third(3), fourth(4);
    CheckpointFolder before(folder.path(), {}, log);
    before.save(first.tensors(), first.record);
    before.save(second.tensors(), second.record);
    CheckpointFolder after(folder.path(), {}, log);  // it knows nothing about steps 1 and 2
    after.save(third.tensors(), third.record);
    CHECK(folder.names("checkpoints") == Names{"step-00000001", "step-00000002", "step-00000003"});
    after.trust(folder / "checkpoints/step-00000002");
    after.save(third.tensors(), third.record);
    CHECK(folder.names("checkpoints") == Names{"step-00000002", "step-00000003"});
    after.save(fourth.tensors(), fourth.record);
    CHECK(folder.names("checkpoints") == Names{"step-00000003", "step-00000004"});
}

TEST_CASE_FIXTURE(LoggedFolder,
                  "a disk that fills up leaves the older checkpoint and nothing else") {
    CheckpointFolder checkpoints(folder.path(), {1, -1}, log);
    SavedRun old(1), next(2);
    checkpoints.save(old.tensors(), old.record);
    for (const rlim_t bytes : {10, 150, 300}) {
        const tests::FileSizeLimit limit(bytes);
        check_contains(
            failure(ErrorKind::io, [&] { checkpoints.save(next.tensors(), next.record); }),
            "File too large");
    }
    CHECK(folder.names("checkpoints") == Names{"step-00000001"});
    CHECK(load_checkpoint(newest_good_checkpoint(folder.path()).value(), next.tensors())
              .trainer.step == 1);
    CHECK(next.same_tensors(old));
}

TEST_CASE_FIXTURE(LoggedFolder, "weights come from a file, a model folder or a checkpoint") {
    SavedRun run(1);
    const std::string model = folder / "model";
    save_model(model, {R"({"kind":"gpt2"})", "00ff", ""}, run.table, view_of(run.master));
    save_checkpoint(path, run.tensors(), run.record);
    CheckpointFolder(folder / "unfinished", {}, log).save(run.tensors(), run.record);
    for (const std::string& from :
         {model, model + "/model.safetensors", path, folder / "unfinished"}) {
        std::vector<float> master(run.table.flat_size());
        load_weights(from, run.table, view_of(master));
        CHECK(std::memcmp(master.data(), run.master.data(), master.size() * 4) == 0);
    }
    CHECK(read_description(model).dictionary_hash == "00ff");
    CHECK(read_description(model).config_json == R"({"kind":"gpt2"})");
    tests::write_text(model + "/config.json", "{");
    check_contains(failure(ErrorKind::data, [&] { read_description(model); }),
                   "config.json: is damaged");
    tests::write_text(model + "/config.json", "{}");
    check_contains(failure(ErrorKind::data, [&] { read_description(model); }),
                   "config.json: is damaged: \"dictionary_hash\" is missing");

    const auto load = [&](const std::string& from) {
        return [&, from] { load_weights(from, run.table, view_of(run.master)); };
    };
    const std::string empty = folder / "empty";
    std::filesystem::create_directory(empty);
    check_contains(failure(ErrorKind::config, load(empty)), empty + ": holds neither");
    check_contains(failure(ErrorKind::io, load(empty + "/none")), empty + "/none: cannot be read");
    flip_a_bit(path + "/model.safetensors");
    check_contains(failure(ErrorKind::data, load(path)), "checksum");
    run.table.add("more", {1}, 0, WeightDecay::skip);
    run.master.resize(run.table.flat_size());
    check_contains(failure(ErrorKind::config, load(model)),
                   "it lacks more of shape [1]; give --init-");
}

TEST_CASE_FIXTURE(LoggedFolder, "the newest checkpoints and those of chosen steps are kept") {
    CheckpointFolder checkpoints(folder.path(), {3, 20}, log);
    for (std::uint64_t step = 5; step <= 60; step += 5) {
        SavedRun run(step);
        checkpoints.save(run.tensors(), run.record);
    }
    CHECK(folder.names("checkpoints") == Names{"step-00000020", "step-00000040", "step-00000050",
                                               "step-00000055", "step-00000060"});
}

TEST_CASE_FIXTURE(LoggedFolder, "a full disk costs older checkpoints, never the newest good one") {
    CheckpointFolder checkpoints(folder.path(), {3, 10}, log);
    for (const std::uint64_t step : {10, 11, 12}) {
        SavedRun run(step);
        checkpoints.save(run.tensors(), run.record);
    }
    const auto full = [&](int times) {
        return [=]() mutable {
            if (times-- > 0) throw SystemFailure("the disk is full", ENOSPC);
        };
    };
    checkpoints.write_with_room(full(1));
    CHECK(folder.names("checkpoints") == Names{"step-00000010", "step-00000012"});
    CHECK(lines.str() == folder / "checkpoints" +
                             ": the disk is full, so older checkpoints were removed: "
                             "step-00000011\n");
    CHECK_THROWS_WITH_AS(checkpoints.write_with_room(full(9)), "the disk is full", SystemFailure);
    CHECK(folder.names("checkpoints") == Names{"step-00000010", "step-00000012"});
}

TEST_CASE_FIXTURE(LoggedFolder, "checkpoints that go for room are named in one line") {
    CheckpointFolder checkpoints(folder.path(), {4, -1}, log);
    for (const std::uint64_t step : {1, 2, 3, 4}) {
        SavedRun run(step);
        checkpoints.save(run.tensors(), run.record);
    }
    CHECK_THROWS_AS(
        checkpoints.write_with_room([] { throw SystemFailure("the disk is full", ENOSPC); }),
        SystemFailure);
    CHECK(folder.names("checkpoints") == Names{"step-00000004"});
    CHECK(lines.str() == folder / "checkpoints" +
                             ": the disk is full, so older checkpoints were removed: "
                             "step-00000001, step-00000002, step-00000003\n");
}

TEST_CASE_FIXTURE(LoggedFolder, "a checkpoint that goes loses its name before its files") {
    CheckpointFolder checkpoints(folder.path(), {1, -1}, log);
    SavedRun first(1), second(2);
    checkpoints.save(first.tensors(), first.record);
    const FileDescriptor watch(::inotify_init1(IN_CLOEXEC));
    const std::string oldest = folder / "checkpoints/step-00000001";
    REQUIRE(::inotify_add_watch(watch.raw(), oldest.c_str(), IN_MOVE_SELF | IN_DELETE) >= 0);
    checkpoints.save(second.tensors(), second.record);
    CHECK(folder.names("checkpoints") == Names{"step-00000002"});
    alignas(inotify_event) std::array<char, 4096> events{};
    REQUIRE(::read(watch.raw(), events.data(), events.size()) > 0);
    inotify_event first_event{};
    std::memcpy(&first_event, events.data(), sizeof first_event);
    CHECK((first_event.mask & IN_MOVE_SELF) != 0);
}

TEST_CASE_FIXTURE(LoggedFolder,
                  "a full disk costs nothing while the newest checkpoint is damaged") {
    CheckpointFolder checkpoints(folder.path(), {}, log);
    SavedRun early(1), late(2);
    checkpoints.save(early.tensors(), early.record);
    checkpoints.save(late.tensors(), late.record);
    flip_a_bit(folder / "checkpoints/step-00000002/state.json");
    const auto full = [] { throw SystemFailure("the disk is full", ENOSPC); };
    CHECK_THROWS_AS(checkpoints.write_with_room(full), SystemFailure);
    CHECK(folder.names("checkpoints") == Names{"step-00000001", "step-00000002"});
}

TEST_CASE("a checkpoint of format version 1 is read") {
    const std::string golden = "tests/runtime/train/golden/checkpoint_format_1";
    SavedRun saved(7), loaded(8);
    const RunRecord record = load_checkpoint(golden, loaded.tensors());
    CHECK(saved.same_tensors(loaded));
    CHECK(nlohmann::json(record.trainer) == nlohmann::json(saved.record.trainer));
    CHECK(record.options_json == saved.record.options_json);
    CHECK(record.versions == saved.record.versions);
    loaded.optimizer.pop_back();
    check_contains(
        failure(ErrorKind::config, [&] { load_checkpoint(golden, loaded.tensors()); }),
        "optimizer.safetensors: it has layer.bias.row of shape [1, 1], which this run lacks");
}

TEST_CASE_FIXTURE(LoggedFolder, "several writers make one checkpoint") {
    SavedRun saved(1), loaded(2);
    std::vector<TensorExtent> weights = places_of(saved.table, view_of(saved.master)), optimizer;
    for (const OptimizerTensor& t : saved.optimizer)
        optimizer.push_back({t.name, t.shape, t.values});
    const auto pieces = whole_tensors(optimizer);
    {
        CheckpointDraft draft(path);
        const std::string to = draft.folder() + "/";
        for (std::size_t writer = 0; writer < 4; ++writer)
            draft.add(part_name(writer),
                      write_part(to + part_name(writer), cut(pieces, 4 * writer, 4)));
        CHECK(folder.names().size() == 1);
    }
    CHECK(folder.names().empty());
    CheckpointDraft draft(path);
    const std::string to = draft.folder() + "/";
    draft.add("model.safetensors", write_places(to + "model.safetensors", weights));
    for (std::size_t writer = 0; writer < 4; ++writer)
        draft.add(part_name(writer),
                  write_part(to + part_name(writer), cut(pieces, 4 * writer, 4)));
    draft.commit(saved.record);
    verify_checkpoint(path);
    load_checkpoint(path, loaded.tensors());
    CHECK(loaded.same_tensors(saved));

    // The manifest knows no part that would fill the gap.
    auto manifest = parse_json(read_text(path + "/manifest.json"));
    manifest["files"].erase("part-00001.safetensors");
    write_text(path + "/manifest.json", dump_json(manifest));
    check_contains(failure(ErrorKind::data, [&] { verify_checkpoint(path); }),
                   "elements 4 to 7 of layer.weight.exp_avg are in no part");
}
