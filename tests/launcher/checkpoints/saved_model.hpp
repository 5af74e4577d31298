// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/core/json_text.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "tests/runtime/train/checkpoint/saved_run.hpp"

namespace lockstep::tests {

// A run whose values are all finite.
struct FiniteRun : SavedRun {
    explicit FiniteRun(std::uint64_t step) : SavedRun(step) {
        for (std::size_t i = 0; i < master.size(); ++i) master[i] = 0.5F * static_cast<float>(i);
        for (float& value : optimizer_values) value = 0.25F;
        record.trainer.updates = record.trainer.step;
        record.trainer.validation.best = 12.5;
        set("keep", "2");
        set("keep-every-n-steps", "-1");
        set("validation-metric", "ppl");
    }
    void set(const std::string& option, const std::string& value) {
        auto options = parse_json(record.options_json);
        options["values"][option] = value;
        record.options_json = dump_json(options);
    }
};

// A model folder with checkpoints, as far as `lockstep checkpoint` reads it. There is no tokenizer.
struct SavedModel : LoggedFolder {
    std::string model = folder / "model";
    train::CheckpointFolder checkpoints{model, {9, -1}, log};

    std::string save(FiniteRun& run) {
        checkpoints.save(run.tensors(), run.record);
        return checkpoint(run.record.trainer.step);
    }
    std::string save(std::uint64_t step) {
        FiniteRun run(step);
        return save(run);
    }
    std::string checkpoint(std::int64_t step) const {
        std::string digits = std::to_string(step);
        return model + "/checkpoints/step-" + std::string(8 - digits.size(), '0') + digits;
    }
    void save_best() const {
        FiniteRun run(1);
        train::save_model(model, {"{}", "00ff", ""}, run.table, view_of(run.master));
    }
};

// Flips a bit of the values; the one in the middle of a small file may be in the header.
inline void flip_last(const std::string& path) {
    std::string bytes = read_text(path);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_text(path, bytes);
}

inline void replace_in(const std::string& path, const std::string& what, const std::string& by) {
    std::string text = read_text(path);
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), by);
    write_text(path, text);
}

}  // namespace lockstep::tests
