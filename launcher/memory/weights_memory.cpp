// SPDX-License-Identifier: Apache-2.0
#include "launcher/memory/weights_memory.hpp"

#include <algorithm>
#include <filesystem>

#include "launcher/model_folder/model_folder.hpp"
#include "launcher/rank/compute_device.hpp"
#include "launcher/rank/loaded_model.hpp"
#include "launcher/text/units.hpp"
#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/manifest.hpp"

namespace lockstep::launcher {

std::int64_t bytes_of_weights(const RunConfig& config) {
    constexpr std::uintmax_t smallest_weight = 2;
    const std::string file = config.model_file + "/" + train::weights_file;
    const model::ModelConfig model = open_model_folder(config.model_file).config;
    const std::size_t count = model::parameter_table(model).count();
    if (is_file(file) && count > std::filesystem::file_size(file) / smallest_weight) return 0;
    return static_cast<std::int64_t>(count * sizeof(float) +
                                     model::frozen_table(model).count() * smallest_weight);
}

void require_room_for_weights(std::int64_t bytes, const std::string& model_file,
                              const std::vector<MemoryLimit>& limits) {
    const std::string weights =
        " of memory, and the weights in " + model_file + " alone take " + bytes_text(bytes);
    for (const MemoryLimit& limit : limits)
        if (bytes > limit.bytes)
            throw Error(ErrorKind::config, limit.owner + " " + bytes_text(limit.bytes) + weights +
                                               ": take a smaller model, or " + limit.to_raise);
    for (const MemoryLimit& limit : limits)
        if (bytes > limit.free)
            return warn_on_standard_error(
                "warning: " + limit.owner + " " + bytes_text(limit.bytes) +
                " of memory, of which " + bytes_text(limit.free) +
                " are free, and the weights in " + model_file + " alone take " + bytes_text(bytes) +
                ": the kernel may kill this program");
}

std::string require_room_for_prompts(std::int64_t weights, std::int64_t prompts,
                                     const MemoryNeed& need, const std::vector<MemoryLimit>& limits,
                                     const std::string& size_option) {
    if (need.planned == 0 || limits.empty()) return "";
    const MemoryLimit& limit = *std::ranges::min_element(limits, {}, &MemoryLimit::bytes);
    const std::int64_t room = std::max<std::int64_t>(limit.bytes - weights, 0);
    if (need.planned <= room) return "";
    const std::int64_t fits = room / (need.planned / prompts + 1);
    const std::string remedy = fits > 0 ? "give " + size_option + " " + std::to_string(fits)
                                        : "give a smaller --beam-size or --max-length";
    const std::string what = limit.owner + " " + bytes_text(limit.bytes) + " of memory, and " +
                             std::to_string(prompts) + " prompts at once take ";
    if (need.certain <= room)
        return "warning: " + what + "up to " + bytes_text(weights + need.planned) +
               " with the weights: the kernel may kill this program; " + remedy;
    throw Error(ErrorKind::config, what + "at least " + bytes_text(weights + need.certain) +
                                       " with the weights: " + remedy + ", or " + limit.to_raise);
}

void require_room_for_weights(const RunConfig& config) {
    std::int64_t bytes = 0;
    try {
        if (gpus_for(config).visible.empty()) bytes = bytes_of_weights(config);
    } catch (const std::exception&) {
        return;  // whoever reads the model tells what is wrong with it
    }
    require_room_for_weights(bytes, config.model_file, memory_limits());
}

}  // namespace lockstep::launcher
