// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/earlier_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "launcher/model_folder/model_folder.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using Names = std::set<std::string>;

TEST_CASE("files that a run would replace get the next free names, weights a second one") {
    const ScratchFolder folder;
    CHECK(launcher::keep_earlier_files(folder.path()).empty());
    write_text(folder / "metrics.jsonl", "");  // nothing would be lost
    CHECK(launcher::keep_earlier_files(folder.path()).empty());
    write_text(folder / "model.safetensors", "weights");
    write_text(folder / "metrics.jsonl", "lines");
    CHECK(launcher::keep_earlier_files(folder.path()) ==
          "model.safetensors as model-before-1.safetensors, metrics.jsonl as "
          "metrics-before-1.jsonl");
    CHECK(folder.names() ==
          Names{"metrics-before-1.jsonl", "model-before-1.safetensors", "model.safetensors"});
    // A start that was killed before it replaced the weights is repeated.
    CHECK(launcher::keep_earlier_files(folder.path()).empty());
    write_text(folder / "report.json", "{}");
    CHECK(launcher::keep_earlier_files(folder.path()) == "report.json as report-before-2.json");
    // Replacing is a rename, so the second name keeps the old weights.
    write_text(folder / "new", "better");
    std::filesystem::rename(folder / "new", folder / "model.safetensors");
    CHECK(launcher::keep_earlier_files(folder.path()) ==
          "model.safetensors as model-before-3.safetensors");
    CHECK(read_text(folder / "model-before-1.safetensors") == "weights");
    CHECK(read_text(folder / "model-before-3.safetensors") == "better");
}

TEST_CASE("weights behind a link are kept too") {
    const ScratchFolder scratch;
    write_text(scratch / "elsewhere/weights", "weights");
    std::filesystem::create_directory(scratch / "model");
    std::filesystem::create_symlink(scratch / "elsewhere/weights",
                                    scratch / "model/model.safetensors");
    CHECK_FALSE(launcher::keep_earlier_files(scratch / "model").empty());
    write_text(scratch / "elsewhere/new", "better");
    std::filesystem::rename(scratch / "elsewhere/new", scratch / "elsewhere/weights");
    CHECK(read_text(scratch / "model/model-before-1.safetensors") == "weights");
}

TEST_CASE("the bytes of a file with a second name are no room for a model") {
    const ScratchFolder scratch;
    constexpr std::size_t bytes = std::size_t{64} << 20;
    write_text(scratch / "model/model.safetensors", "");
    std::filesystem::resize_file(scratch / "model/model.safetensors", bytes);  // sparse
    const auto alone = launcher::room_for(scratch / "model");
    REQUIRE_FALSE(launcher::keep_earlier_files(scratch / "model").empty());
    CHECK(launcher::room_for(scratch / "model") < alone - bytes / 2);
}
